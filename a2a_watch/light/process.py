"""Is the process that a session ran in still there? Names a process so that a reused number is not mistaken for it."""

from __future__ import annotations

import os

_HERE = "/proc/self/ns/pid"


def name_process(pid: str) -> str:
    """Return `pid`, its start and its number space in one string; empty when it cannot be looked up."""
    start = _start(pid) if pid.isdigit() else ""
    return " ".join((pid, _space(), start)) if start else ""


def is_gone(process: str) -> bool | None:
    """Tell whether the named process is over; None when it cannot be looked up from here."""
    pid, _, rest = process.partition(" ")
    space, _, start = rest.partition(" ")
    if not start or space != _space():
        return None
    now = _start(pid)
    # A look-up that finds nothing proves something only where look-ups work: a sandbox may forbid them.
    return now != start if now or _start(str(os.getpid())) else None


def _space() -> str:
    try:
        return os.readlink(_HERE)  # Linux: a sandbox has process numbers of its own
    except OSError:
        return "-"


def _start(pid: str) -> str:
    try:
        with open("/proc/%s/stat" % pid, "rb") as file:
            # Linux: proc(5), fields 3 (state) and 22 (start in clock ticks since boot); field 2 may hold blanks.
            fields = file.read().rpartition(b")")[2].split()
            return "" if fields[0] in (b"Z", b"X") else fields[19].decode()
    except (OSError, IndexError):
        return "" if os.path.exists("/proc/self/stat") else _start_from_ps(pid)


def _start_from_ps(pid: str) -> str:
    # macOS: no /proc. The clock and the language are fixed, so that two looks give the same text.
    import subprocess

    try:
        done = subprocess.run(
            ["/bin/ps", "-o", "lstart=", "-p", pid], env={"LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=1, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("ascii", "replace").strip()
