"""What the person reads: one line when mail was shown, one sentence when it could not be, and never a late start."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.client.driver import Client, Session
from tests.client.model import say
from tests.kit import HOOK
from tests.rights import AS_PLAIN_USER, assert_that_modes_count
from tests.test_no_python import Bare

pytestmark = pytest.mark.timeout(180)
START_SECONDS = 2.0  # no longer does a hook hold up the first request


@pytest.mark.parametrize("columns", [120, 40])
def test_one_line_names_senders_and_subjects(client: Client, columns: int) -> None:
    """At a start and at a prompt the person reads who wrote and about what, on a narrow terminal too."""
    client.world.repo("project-c")
    client.world.send("project-b", "the body", "Bumped the API")
    client.world.send("project-b", "the body", "Renamed it ✂", at="project-c")
    with client.session(columns=columns) as session:
        session.wait_for("startup says: ✉ 2 notes: project-a (Bumped the API), project-c (Renamed it ✂)")
        client.world.send("project-b", "the body", "Third")
        session.ask("hello")
        session.wait_for("UserPromptSubmit says: ✉ 1 note: project-a (Third)")
        assert session.letters().count("✉") == 2 and "thebody" not in session.letters()


def test_nothing_is_said_without_mail(client: Client) -> None:
    """With no mail nothing of the drain stands on the screen, at no event."""
    with client.session() as session:
        session.ask("hello")
        assert "says:" not in session.screen() and "a2a" not in session.screen()


@contextmanager
def trouble(client: Client, sentence: str, prefix: tuple[str, ...] = (), path: str = "") -> Iterator[Session]:
    """Open a session where the drain fails; check that it starts in time, says so in one sentence and works."""
    log = client.world.base / "debug"
    with client.session("--debug-file", str(log), prefix=prefix, PATH=path or client.env()["PATH"]) as session:
        session.wait_for("SessionStart:startup says: a2a: ")
        session.wait_for(sentence)
        assert session.letters().count("a2a:") == 1 and "hookerror" not in session.letters().lower()
        client.model.turns = [say("it works")]
        session.ask("hello", "it works")
        took = re.findall(r"Hooks: SessionStart:startup \[.*\] finished with status (\d+) \((\d+)ms\)", log.read_text())
        assert [status for status, _ in took] == ["0"] and int(took[0][1]) < START_SECONDS * 1000
        yield session


def test_a_root_that_is_a_file_is_one_sentence(client: Client) -> None:
    """The inbox root is a file: the session starts, and the person reads what is wrong and what to type."""
    client.world.root.rmdir()
    client.world.root.write_text("no folder")
    with trouble(client, "is not a folder; try: ls -ld"):
        pass


def test_a_root_that_cannot_be_read_is_one_sentence(client: Client, tmp_path: Path) -> None:
    """The inbox root is closed to the user: the session starts, and the person reads what is wrong."""
    assert_that_modes_count(tmp_path)
    client.world.send("project-b", "the body", "Out of reach")
    client.world.root.chmod(0)
    try:
        with trouble(client, "Permission denied", AS_PLAIN_USER):
            pass
    finally:
        client.world.root.chmod(0o700)
    assert len(client.world.names()) == 1


# Runs in a mount namespace of its own, where the inbox is a disk with room for the message and nothing else.
ON_A_FULL_DISK = """
set -e
cp "$0"/*.json "$1"
mount -t tmpfs -o size=64k,mode=700 none "$0"
mv "$1"/*.json "$0"
cat /dev/zero >"$0/filler" 2>/dev/null || :
shift
exec "$@"
"""


def test_a_full_disk_is_one_sentence(client: Client, tmp_path: Path) -> None:
    """The disk takes nothing: the session starts, the person reads why, and the mail stays."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("only root, and not in every container, may mount")
    client.world.send("project-b", "the body", "On a full disk")
    (tmp_path / "aside").mkdir()
    prefix = ("unshare", "--mount", "sh", "-c", ON_A_FULL_DISK, str(client.world.inbox()), str(tmp_path / "aside"))
    with trouble(client, "No space left on device", prefix) as session:
        inside = Path(f"/proc/{session.pid}/root{client.world.inbox()}")
        assert len([name for name in os.listdir(inside) if name.endswith(".json")]) == 1
    assert "On a full disk" not in client.model.seen()


def test_a_machine_without_a_python_is_one_sentence(client: Client) -> None:
    """No python3 runs: the session starts, the person reads what to type, and the mail stays."""
    bare = Bare(client.world)
    settings = client.world.home / ".claude" / "settings.json"
    assert settings.read_text().count(str(HOOK)) >= 4
    settings.write_text(settings.read_text().replace(str(HOOK), str(bare.hook)))
    client.world.send("project-b", "the body", "Without a python")
    with trouble(client, "no python3 (3.9 or newer) runs here; try: python3 --version", path=str(bare.bin)):
        pass
    assert len(client.world.names()) == 1


def test_a_lock_that_is_held_for_ever_is_one_sentence(client: Client) -> None:
    """Another program never lets go of the inbox: the session starts in time, and the mail comes when it has."""
    client.world.send("project-b", "the body", "Behind a lock")
    with (client.world.inbox() / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with trouble(client, "mail for project-b waits, but another program holds its lock") as session:
            fcntl.flock(lock, fcntl.LOCK_UN)
            session.ask("and now")
            session.wait_for("UserPromptSubmit says: ✉ 1 note: project-a (Behind a lock)")
