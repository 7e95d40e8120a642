"""What the tests of hostile surroundings share: the good message beside, calm starts, and another user."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kit import HOOK, PYTHON, REPO, Drained, Shown, World, parse

NAME = "2026-05-29T15-45-27Z-hostile.json"  # sorts before the good message: it is in the way
GOOD_NAME = "2026-05-29T15-45-28Z-good.json"
STAMP = "2026-05-29T15-45-28Z"
GOOD = Shown("project-a", STAMP, "Good", "", "first line\n\nlast line", "")
CHILD_SECONDS = 1.0  # of processor time: a busy machine makes nothing slower that it measures
NOBODY = 54_321  # a user who has no entry, no groups and no home


def fields(**given: Any) -> bytes:
    """Return a message as a foreign tool writes it."""
    return json.dumps({"from": "f", "timestamp": "t", "subject": "s", "body": "b", **given}).encode()


def put_good(world: World) -> None:
    """Write the one message that must be shown whatever lies beside it."""
    sent = fields(**{"from": "project-a", "timestamp": STAMP, "subject": "Good", "body": GOOD.body})
    world.put("project-b", GOOD_NAME, sent)


def child_seconds() -> float:
    """Return the processor time that all children so far have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_calm(said: Drained) -> bool:
    """Tell whether a hook ended well: status 0, nothing on standard error, one plain line for the person."""
    plain = not any(unicodedata.category(char) in ("Cc", "Cs") for char in said.person)
    return said.status == 0 and said.error == "" and plain


def start(world: World, session: str = "s1") -> Drained:
    """Start a session and let it finish a turn."""
    before = child_seconds()
    said = world.hook(session=session)
    assert child_seconds() - before < CHILD_SECONDS
    assert is_calm(said), said
    assert world.hook("Stop", session=session).raw == b""
    return said


def start_beside_good(world: World) -> Drained:
    """Start a session: the good message is shown whole; the start after that has nothing to say."""
    put_good(world)
    said = start(world)
    assert GOOD in parse(said.text)
    assert GOOD_NAME in world.names(folder=".read")
    assert start(world, "s2").raw == b""
    return said


class Elsewhere(World):
    """A world in which every program is run as another user, from a copy of the product that this user can read."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.hook_file = base / "product" / "hooks" / "drain-inbox"
        for folder in ("hooks", "a2a_watch"):
            shutil.copytree(REPO / folder, base / "product" / folder, ignore=shutil.ignore_patterns("__pycache__"))
        self.switch: dict[str, Any] = {}
        if os.getuid() == 0:
            self.switch = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        self.python = next(filter(self._runs, (PYTHON, "/usr/local/bin/python3", "/usr/bin/python3")), "")
        if not self.python:
            pytest.skip("no python3 here that another user may run")

    def _runs(self, python: str) -> bool:
        try:
            return subprocess.run([python, "-c", ""], cwd="/", check=False, **self.switch).returncode == 0
        except OSError:
            return False

    def env(self, **more: str) -> dict[str, str]:
        """Name the interpreter that this user can run."""
        return {**super().env(), "A2A_PYTHON": self.python, **more}

    def run(self, *command: str | Path, at: str = "project-a", **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Run the copy of the hook as the other user, who owns everything in this world, modes as they are."""
        if self.switch:
            for path in [self.base, *self.base.rglob("*")]:
                os.lchown(path, NOBODY, NOBODY)
        words = [self.hook_file if word == HOOK else word for word in command]
        return super().run(*words, at=at, **options, **self.switch)


@contextmanager
def another_user() -> Iterator[Elsewhere]:
    """Yield a world whose user may not do everything; root drops its rights for it, anybody else has none to drop."""
    with tempfile.TemporaryDirectory(dir="/tmp") as base:
        Path(base).chmod(0o755)
        yield Elsewhere(Path(base))
