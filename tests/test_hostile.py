"""Hostile files: whatever stands in a file, the good mail beside it is shown and the session is not disturbed."""

from __future__ import annotations

import os

import pytest

from tests.hostile import GOOD, GOOD_NAME, NAME, fields, is_calm, put_good, start, start_beside_good
from tests.kit import Shown, World, parse

AGED_SECONDS = 11  # a file that ends early may be unfinished for ten

NO_MESSAGES = {
    "NULs": b"\0" * 4096,
    "an array": b'[{"from": "x", "body": "y"}]',
    "null": b"null",
    "a string": b'"text"',
    "a number": b"7",
    "plain text": b"hello, this is no JSON",
    "two objects": b'{"body": "one"}\n{"body": "two, and no list of them"}\n',
    "single quotes": b"{'body': 'that is Python, and it goes on for a while'}",
    "100,000 nested brackets": b"[" * 100_000 + b"]" * 100_000,
    "100,000 nested brackets in a field": b'{"body": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "100,000 nested objects": b'{"body":' * 100_000 + b"1" + b"}" * 100_000,
    "5 MB that are no JSON": b"x" * 5_000_000,
    "random bytes": bytes(range(256)) * 16,
}


@pytest.mark.parametrize("content", NO_MESSAGES.values(), ids=NO_MESSAGES)
def test_a_file_that_is_no_message_is_set_aside_and_said_so_once(world: World, content: bytes) -> None:
    """What cannot be read as a message goes to `.bad/` as it is, with one line for the person, once."""
    world.put("project-b", NAME, content)
    said = start_beside_good(world)
    assert len(parse(said.text)) == 1
    assert ".bad" in said.person
    assert world.names() == []
    assert (world.inbox() / ".bad" / NAME).read_bytes() == content


UNFINISHED = {
    "empty": b"",
    "blanks": b" \n",
    "a truncated string": b'{"from": "x", "body": "hal',
    "truncated in a character": '{"body": "\u00fc'.encode()[:-1],
    "truncated in an escape": b'{"body": "\\ud8',
    "truncated between fields": b'{"from": "x",',
    "truncated in a word": b'{"from": nul',
    "one brace": b"{",
}


@pytest.mark.parametrize("content", UNFINISHED.values(), ids=UNFINISHED)
def test_a_file_that_ends_early_gets_ten_seconds_to_be_finished(world: World, content: bytes) -> None:
    """A fresh file that ends early stays pending and unmentioned; an old one is set aside and said so once."""
    path = world.put("project-b", NAME, content)
    said = start_beside_good(world)
    assert len(parse(said.text)) == 1
    assert ".bad" not in said.person
    assert (world.names(), world.names(folder=".bad")) == ([NAME], [])
    aged = path.stat().st_mtime - AGED_SECONDS
    os.utime(path, (aged, aged))
    said = start(world, "s3")
    assert said.text == ""
    assert ".bad" in said.person
    assert (world.names(), world.names(folder=".bad")) == ([], [NAME])
    assert start(world, "s4").raw == b""


NESTED = '[1,{"a":null,"b":[2.5,"x"]}]'
ODD_MESSAGES = {
    "no fields": (b"{}", Shown("(none)", "(none)", "(none)", "", "(none)", "")),
    "numbers as fields": (
        b'{"from": 7, "timestamp": 1.50, "subject": -0, "body": 1e400}',
        Shown("7", "1.50", "-0", "", "1e400", ""),
    ),
    "other fields": (
        b'{"from": null, "timestamp": true, "subject": {}, "body": %s}' % NESTED.encode(),
        Shown("(none)", "true", "{}", "", NESTED, ""),
    ),
    "a BOM": (b"\xef\xbb\xbf" + fields(), Shown("f", "t", "s", "", "b", "")),
    "UTF-16": (fields().decode().encode("utf-16"), Shown("f", "t", "s", "", "b", "")),
    "Latin-1": (fields(body="X").replace(b"X", b"gr\xfc\xdfe"), Shown("f", "t", "s", "", "gr\xfc\xdfe", "")),
    "lone surrogates": (
        fields(subject="\ud800", body="\udfff x \ude00\ud83d"),
        Shown("f", "t", "\\ud800", "", "\\udfff x \\ude00\\ud83d", ""),
    ),
    "surrogates as bytes": (fields(body="X").replace(b"X", b"\xed\xa0\x80"), Shown("f", "t", "s", "", "\\ud800", "")),
    "raw newlines": (
        fields(body="X").replace(b"X", b"one\ntwo\r\nthree"),
        Shown("f", "t", "s", "", "one\ntwo\nthree", ""),
    ),
    "raw control bytes": (
        fields(body="X").replace(b"X", b"a\0b\x1b[2J"),
        Shown("f", "t", "s", "", "a\\x00b\\x1b[2J", ""),
    ),
    "a 6,000-digit number": (fields(body="X").replace(b'"X"', b"7" * 6000), Shown("f", "t", "s", "", "7" * 6000, "")),
    "duplicate keys": (b'{"body": "one", "from": "f", "body": "two"}', Shown("f", "(none)", "(none)", "", "two", "")),
    "unknown fields": (fields(priority=9, **{"": "", "x\ny": []}), Shown("f", "t", "s", "", "b", "")),
}


@pytest.mark.parametrize(("content", "shown"), ODD_MESSAGES.values(), ids=ODD_MESSAGES)
def test_an_odd_message_is_a_message(world: World, content: bytes, shown: Shown) -> None:
    """An object with odd fields is shown, absent ones as `(none)`, others as compact JSON, and archived as it is."""
    world.put("project-b", NAME, content)
    said = start_beside_good(world)
    assert parse(said.text) == [shown, GOOD]
    assert (world.inbox() / ".read" / NAME).read_bytes() == content


@pytest.mark.parametrize("size", [5_000_000, 9_000_000])
def test_a_huge_message_is_shown_as_its_header_and_its_path(world: World, size: int) -> None:
    """Of a message over 1 MiB the page names the place, and it is archived there."""
    world.put("project-b", NAME, fields(body="x" * size))
    said = start_beside_good(world)
    huge, good = parse(said.text)
    assert good == GOOD
    assert huge.body == ""
    assert f"~/.claude/inbox/project-b/.read/{NAME}" in huge.cut
    assert world.names(folder=".read") == [NAME, GOOD_NAME]


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "never closed"])
def test_no_depth_of_nesting_stops_a_drain(world: World, closed: bool) -> None:
    """Whether a depth can be parsed, and whether it can be printed again, each file is shown or set aside."""
    names = [f"2026-05-29T15-45-20Z-{depth:04d}.json" for depth in range(880, 1010)]
    for depth, name in enumerate(names, 880):
        path = world.put("project-b", name, b'{"body": "b", "from": ' + b"[" * depth + (b"]" * depth + b"}") * closed)
        os.utime(path, (0, 0))
    put_good(world)
    shown: list[Shown] = []
    while before := world.names():
        said = world.hook("UserPromptSubmit")
        assert is_calm(said), said
        shown += parse(said.text)
        assert len(world.names()) < len(before)
    assert shown[-1] == GOOD
    set_aside = world.names(folder=".bad")
    assert sorted(world.names(folder=".read") + set_aside) == [*names, GOOD_NAME]
    assert len(shown) + len(set_aside) == len(names) + 1
    assert closed or len(set_aside) == len(names)
