"""What doctor says of the mail that lies about, and how it says what others named."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from pathlib import Path

import pytest

from tests.doctor import WATCH, Clinic, script
from tests.kit import World
from tests.rights import AS_PLAIN_USER, assert_that_modes_count

DAY = 86_400


@pytest.fixture
def clinic(world: World) -> Clinic:
    return Clinic(world)


def test_two_folders_with_one_name_are_a_warning(clinic: Clinic) -> None:
    """Two folders that drained one inbox are both named, until one has another name or is gone."""
    twin = clinic.world.repo("elsewhere/project-b")
    for place in ("project-b", "elsewhere/project-b"):
        clinic.world.send("project-b", "hello")
        clinic.world.hook(at=place, session=place[:9])
        clinic.world.hook("Stop", at=place, session=place[:9])
    found = clinic.complaint("warn", "mail")
    assert str(twin) in found.says and str(clinic.world.base / "project-b") in found.says
    assert shlex.split(found.fix)[:2] == ["cd", str(twin)] and ".agent-id" in found.fix
    shutil.rmtree(twin)
    assert clinic.complaints() == []


def test_a_stale_receipt_is_a_warning(clinic: Clinic) -> None:
    """Mail shown over a day ago to a session that never ended a turn is said; a fresh receipt is not."""
    clinic.world.send("project-b", "hello")
    clinic.world.hook(session="abc")
    assert clinic.complaints() == []
    old = time.time() - 2 * DAY
    os.utime(clinic.world.inbox() / ".shown" / "abc", (old, old))
    found = clinic.complaint("warn", "mail")
    assert "project-b" in found.says and str(clinic.world.inbox() / ".shown") in found.fix


def test_mail_set_aside_is_a_warning(clinic: Clinic) -> None:
    """Files that are no messages are counted, with the folder where they lie."""
    for name in ("one.json", "two.json"):
        clinic.world.put("project-b", name, b"no message")
    clinic.world.drain()
    found = clinic.complaint("warn", "mail")
    assert "2 files for project-b" in found.says and str(clinic.world.inbox() / ".bad") in found.fix


def test_an_inbox_that_may_not_be_looked_into_hides_no_other(clinic: Clinic) -> None:
    """One inbox without rights is a warning, and so is one whose history is broken; the next one is looked into."""
    assert_that_modes_count(clinic.world.base)
    for agent in ("closed", "odd", "project-b"):
        clinic.world.put(agent, "one.json", b"no message")
    clinic.world.drain()
    (clinic.world.inbox("odd") / ".shown").mkdir()
    (clinic.world.inbox("odd") / ".shown" / ".history").write_text('{"projects": [7, null]}')
    (clinic.world.inbox("closed") / ".bad").mkdir()
    (clinic.world.inbox("closed") / ".bad").chmod(0)
    found = clinic.complaints(prefix=AS_PLAIN_USER)
    (clinic.world.inbox("closed") / ".bad").chmod(0o700)
    assert {(one.state, one.link) for one in found} == {("warn", "mail")}
    assert str(clinic.world.inbox("closed")) in found[0].says and "project-b" in found[-1].says


def test_nothing_in_a_name_reaches_the_terminal(clinic: Clinic) -> None:
    """Control characters and bytes that are no text, in names of agents, folders and commands, are shown as escapes."""
    name = "a\x1b[31mb\x9b2J\u202e\nc"
    (clinic.world.inbox(name) / ".bad").mkdir(parents=True)
    (clinic.world.inbox(name) / ".bad" / "x").write_text("x")
    os.mkdir(os.fsencode(clinic.world.root) + b"/bytes\xff")
    os.mkdir(os.fsencode(clinic.world.root) + b"/bytes\xff/.bad")
    Path(os.fsdecode(os.fsencode(clinic.world.root) + b"/bytes\xff/.bad/y")).write_text("y")
    clinic.hooks("/nowhere\x1b[2J/drain-inbox")
    script(clinic.bin / "claude", "printf '\\033[31m2.1.1\\033]0;title\\007\\n'")
    clinic.world.repo(name)
    done = clinic.run(WATCH, "doctor", at=name)
    said = done.stdout.decode() + done.stderr.decode()
    assert not [char for char in said if (char < " " and char != "\n") or "\x7f" <= char <= "\x9f"], said
    assert "\u202e" not in said and "\\x1b[31m" in said and "Traceback" not in said
    assert all(line.startswith(("ok    ", "warn  ", "fail  ")) for line in said.splitlines()), said
    assert clinic.run(WATCH, "doctor", "--json", at=name).stdout.isascii()
