"""Missing rights: files and folders that this user may not read or write, and the good mail among them."""

from __future__ import annotations

import pytest

from tests.hostile import GOOD, GOOD_NAME, NAME, another_user, fields, is_calm, put_good, start, start_beside_good
from tests.kit import Shown, parse


def test_a_file_that_may_not_be_read_stays_and_is_mentioned_once() -> None:
    """A file that cannot be opened stays where it is, is mentioned once, and is shown when it can be read."""
    with another_user() as world:
        path = world.put("project-b", NAME, fields())
        path.chmod(0)
        said = start_beside_good(world)
        assert parse(said.text) == [GOOD]
        assert NAME in said.person
        assert world.names() == [NAME]
        path.chmod(0o600)
        assert parse(start(world, "s3").text) == [Shown("f", "t", "s", "", "b", "")]


def test_a_folder_that_may_not_be_moved_stays_and_is_mentioned_once() -> None:
    """What cannot be set aside does not keep the good mail from being shown."""
    with another_user() as world:
        (world.inbox() / NAME).mkdir(parents=True)
        (world.inbox() / NAME).chmod(0o555)
        said = start_beside_good(world)
        assert parse(said.text) == [GOOD]
        assert NAME in said.person
        assert world.names() == [NAME]


def test_a_set_aside_folder_that_may_not_be_written_is_mentioned_once() -> None:
    """What is no message stays pending when `.bad/` takes nothing, and the good mail is shown."""
    with another_user() as world:
        world.put("project-b", NAME, b"null")
        (world.inbox() / ".bad").mkdir()
        (world.inbox() / ".bad").chmod(0o555)
        said = start_beside_good(world)
        assert parse(said.text) == [GOOD]
        assert NAME in said.person
        assert world.names() == [NAME]


@pytest.mark.parametrize("place", ["the root", "the inbox"])
def test_a_folder_that_may_not_be_read_is_said_to_the_person(place: str) -> None:
    """A session starts beside an unreadable root; the person is told, and the mail is there when it can be read."""
    with another_user() as world:
        put_good(world)
        folder = world.root if place == "the root" else world.inbox()
        folder.chmod(0)
        said = world.hook()
        assert is_calm(said), said
        assert said.text == ""
        assert "the inbox cannot be used" in said.person
        folder.chmod(0o700)
        assert parse(start(world).text) == [GOOD]


def test_an_archive_that_may_not_be_written_leaves_the_mail_pending() -> None:
    """A message that cannot be archived stays pending; the client gets one answer, and the next one marks it."""
    with another_user() as world:
        put_good(world)
        (world.inbox() / ".read").mkdir()
        (world.inbox() / ".read").chmod(0o555)
        said = world.hook()
        assert is_calm(said), said
        assert world.names() == [GOOD_NAME]
        (world.inbox() / ".read").chmod(0o700)
        (again,) = parse(start(world).text)
        assert (again.body, bool(again.mark)) == (GOOD.body, bool(said.text))
