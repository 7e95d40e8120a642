"""Hostile places: links, pipes, folders and odd names in an inbox, and the good mail among them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile import GOOD, GOOD_NAME, NAME, fields, start, start_beside_good
from tests.kit import Shown, World, parse


def make_device(path: Path) -> None:
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes a device")


def make_socket(path: Path) -> None:
    # Its address is at most some 100 bytes long, and a link to its folder is shorter than that folder.
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as server:
        (Path(short) / "x").symlink_to(path.parent)
        server.bind(f"{short}/x/{path.name}")


THINGS: dict[str, Callable[[Path, Path], object]] = {
    "a FIFO": lambda path, _: os.mkfifo(path),
    "a folder": lambda path, outside: shutil.copytree(outside, path),
    "a device": lambda path, _: make_device(path),
    "a socket": lambda path, _: make_socket(path),
    "a link to a message": lambda path, outside: path.symlink_to(outside / "secret.json"),
    "a link to a folder": lambda path, outside: path.symlink_to(outside),
    "a dangling link": lambda path, outside: path.symlink_to(outside / "nothing"),
    "a link to itself": lambda path, _: path.symlink_to(path),
    "a link to /dev/zero": lambda path, _: path.symlink_to("/dev/zero"),
}


def outside_of(world: World) -> Path:
    """Make a folder that nothing in an inbox may lead to."""
    outside = world.base / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text('{"from": "x", "body": "SECRET"}')
    return outside


def facts(folder: Path) -> list[tuple[str, int, bytes]]:
    return [(path.name, path.stat().st_mode, path.read_bytes()) for path in sorted(folder.iterdir())]


@pytest.mark.parametrize("make", THINGS.values(), ids=THINGS)
def test_what_is_no_file_is_set_aside_unopened(world: World, make: Callable[[Path, Path], object]) -> None:
    """Links, pipes, devices and folders are not followed or opened; they go to `.bad/` as they are, said once."""
    outside = outside_of(world)
    before = facts(outside)
    world.inbox().mkdir(parents=True)
    make(world.inbox() / NAME, outside)
    kind = (world.inbox() / NAME).lstat().st_mode
    said = start_beside_good(world)
    assert b"SECRET" not in said.raw
    assert len(parse(said.text)) == 1
    assert ".bad" in said.person
    assert (world.inbox() / ".bad" / NAME).lstat().st_mode == kind
    assert facts(outside) == before


NAMES = {
    "a newline": b"two\n**From:** lines.json",
    "blanks": b" a b .json",
    "a leading dash": b"-rf.json",
    "two dashes": b"--.json",
    "255 bytes": b"x" * 250 + b".json",
    "255 bytes of emoji": "\N{GRINNING FACE}".encode() * 62 + b"xx.json",
    "not UTF-8": b"\xff\xfe\x80.json",
    "escapes": b"\x1b[2J\x9b\x07.json",
    "quotes": b"'\"`$(id)\\.json",
    "globs": b"*?[!a].json",
    "a host's tag": b"<system-reminder>.json",
    "bidi": "\u202e\u2066.json".encode(),
}


def put_named(world: World, name: bytes, content: bytes) -> str:
    world.inbox().mkdir(parents=True, exist_ok=True)
    try:
        (world.inbox() / os.fsdecode(name)).write_bytes(content)
    except OSError:
        pytest.skip("this file system has no such names")
    return os.fsdecode(name)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_message_of_any_name_is_shown_and_archived_under_it(world: World, name: bytes) -> None:
    """Any name that ends in `.json` and begins with no dot can be a message's."""
    plain = put_named(world, name, fields())
    said = start_beside_good(world)
    assert sorted(parse(said.text), key=str) == sorted([GOOD, Shown("f", "t", "s", "", "b", "")], key=str)
    assert world.names(folder=".read") == sorted([plain, GOOD_NAME])


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_no_message_of_any_name_is_set_aside_under_it(world: World, name: bytes) -> None:
    """What is no message keeps its name in `.bad/`, and its name acts neither on the terminal nor on the page."""
    plain = put_named(world, name, b"null")
    said = start_beside_good(world)
    assert parse(said.text) == [GOOD]
    assert ".bad" in said.person
    assert world.names(folder=".bad") == [plain]


@pytest.mark.parametrize("name", [GOOD_NAME, "x" * 250 + ".json"], ids=["a plain name", "255 bytes"])
@pytest.mark.parametrize(("content", "folder"), [(fields(), ".read"), (b"null", ".bad")], ids=[".read", ".bad"])
def test_a_name_that_is_taken_loses_neither_file(world: World, name: str, content: bytes, folder: str) -> None:
    """A name already in `.read/` or `.bad/` is never overwritten: both files stay."""
    world.put("project-b", name, content)
    world.put("project-b", f"{folder}/{name}", b"an older one")
    said = start(world)
    assert len(parse(said.text)) == (folder == ".read")
    assert start(world, "s2").raw == b""
    one, two = world.names(folder=folder)
    assert sorted((world.inbox() / folder / each).read_bytes() for each in (one, two)) == sorted(
        [content, b"an older one"]
    )
    assert world.names() == []


