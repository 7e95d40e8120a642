"""Hostile places: links, pipes, folders, odd names and missing rights in an inbox, and the good mail among them."""

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

from tests.hostile import GOOD, GOOD_NAME, NAME, another_user, fields, is_calm, put_good, start, start_beside_good
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


def put_bytes(world: World, name: bytes, content: bytes) -> None:
    world.inbox().mkdir(parents=True, exist_ok=True)
    try:
        Path(os.path.join(os.fsencode(world.inbox()), name).decode("utf-8", "surrogateescape")).write_bytes(content)
    except OSError:
        pytest.skip("this file system has no such names")


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_message_of_any_name_is_shown_and_archived_under_it(world: World, name: bytes) -> None:
    """Any name that ends in `.json` and begins with no dot can be a message's."""
    put_bytes(world, name, fields())
    said = start_beside_good(world)
    assert sorted(parse(said.text), key=str) == sorted([GOOD, Shown("f", "t", "s", "", "b", "")], key=str)
    assert os.fsdecode(name) in world.names(folder=".read")
