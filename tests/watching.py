"""The real watcher as a process, and ways to wait for a fact instead of a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.kit import World
from tests.test_cli import WATCH

DEADLINE = 30.0  # seconds; what is waited for usually takes a fraction of one


def until(fact: Callable[[], Any], what: str = "", seconds: float = DEADLINE) -> Any:
    """Return what `fact` gives as soon as that is true; fail when it is not within `seconds`."""
    end = time.monotonic() + seconds
    while not (found := fact()):
        assert time.monotonic() < end, f"not within {seconds:g} s: {what or fact}"
        time.sleep(0.01)
    return found


def pace(moment: float) -> None:
    """Go on at a moment (monotonic seconds): for what is about rates, and for nothing else."""
    until(lambda: time.monotonic() >= moment)


class Watching:
    """A watcher that runs in `world`; `log` is what it has said so far."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process, self._said = process, bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        while more := os.read(self.process.stderr.fileno(), 1 << 16):
            self._said += more

    @property
    def log(self) -> str:
        return self._said.decode("utf-8", "replace")

    def says(self, text: str, times: int = 1) -> None:
        """Wait until its log has `text` so often."""
        until(lambda: self.log.count(text) >= times or self.process.poll() is not None, f"{text!r} in {self.log}")
        assert self.log.count(text) >= times, self.log

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; return the exit status."""
        self.process.send_signal(number)
        status = self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        return status


@contextmanager
def watching(
    world: World, *options: str, prefix: tuple[str, ...] = (), program: tuple[str, ...] = (str(WATCH),),
    notify: bool = False, waits_for: str = "watching ", env: dict[str, str] | None = None,
) -> Iterator[Watching]:  # fmt: skip
    """Run `a2a-watch run`, without notifications unless asked to; it is killed on the way out."""
    words = [*prefix, *program, "run", *([] if notify else ["--no-notify"]), *options]
    process = subprocess.Popen(words, cwd=world.base, env=world.env(**(env or {})), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
    one = Watching(process)
    try:
        if waits_for:
            one.says(waits_for)
        yield one
    finally:
        process.kill()
        process.wait()
        one._reader.join(DEADLINE)
        assert process.stderr
        process.stderr.close()
    assert "Traceback" not in one.log, one.log


def waiting(world: World) -> dict[str, int]:
    """Return how many messages wait for each agent, as the folders say."""
    found = {}
    for folder in world.root.iterdir() if world.root.is_dir() else []:
        if folder.is_dir() and not folder.is_symlink():
            found[folder.name] = sum(
                path.name.endswith(".json")
                and not path.name.startswith(".")
                and path.is_file()
                and not path.is_symlink()
                for path in folder.iterdir()
            )
    return found


def marked(world: World) -> dict[str, int]:
    """Return how many messages wait for each agent, as the markers say."""
    found = {}
    for folder in world.root.iterdir() if world.root.is_dir() else []:
        if folder.is_dir() and not folder.is_symlink():
            try:
                found[folder.name] = json.loads((folder / ".pending").read_text())["count"]
            except FileNotFoundError:
                found[folder.name] = 0
    return found


def markers_are_true(world: World, seconds: float = DEADLINE) -> None:
    """Wait until each agent's marker says what its folder holds: oldest, newest, count."""

    def is_true() -> bool:
        for folder in world.root.iterdir():
            if folder.is_dir() and not folder.is_symlink():
                names = sorted((name for name in os.listdir(folder) if is_message(folder / name)), key=os.fsencode)
                marker = world.marker(folder.name)
                if bool(names) != bool(marker) or (marker and marker["count"] != len(names)):
                    return False
                if marker and (os.fsencode(names[-1]).isascii() and marker["newest"] != names[-1]):
                    return False
        return True

    until(is_true, f"markers {marked(world)}, folders {waiting(world)}", seconds)


def is_message(path: Path) -> bool:
    return path.name.endswith(".json") and not path.name.startswith(".") and path.is_file() and not path.is_symlink()


def note(
    world: World, agent: str = "project-b", name: str = "note", subject: str = "S", sender: str = "a-script"
) -> Path:
    """Write a message as a foreign tool does: under another name first, then renamed."""
    folder = world.inbox(agent)
    folder.mkdir(parents=True, exist_ok=True)
    temp = folder / f".{name}.tmp"
    fields = {"id": name, "from": sender, "to": agent, "timestamp": "", "subject": subject, "body": f"body of {name}"}
    temp.write_text(json.dumps(fields))
    return temp.rename(folder / f"{name}.json")
