"""Which interpreters there are on this machine, for tests that must hold under every one of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

OLDEST, NEWEST = (3, 9), (3, 13)


@cache
def interpreters() -> dict[str, tuple[int, int]]:
    """Return one interpreter, by path, for each version from 3.9 to 3.13 that is found, with its version."""
    # A version manager keeps its versions side by side.
    candidates = sorted(map(str, Path(os.path.realpath(sys.base_prefix)).parent.glob("*/bin/python3")))
    names = ["python3", *(f"python3.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1))]
    candidates += ["/usr/bin/python3", *filter(None, map(shutil.which, names))]
    found: dict[tuple[int, int], str] = {}
    for candidate in candidates:
        version = _version(candidate)
        if version and OLDEST <= version <= NEWEST:
            found.setdefault(version, candidate)
    return {path: version for version, path in sorted(found.items())}


def _version(candidate: str) -> tuple[int, int] | None:
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([candidate, "-I", "-S", "-c", code], capture_output=True, check=False, timeout=20)
    except OSError:
        return None
    words = done.stdout.split()
    return (int(words[0]), int(words[1])) if done.returncode == 0 and len(words) == 2 else None
