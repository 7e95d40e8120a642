"""A desktop for tests: a session bus, and on it dunst on a screen that nobody sees, or a server that only records."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kit import REPO
from tests.watching import DEADLINE, until

# No service folders: nothing is started on demand, so that "no notification server" means none.
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "">
<busconfig><type>session</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
</policy></busconfig>"""
DUNST = """[global]
    font = Sans 11
    width = 420
    height = 200
    offset = 16x16
    padding = 12
    horizontal_padding = 14
    frame_width = 1
    frame_color = "#5b6b7f"
    gap_size = 8
    corner_radius = 6
    notification_limit = 5
    show_indicators = no
    markup = full
    format = "<b>%s</b>\\n%b"
[urgency_normal]
    background = "#1f2630"
    foreground = "#e6ebf2"
    timeout = 0
"""


def need(*programs: str) -> None:
    """Skip, or fail in CI, when a program is missing that Debian has."""
    packages = {"import": "imagemagick", "Xvfb": "xvfb", "systemctl": "systemd", "unshare": "util-linux"}
    missing = [packages.get(name, name) for name in programs if not shutil.which(name)]
    if missing and not os.environ.get("CI"):
        pytest.skip(f"needs {' '.join(missing)}; try: sudo apt install {' '.join(missing)}")
    assert not missing, missing


@contextmanager
def running(*command: object, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in the background, killed on the way out."""
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options}
    child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, **options)
    try:
        yield child
    finally:
        child.kill()
        child.wait()
        for stream in (child.stdout, child.stderr):
            if stream:
                stream.close()


class Bus:
    """A session bus at one address; `start` and `kill` it, also again."""

    def __init__(self, ends: ExitStack) -> None:
        need("dbus-daemon")
        # The path of a socket has room for a hundred bytes.
        self._folder, self._ends = Path(ends.enter_context(short_folder())), ends
        self.socket = self._folder / "bus"
        self.env = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.socket}"}
        self.start()

    def start(self) -> None:
        self.socket.unlink(missing_ok=True)
        config = self._folder / "bus.conf"
        config.write_text(BUS.format(socket=self.socket))
        self._daemon = self._ends.enter_context(running("dbus-daemon", f"--config-file={config}", "--nofork"))
        until(self.socket.exists, "a bus")

    def kill(self) -> None:
        self._daemon.kill()
        self._daemon.wait()


@contextmanager
def short_folder() -> Iterator[str]:
    """Make a folder with a short path, which goes with the test."""
    path = tempfile.mkdtemp(prefix="a2a-", dir="/tmp")
    try:
        yield path
    finally:
        shutil.rmtree(path)


class Desk:
    """A notification server that shows nothing and remembers all of it, with the time (monotonic seconds)."""

    def __init__(self, bus: Bus, ends: ExitStack) -> None:
        self._said: list[tuple[float, dict[str, Any]]] = []
        self._bus, self._ends = bus, ends
        self.start()

    def start(self) -> None:
        env = {**os.environ, **self._bus.env}
        self.process = self._ends.enter_context(
            running(sys.executable, REPO / "tools" / "desk.py", env=env, stdout=subprocess.PIPE)
        )
        threading.Thread(target=self._read, args=(self.process,), daemon=True).start()
        ready = sum("ready" in what for _, what in self._said)
        until(lambda: sum("ready" in what for _, what in self._said) > ready, "a notification server")

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        try:
            for line in process.stdout:
                self._said.append((time.monotonic(), json.loads(line)))
        except ValueError:
            pass  # closed on the way out

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Return title and body of each notification."""
        return [(what["title"], what["body"]) for _, what in self._said if "shown" in what]

    @property
    def titles(self) -> list[str]:
        return [title for title, _ in self.shown]

    @property
    def times(self) -> list[float]:
        return [at for at, what in self._said if "shown" in what]

    @property
    def up(self) -> int:
        """Return how many were not taken down."""
        return len(self.shown) - sum("closed" in what for _, what in self._said)

    def has_shown(self, number: int) -> list[tuple[str, str]]:
        """Wait until so many were shown; return them."""
        until(lambda: len(self.shown) >= number, f"{number} notifications, not {self.shown}")
        return self.shown


class Dunst:
    """dunst on a screen of its own."""

    def __init__(self, bus: Bus, ends: ExitStack, size: str = "900x300") -> None:
        need("dunst", "Xvfb")
        receive, send = os.pipe()
        ends.enter_context(
            running("Xvfb", "-displayfd", send, "-screen", "0", f"{size}x24", "-nolisten", "tcp", pass_fds=[send])
        )
        os.close(send)
        with os.fdopen(receive) as file:
            self.env = {**os.environ, **bus.env, "DISPLAY": f":{file.readline().strip()}"}
        config = bus.socket.with_name("dunstrc")
        config.write_text(DUNST)
        self.process = ends.enter_context(running("dunst", "-conf", config, env=self.env))
        until(lambda: self.ask("count", "displayed") is not None, "dunst")

    def ask(self, *words: str) -> str | None:
        done = subprocess.run(["dunstctl", *words], env=self.env, capture_output=True, timeout=DEADLINE, check=False)
        return done.stdout.decode() if done.returncode == 0 else None

    def displayed(self) -> int:
        return int(self.ask("count", "displayed") or 0)

    def history(self) -> list[tuple[str, str]]:
        """Return title and body of what is no longer up, the oldest first."""
        found = json.loads(self.ask("history") or "{}")["data"][0]
        return [(one["summary"]["data"], one["body"]["data"]) for one in reversed(found)]

    def picture(self, path: Path) -> None:
        need("import")
        subprocess.run(["import", "-window", "root", str(path)], env=self.env, check=True)


@pytest.fixture
def bus() -> Iterator[Bus]:
    with ExitStack() as ends:
        yield Bus(ends)


@pytest.fixture
def desk(bus: Bus) -> Iterator[Desk]:
    with ExitStack() as ends:
        yield Desk(bus, ends)


@pytest.fixture
def dunst(bus: Bus) -> Iterator[Dunst]:
    with ExitStack() as ends:
        yield Dunst(bus, ends)
