"""No python that works: the hook ends with 0 all the same, says so to the person, and the mail stays."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.hostile import GOOD, GOOD_NAME, put_good
from tests.kit import PYTHON, REPO, World, parse, said
from tests.test_streams import START, client


class Bare:
    """A copy of the hook on a machine whose only pythons are those that a test puts there."""

    def __init__(self, world: World) -> None:
        self.world, self.system, self.bin = world, world.base / "usr-bin-python3", world.base / "bin"
        self.bin.mkdir()
        product = world.base / "product"
        shutil.copytree(REPO / "hooks", product / "hooks")
        shutil.copytree(REPO / "a2a_watch", product / "a2a_watch", ignore=shutil.ignore_patterns("__pycache__"))
        self.hook = product / "hooks" / "drain-inbox"
        chooser = product / "hooks" / "python.sh"
        # The one place outside PATH where a python3 is looked for cannot be emptied for a test.
        assert chooser.read_text().count(" /usr/bin/python3;") == 1
        chooser.write_text(chooser.read_text().replace("/usr/bin/python3", f'"{self.system}"'))

    def put(self, path: Path, script: str) -> str:
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    def run(self, **env: Any) -> subprocess.CompletedProcess[bytes]:
        env = {"PATH": str(self.bin), "A2A_PYTHON": "", **client(self.world), **env}
        return self.world.run(self.hook, "--receipts", at="project-b", env=env, input=START)


@pytest.fixture
def bare(world: World) -> Bare:
    """Return a copy of the hook where no python3 is."""
    return Bare(world)


BROKEN = {
    "nothing": None,
    "not there in this folder": "exit 127",
    "too old": "exit 9",
    "not for this machine": "exit 126",
    "without its library": "echo no module named encodings >&2; exit 1",
}


@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN)
def test_without_a_python_that_works_the_person_is_told(bare: Bare, script: str | None) -> None:
    """No python3 runs: exit 0, and one `systemMessage` that says so; the mail stays."""
    put_good(bare.world)
    env = {}
    if script:
        bare.put(bare.bin / "python3", script)
        bare.put(bare.system, script)
        env = {"A2A_PYTHON": bare.put(bare.world.base / "own-python", script)}
    done = bare.run(**env)
    assert done.returncode == 0
    assert list(json.loads(done.stdout)) == ["systemMessage"]
    assert "no python3 (3.9 or newer) runs here" in json.loads(done.stdout)["systemMessage"]
    assert bare.world.names() == [GOOD_NAME]


@pytest.mark.parametrize("env", [{"A2A_PYTHON": "/nowhere/python3"}, {"A2A_PYTHON": "/"}, {}])
def test_a_python_that_does_not_run_is_followed_by_the_next(bare: Bare, env: dict[str, str]) -> None:
    """A python3 that is missing, too old or no program is passed over; the last one is the system's own."""
    put_good(bare.world)
    bare.put(bare.bin / "python3", "exit 9")
    bare.system.symlink_to(PYTHON)
    assert parse(said(bare.run(**env)).text) == [GOOD]


def test_a_python_that_needs_its_folder_is_followed_by_the_next(bare: Bare) -> None:
    """A version manager's python3 that fails where the working directory was deleted is passed over too."""
    put_good(bare.world)
    bare.put(bare.bin / "python3", f'[ -d "$PWD" ] || exit 1\nexec {PYTHON} "$@"')
    bare.system.symlink_to(PYTHON)
    env = {"PATH": str(bare.bin), "A2A_PYTHON": "", "CLAUDE_AGENT_ID": "project-b"}
    gone = f"/bin/mkdir gone && cd gone && /bin/rmdir ../gone && exec {bare.hook}"
    done = bare.world.run("/bin/sh", "-c", gone, env=env)
    assert done.returncode == 0
    assert parse(done.stdout.decode()) == [GOOD]


def test_without_a_python_and_without_mail_the_hook_is_silent(bare: Bare) -> None:
    """Nothing waits: no python is looked for and nothing is said."""
    done = bare.run()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_without_a_python_a_person_is_told_at_the_terminal(bare: Bare) -> None:
    """By hand the sentence goes to standard error."""
    put_good(bare.world)
    done = bare.run(CLAUDE_PROJECT_DIR="")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"no python3 (3.9 or newer) runs here" in done.stderr


@pytest.mark.parametrize("signal", ["TERM", "KILL", "INT", "HUP"])
def test_a_drain_that_is_killed_says_nothing(bare: Bare, signal: str) -> None:
    """A client that ends a drain at its time limit gets exit 0 and no half answer; the mail stays."""
    put_good(bare.world)
    bare.put(bare.bin / "python3", f"kill -s {signal} $$")
    done = bare.run()
    assert (done.returncode, done.stdout) == (0, b"")
    assert bare.world.names() == [GOOD_NAME]
