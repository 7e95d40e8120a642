"""Stop a program at any of its file operations, record their order, and settle the account afterwards."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from a2a_watch import durable
from a2a_watch.inbox import Inbox, Outcome, Visit
from a2a_watch.light.delivery import Delivery, Ids
from a2a_watch.light.page import Page
from tests.kit import parse

CHANGES = ("open", "write", "fsync", "link", "rename", "unlink", "mkdir", "rmdir")
LATER = 7200.0  # seconds; by then a dead sender's temporary file is stale


class Stopped(BaseException):
    """The process is dead: it does nothing more, and the kernel takes its locks."""


class Steps:
    """Stands in for `os` in durable.py: counts and records each change, and stops at the wanted one for good."""

    def __init__(self, stop_at: int = 0) -> None:
        self.stop_at, self.count = stop_at, 0
        self.log: list[str] = []
        self._paths: dict[int, str] = {}

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return (lambda *args, **more: self._change(name, real, *args, **more)) if name in CHANGES else real

    def step(self, what: str) -> None:
        """Count one step; raise Stopped at the wanted one and at every later one."""
        self.count += 1
        if self.stop_at and self.count >= self.stop_at:
            raise Stopped
        self.log.append(what)

    def _change(self, name: str, real: Callable[..., Any], *args: Any, **more: Any) -> Any:
        if name == "open" and not args[1] & os.O_CREAT:
            handle = real(*args, **more)
            self._paths[handle] = args[0]
            return handle
        where = self._paths.get(args[0], "") if isinstance(args[0], int) else args[0]
        names = [Path(path).name for path in (where, *[arg for arg in args[1:] if isinstance(arg, str)])]
        if name == "write" and self.stop_at == self.count + 1:
            real(args[0], args[1][: len(args[1]) // 2])  # a process can die in the middle of a write
        self.step(" ".join([name, *names]))
        # Nothing here cuts the power, so a sync need not happen; its place in the order is what counts.
        result: Any = None if name == "fsync" else real(*args, **more)
        if name == "open":
            self._paths[result] = args[0]
        return result


class Office:
    """The mail of one root, worked by the product's own code; knows what was sent and what every screen showed."""

    def __init__(self, root: Path, agent: str = "b") -> None:
        self.root, self.agent = root, agent
        self.inbox = Inbox(str(root), agent)
        self.now = time.time()  # files have real times, so the office's clock starts with them
        self.sent: set[str] = set()
        self.attempted: set[str] = set()
        self.screens: list[str] = []
        self.dead: set[str] = set()
        self.restored: set[str] = set()
        self.before_show: Callable[[str], None] = lambda what: None
        self._ids, self._numbers = Ids(), itertools.count()
        (root.parent).mkdir(parents=True, exist_ok=True)

    def tick(self, seconds: float = 1.0) -> None:
        self.now += seconds

    def send(self, sender: str = "a") -> None:
        """Send one message as a2a-send does; its body is its own unique name."""
        body = f"note {next(self._numbers)} from {sender}"
        self.attempted.add(body)
        id_, stamp = self._ids.next(int(self.now * 1e9), os.urandom(8))
        fields = {"id": id_, "from": sender, "to": self.agent, "timestamp": stamp, "subject": "s", "body": body}
        delivery = Delivery(self.inbox, fields)
        delivery.write()
        delivery.publish()
        delivery.explain_root()
        self.sent.add(body)
        self.inbox.refresh_marker(self.now, {delivery.name: fields})

    def visit(self, session: str = "", process: str = "", event: str = "") -> Visit:
        return Visit(self.now, session, process, event)

    def drain(self, session: str = "", process: str = "", event: str = "", budget: int = 0) -> Outcome:
        """Drain as a hook of `session` does, or by hand; each page ends on `screens` once it was printed."""
        if not (self.root / self.agent).is_dir():
            return Outcome()
        self.tick(0.001)  # no two drains of one inbox happen in the same microsecond: they take turns
        page = Page(self.agent, "~/.read/", self.now, budget)

        def show(outcome: Outcome) -> None:
            self.before_show("show")
            self.screens.append(page.text(outcome.waiting))

        gone = lambda name: name in self.dead  # noqa: E731
        return self.inbox.drain(self.visit(session, process, event), page.add, show, gone)

    def restore(self, body: str) -> None:
        """Restore the read message with this body."""
        for name in self.names(".read"):
            if json.loads((self.root / self.agent / ".read" / name).read_text())["body"] == body:
                self.inbox.restore(name, self.now)
                self.restored.add(body)

    def names(self, folder: str = "") -> list[str]:
        where = self.root / self.agent / folder
        return sorted(name for name in os.listdir(where) if name.endswith(".json")) if where.is_dir() else []

    def bodies(self, folder: str = "") -> list[str]:
        """Return the bodies in a folder; a half message would not parse."""
        where = self.root / self.agent / folder
        return [json.loads((where / name).read_bytes())["body"] for name in self.names(folder)]

    def shown(self) -> list[tuple[str, str]]:
        """Return (body, mark) of everything that any screen showed, in order."""
        return [(message.body, message.mark) for screen in self.screens for message in parse(screen)]

    def check(self) -> None:
        """Hold the invariant: each message in exactly one place; what is shown again is marked; nothing forged."""
        where = self.bodies() + self.bodies(".read") + self.bodies(".bad")
        assert len(where) == len(set(where)), f"a message is in two places: {sorted(where)}"
        assert self.sent <= set(where), f"lost: {self.sent - set(where)}"
        assert set(where) <= self.attempted
        seen: set[str] = set()
        for body, mark in self.shown():
            assert body in self.attempted, f"shown but never sent: {body}"
            assert mark or body not in seen, f"shown again without a mark: {body}"
            seen.add(body)
        unseen = set(self.bodies(".read")) - seen
        assert not unseen, f"archived but on no screen: {unseen}"

    def check_marker(self) -> None:
        """At rest the marker says what is in the folder."""
        path = self.root / self.agent / ".pending"
        count = json.loads(path.read_text())["count"] if path.exists() else 0
        assert count == len(self.names()), f"the marker says {count}, there are {len(self.names())}"

    def settle(self) -> None:
        """Let a later session find everything as the dead left it, and drain it; then nothing is left over."""
        self.check()
        self.tick(LATER)
        for _ in range(2):
            self.drain()
            self.tick()
        self.check()
        self.check_marker()
        assert self.bodies() == []
        assert set(self.bodies(".read")) >= self.sent
        known = {".lock", ".read", ".shown", ".history"}
        found = {name for _, folders, files in os.walk(self.root / self.agent) for name in folders + files}
        stray = {name for name in found - known if not name.endswith(".json") or name.startswith(".")}
        assert not stray, f"left over: {stray}"


def stopping(monkeypatch: pytest.MonkeyPatch, office: Office, act: Callable[[], object], stop_at: int) -> Steps:
    """Run `act` and stop it at its `stop_at`-th step (0: never); return the steps it made."""
    steps = Steps(stop_at)
    with monkeypatch.context() as patch:
        patch.setattr(durable, "os", steps)
        office.before_show = steps.step
        try:
            act()
        except Stopped:
            pass
        finally:
            office.before_show = lambda what: None
    return steps
