"""Run two programs against one folder, one file operation at a time, in a given order.

Each program is a thread that stops before every operation until it is its turn. A schedule is a set of operation
numbers at which the turn passes to the other; waiting for a lock passes it too, or, when the other counts as frozen,
lets the time run out.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from a2a_watch import durable
from tests.faults import CHANGES, Office, Stopped

# What another process can see: a name that comes, goes or moves, and a look at the folder. Not: bytes under a
# temporary name, syncs.
VISIBLE = ("lstat", "open", "link", "rename", "unlink", "mkdir", "scandir")


class Schedule:
    """One run of two programs; stands in for `os` and `time` in durable.py."""

    def __init__(
        self, switches: set[int], starts: int = 0, crash: tuple[int, int] | None = None, frozen: int = -1
    ) -> None:
        self._switches, self._turn, self._crash, self._frozen = switches, starts, crash, frozen
        self.count = 0
        self.steps = [0, 0]
        self.log: list[str] = []
        self._done = [False, False]
        self._wake = [threading.Semaphore(0), threading.Semaphore(0)]
        self._clock = 0.0
        self.failure: BaseException | None = None

    def run(self, office: Office, monkeypatch: pytest.MonkeyPatch, programs: list[Callable[[], object]]) -> None:
        """Run both to their ends; raise what either raised."""
        threads = [threading.Thread(target=self._live, args=(me, act)) for me, act in enumerate(programs)]
        with monkeypatch.context() as patch:
            patch.setattr(durable, "os", self)
            patch.setattr(durable, "time", self)
            office.before_show = self.point
            for thread in threads:
                thread.start()
            self._wake[self._turn].release()
            for thread in threads:
                thread.join()
            office.before_show = lambda what: None
        if self.failure:
            raise self.failure

    def _live(self, me: int, act: Callable[[], object]) -> None:
        threading.current_thread().name = str(me)
        self._wake[me].acquire()
        try:
            act()
        except Stopped:
            pass
        except BaseException as error:
            self.failure = error
        self._done[me] = True
        self._pass_on(me, wait=False)

    def _pass_on(self, me: int, wait: bool = True) -> None:
        if not self._done[1 - me]:
            self._turn = 1 - me
            self._wake[1 - me].release()
            if wait:
                self._wake[me].acquire()

    def point(self, what: str) -> None:
        """Stand before one operation: crash here, or let the other go first."""
        me = int(threading.current_thread().name)
        self.steps[me] += 1
        if self._crash and self._crash[0] == me and self.steps[me] >= self._crash[1]:
            raise Stopped
        self.count += 1
        if self.count in self._switches:
            self._pass_on(me)
        self.log.append(f"{me} {what}")

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name == "fsync":
            return lambda handle: None
        if name not in VISIBLE and name not in CHANGES:
            return real

        def call(*args: Any, **more: Any) -> Any:
            if name in VISIBLE and not (name == "open" and str(args[0]).endswith(".tmp")):
                self.point(f"{name} {os.path.basename(str(args[0]))}")
            return real(*args, **more)

        return call

    def monotonic(self) -> float:
        """Return the time that waiting for locks has taken."""
        return self._clock

    def sleep(self, seconds: float) -> None:
        """Wait for a lock: the other may go on, unless it is frozen."""
        me = int(threading.current_thread().name)
        if self._frozen == 1 - me or self._done[1 - me]:
            self._clock += seconds
        else:
            self._pass_on(me)
