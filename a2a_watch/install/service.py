"""The watcher as a service of the user's: a systemd unit or a launchd agent, written, started and seen to be ready."""

from __future__ import annotations

import os
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Protocol

from a2a_watch.durable import exists
from a2a_watch.install.change import Change, read
from a2a_watch.install.plan import share
from a2a_watch.light.identity import Surroundings
from a2a_watch.names import Problem
from a2a_watch.watch.record import is_running
from a2a_watch.watch.record import read as record

READY_SECONDS = 15.0  # a slow disk and a cold Python
END_SECONDS = 5.0  # launchd does not wait for the end
NAME = "a2a-watch"
ON_MAIL = "--on-mail"


class Service(Protocol):
    """What keeps the watcher running."""

    path: str

    def change(self, arguments: list[str]) -> Change:
        """Return what puts the service's file there, for `a2a-watch run` with `arguments`."""

    def command(self) -> list[str]:
        """Return the words that its file has started; nothing when there is no file, or none that can be read."""

    def begin(self) -> list[str]:
        """Start it, now and at each login; return what the person should know; raises Problem with its words."""

    def end(self) -> None:
        """Stop it until it is started again; one that is not there is fine."""

    def tidy(self) -> None:
        """Have the file's removal noticed."""

    def show(self) -> list[str]:
        """Return the command that shows its state."""

    def logs(self) -> list[str]:
        """Return the command that shows its log."""


def service(here: Surroundings) -> Service:
    """Return the kind of service that this system has; raises Problem when it has none that we know."""
    if sys.platform == "darwin":
        return Launchd(here)
    if not shutil.which("systemctl"):
        raise Problem("there is no systemd here", "a2a-watch run, from whatever starts your programs")
    return Systemd(here)


def start(one: Service, root: str) -> list[str]:
    """Start `one` anew; return what the person should know. Raises Problem unless the watcher now has `root`."""
    one.end()
    if _waits(lambda: not is_running(root), END_SECONDS):
        pid = record(root).get("pid", "?")
        raise Problem(f"another watcher has {root}, process {pid}", f"kill {pid}, and once more")
    told = one.begin()
    if _waits(lambda: is_running(root), READY_SECONDS):
        raise Problem(f"it has not taken {root} within {READY_SECONDS:g} s", "a2a-watch service logs")
    return told


def _waits(fact: Callable[[], bool], seconds: float) -> bool:
    """Wait for a fact; True when `seconds` did not do."""
    end = time.monotonic() + seconds
    while not (is_so := fact()) and time.monotonic() < end:
        time.sleep(0.05)
    return not is_so


def _program() -> str:
    """Return the absolute path of this program as it was called: a link that an upgrade moves on, not it."""
    me = os.path.abspath(sys.argv[0])
    return me if os.path.basename(me) == NAME else shutil.which(NAME) or me


def _ask(*command: str) -> tuple[int, str]:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=90, check=False)  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return 1, str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace").strip()