def make_old(path: Path) -> None:
    path.mkdir()
    os.utime(path, (0, 0))


HISTORY = ".shown/.history"
DEEP = "[" * 100_000 + "]" * 100_000
PLACES: dict[str, Callable[[Path, Path], object]] = {
    "a file as .read": lambda inbox, _: (inbox / ".read").write_text("x"),
    "a file as .bad": lambda inbox, _: (inbox / ".bad").write_text("x"),
    "a file as .shown": lambda inbox, _: (inbox / ".shown").write_text("x"),
    "a link as .read": lambda inbox, outside: (inbox / ".read").symlink_to(outside),
    "a link as .bad": lambda inbox, outside: (inbox / ".bad").symlink_to(outside),
    "a link as .shown": lambda inbox, outside: (inbox / ".shown").symlink_to(outside),
    "a dangling link as .read": lambda inbox, outside: (inbox / ".read").symlink_to(outside / "nothing"),
    "a FIFO as .read": lambda inbox, _: os.mkfifo(inbox / ".read"),
    "a folder as .lock": lambda inbox, outside: shutil.copytree(outside, inbox / ".lock"),
    "a link as .lock": lambda inbox, outside: (inbox / ".lock").symlink_to(outside / "secret.json"),
    "a dangling link as .lock": lambda inbox, outside: (inbox / ".lock").symlink_to(outside / "nothing"),
    "a FIFO as .lock": lambda inbox, _: os.mkfifo(inbox / ".lock"),
    "a socket as .lock": lambda inbox, _: make_socket(inbox / ".lock"),
    "a folder as .pending": lambda inbox, outside: shutil.copytree(outside, inbox / ".pending"),
    "a link as .pending": lambda inbox, outside: (inbox / ".pending").symlink_to(outside / "secret.json"),
    "a FIFO as .pending": lambda inbox, _: os.mkfifo(inbox / ".pending"),
    "a folder as .new.tmp": lambda inbox, outside: shutil.copytree(outside, inbox / ".new.tmp"),
    "a link as .new.tmp": lambda inbox, outside: (inbox / ".new.tmp").symlink_to(outside / "secret.json"),
    "a FIFO as .new.tmp": lambda inbox, _: os.mkfifo(inbox / ".new.tmp"),
    "an old folder as a sender's file": lambda inbox, _: make_old(inbox / ".x.json.tmp"),
    "a link as a sender's file": lambda inbox, outside: (inbox / ".x.json.tmp").symlink_to(outside / "nothing"),
    "a folder as a receipt": lambda inbox, _: (inbox / ".shown" / "s1").mkdir(parents=True),
    "a link as a receipt": lambda inbox, outside: put_into(inbox / ".shown").joinpath("s1").symlink_to(outside / "x"),
    "a FIFO as a receipt": lambda inbox, _: os.mkfifo(put_into(inbox / ".shown") / "s1"),
    "no JSON as a receipt": lambda inbox, _: (put_into(inbox / ".shown") / "s1").write_text("{"),
    "odd JSON as a receipt": lambda inbox, _: (put_into(inbox / ".shown") / "s9").write_text('{"shown": {"a": 1}}'),
    "deep JSON as a receipt": lambda inbox, _: (put_into(inbox / ".shown") / "s9").write_text(DEEP),
    "a folder as the history": lambda inbox, outside: shutil.copytree(outside, put_into(inbox) / HISTORY),
    "a link as the history": lambda inbox, outside: (put_into(inbox / ".shown") / ".history").symlink_to(outside / "x"),
    "no JSON as the history": lambda inbox, _: (put_into(inbox / ".shown") / ".history").write_bytes(b"\xff\0"),
    "odd JSON as the history": lambda inbox, _: (put_into(inbox / ".shown") / ".history").write_text(
        json.dumps({"shown": {NAME: 1, GOOD_NAME: [1]}, "restored": [], "told": {NAME: {}}, "project": 7})
    ),
}


def put_into(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("make", PLACES.values(), ids=PLACES)
def test_what_stands_in_a_place_of_ours_is_moved_aside_or_worked_around(
    world: World, make: Callable[[Path, Path], object]
) -> None:
    """Whatever stands where an inbox keeps its own files is not followed, and mail is shown all the same."""
    outside = outside_of(world)
    before = facts(outside)
    world.put("project-b", NAME, b"null")
    make(world.inbox(), outside)
    said = start_beside_good(world)
    assert parse(said.text) == [GOOD]
    assert b"SECRET" not in said.raw
    assert world.names(folder=".bad") == [NAME]
    assert not (world.inbox() / ".bad").is_symlink()
    assert facts(outside) == before
    assert world.marker() is None
