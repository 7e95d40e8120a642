"""Which python3 a session's hook would start, and whether that is one at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

OLDEST = (3, 9)
_ASK = "import sys; print(sys.executable); print(*sys.version_info[:2])"


def real_python() -> tuple[str, str]:
    """Return the interpreter that the hook must be told of, and why; both empty when `python3` on the PATH will do."""
    found = shutil.which("python3")
    mine = os.path.realpath(sys.executable)
    if not found:
        return mine, "there is no python3 on this PATH"
    if sys.platform == "darwin" and found == "/usr/bin/python3" and not output_of(["xcode-select", "-p"]):
        # macOS: without the developer tools this program only opens a window that offers them.
        return mine, f"{found} is only the stub that offers to install the developer tools"
    try:
        program, numbers = output_of([found, "-I", "-S", "-c", _ASK]).splitlines()
        major, minor = map(int, numbers.split())
    except ValueError:
        return mine, f"{found} does not run"
    if (major, minor) < OLDEST:
        return mine, f"{found} is Python {major}.{minor}, too old"
    if os.path.realpath(program) != os.path.realpath(found):
        return program, f"{found} is a version manager's shim, which starts another program at every call"
    return "", ""


def output_of(command: list[str]) -> str:
    """Return what a program prints, empty when it fails or takes longer than 10 s."""
    try:
        # Not here: a version manager answers by the folder, and hooks run in all of them.
        done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else ""