class Systemd:
    """A unit of the user's manager."""

    def __init__(self, here: Surroundings) -> None:
        self._here = here
        self.path = os.path.join(here.config_home, "systemd", "user", f"{NAME}.service")

    def change(self, arguments: list[str]) -> Change:
        """Return what puts the unit there: the shipped one with this program's path.

        With `--on-mail` it is not shut in: the person's command may need the net, or whatever else it needs.
        """
        text = (read(os.path.join(share(), "systemd", f"{NAME}.service")) or b"").decode()
        if ON_MAIL in arguments:
            text = re.sub(r"# What works without root.*?(?=\[Install\])", "", text, flags=re.DOTALL)
        words = " ".join(_unit_word(word).replace("$", "$$") for word in [_program(), "run", *arguments])
        lines = [f"ExecStart={words}" if line.startswith("ExecStart=") else line for line in text.split("\n")]
        if self._here.inbox_root:
            place = lines.index("Type=notify")
            lines.insert(place + 1, f"Environment={_unit_word('A2A_INBOX=' + self._here.root())}")
        return Change(self.path, read(self.path), "\n".join(lines).encode())

    def command(self) -> list[str]:
        """Return the words after `ExecStart=`."""
        found = re.search("^ExecStart=(.*)", (read(self.path) or b"").decode("utf-8", "replace"), re.MULTILINE)
        try:
            words = shlex.split(found[1]) if found else []
        except ValueError:
            return []
        return [
            re.sub(r"%h|%%|\$\$", lambda one: {"%h": self._here.home}.get(one[0], one[0][0]), word) for word in words
        ]

    def begin(self) -> list[str]:
        """Start it, now and at each login; `start` of such a unit returns when it has said that it is ready."""
        for command in (["daemon-reload"], ["enable", NAME], ["start", NAME]):
            status, said = _ask("systemctl", "--user", *command)
            if status:
                _, log = _ask("journalctl", "--user", "-u", NAME, "-n", "3", "-o", "cat", "--no-pager")
                raise Problem(f"systemctl --user {command[0]}: {said} {log}".strip(), f"systemctl --user status {NAME}")
        told = []
        if _ask("loginctl", "show-user", str(os.getuid()), "-p", "Linger")[1] == "Linger=no":
            told.append("It ends when you log out; to keep it: loginctl enable-linger")
        if not exists(os.path.join(self._here.runtime, "bus")):
            told.append("There is no session bus yet, so it can only mark; notifications come with a desktop.")
        return told

    def end(self) -> None:
        """Stop it, and return when it has ended; raises Problem without a manager to ask."""
        _, said = _ask("systemctl", "--user", "is-system-running")
        if said.split("\n")[-1] not in ("running", "degraded", "starting", "initializing", "maintenance"):
            raise Problem(f"no user manager of systemd answers ({said})", "loginctl enable-linger, and log in anew")
        _ask("systemctl", "--user", "stop", NAME)

    def tidy(self) -> None:
        """Have the manager forget it."""
        _ask("systemctl", "--user", "disable", NAME)
        _ask("systemctl", "--user", "daemon-reload")
        _ask("systemctl", "--user", "reset-failed", NAME)

    def show(self) -> list[str]:
        """Return the command that shows its state."""
        return ["systemctl", "--user", "--no-pager", "--full", "status", NAME]

    def logs(self) -> list[str]:
        """Return the command that shows its log."""
        return ["journalctl", "--user", "--no-pager", "-u", NAME, "-n", "50"]


def _unit_word(word: str) -> str:
    # systemd.syntax(7): quotes, and what else it would read as its own.
    for char, instead in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%")):
        word = word.replace(char, instead)
    return f'"{word}"' if any(char in word for char in " \t'\"\\;") else word


class Launchd:
    """An agent of the user's graphical session."""

    def __init__(self, here: Surroundings) -> None:
        self._here = here
        self.path = os.path.join(here.home, "Library", "LaunchAgents", f"{NAME}.plist")
        self._log = os.path.join(here.home, "Library", "Logs", f"{NAME}.log")
        self._domain = f"gui/{os.getuid()}"

    def change(self, arguments: list[str]) -> Change:
        """Return what puts the agent there: the shipped one with this program's path."""
        data = plistlib.loads(read(os.path.join(share(), "launchd", f"{NAME}.plist")) or b"")
        data["ProgramArguments"] = [_program(), "run", *arguments]
        data["StandardErrorPath"] = self._log
        if self._here.inbox_root:
            data["EnvironmentVariables"] = {"A2A_INBOX": self._here.root()}
        return Change(self.path, read(self.path), plistlib.dumps(data, sort_keys=False))

    def command(self) -> list[str]:
        """Return its `ProgramArguments`."""
        try:
            return [str(word) for word in plistlib.loads(read(self.path) or b"")["ProgramArguments"]]
        except Exception:  # plistlib raises what its parser does
            return []

    def begin(self) -> list[str]:
        """Start it; it is loaded at each login because of where it lies."""
        status, said = _ask("launchctl", "bootstrap", self._domain, self.path)
        if status:
            raise Problem(f"launchctl bootstrap: {said}", "log in at the screen of this Mac, and once more")
        return []

    def end(self) -> None:
        """Unload it, which also stops it."""
        _ask("launchctl", "bootout", f"{self._domain}/{NAME}")

    def tidy(self) -> None:
        """Nothing more to do."""

    def show(self) -> list[str]:
        """Return the command that shows its state."""
        return ["launchctl", "print", f"{self._domain}/{NAME}"]

    def logs(self) -> list[str]:
        """Return the command that shows its log."""
        return ["tail", "-n", "50", self._log]
