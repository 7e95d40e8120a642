"""What tests of missing rights share: a command prefix under which modes and owners count, for root as well."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

# Root without a single capability is an ordinary user: `chmod 0` and `chmod 555` mean what they say.
_DROP = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all")
AS_PLAIN_USER: tuple[str, ...] = _DROP if os.getuid() == 0 else ()


def assert_that_modes_count(folder: Path) -> None:
    """Make sure that a test under this prefix tests something: a file of mode 0 cannot be read."""
    probe = folder / "probe"
    probe.write_text("x")
    probe.chmod(0)
    done = subprocess.run([*AS_PLAIN_USER, "cat", str(probe)], capture_output=True, check=False)
    assert b"denied" in done.stderr, done
    probe.unlink()


def tree(folder: Path) -> list[tuple[str, str, int, bytes]]:
    """Return everything below `folder`: path, where a link leads, mode, content."""
    return [
        (
            str(path.relative_to(folder)),
            os.readlink(path) if path.is_symlink() else "",
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() and not path.is_symlink() else b"",
        )
        for path in sorted(folder.rglob("*"))
    ]
