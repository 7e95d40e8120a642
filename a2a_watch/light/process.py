"""Is the process that a session ran in still there? Names a process so that a reused number is not mistaken for it."""

from __future__ import annotations

import os

SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "fish")


def name_process(pid: str) -> str:
    """Return `pid`, its number space and its start in one string; empty when it cannot be looked up."""
    found = _look_up(pid)
    return " ".join((pid, _space(), found[2])) if found else ""


def name_client(pid: str) -> str:
    """Return the name of the first process from `pid` upwards that is no shell: a client may run hooks in one."""
    while (found := _look_up(pid)) and found[0] in SHELLS:
        pid = found[1]
    return name_process(pid)


def is_gone(process: str) -> bool | None:
    """Tell whether the named process is over; None when it cannot be looked up from here."""
    pid, _, rest = process.partition(" ")
    space, _, start = rest.partition(" ")
    if not start or space != _space():
        return None
    found = _look_up(pid)
    if found:
        return found[2] != start
    # A look-up that finds nothing proves something only where look-ups work: a sandbox may forbid them.
    return True if _look_up(str(os.getpid())) else None


def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")  # Linux: a sandbox has process numbers of its own
    except OSError:
        return "-"


def _look_up(pid: str) -> tuple[str, str, str] | None:
    """Return program, parent and start of a living process; nothing for one that is gone or a zombie."""
    if not pid.isdigit():
        return None
    try:
        with open("/proc/%s/stat" % pid, "rb") as file:
            # Linux: proc(5), fields 2 (program, in parentheses), 3 state, 4 parent, 22 start in ticks since boot.
            head, _, tail = file.read().decode("utf-8", "replace").rpartition(") ")
        state, parent, start = (tail.split()[place] for place in (0, 1, 19))
        program = head.partition("(")[2]
    except OSError:
        if os.path.exists("/proc/self/stat"):
            return None
        words = _ps(pid).split()
        if len(words) < 8:
            return None
        state, parent, start, program = words[0], words[1], " ".join(words[2:7]), os.path.basename(words[7])
    return None if state[0] in "ZX" else (program.lstrip("-"), parent, start)


def _ps(pid: str) -> str:
    # macOS: no /proc. The clock and the language are fixed, so that two looks give the same text.
    import subprocess

    try:
        done = subprocess.run(
            ["/bin/ps", "-o", "state=,ppid=,lstart=,comm=", "-p", pid], env={"LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=1, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")
