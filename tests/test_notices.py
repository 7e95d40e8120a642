"""Notifications on a real session bus: shown once, the text exact, taken down when the mail was read."""

from __future__ import annotations

import html
import json
import random
import signal
import time
from pathlib import Path

import pytest

from tests.desktop import Bus, Desk, Dunst
from tests.kit import World
from tests.test_cli import WATCH
from tests.watching import note, pace, until, watching

LONG = "x" * 500
EMOJI = "\N{PARTY POPPER} family \U0001f468\u200d\U0001f469\u200d\U0001f467"
TEXTS = {
    "markup": ("a & b <b>bold</b> <img src=x> &amp; &lt;", "a & b <b>bold</b> <img src=x> &amp; &lt;"),
    "quotes": ("'single' \"double\" `back` $HOME \\n %s", "'single' \"double\" `back` $HOME \\n %s"),
    "emoji": (EMOJI, EMOJI),
    "right to left": ("שלום עולם", "שלום עולם"),
    "control": ("a\x1b[31mb\x00c\x07d\u202ee\x9bf", "a\\x1b[31mb\\x00c\\x07d\\u202ee\\x9bf"),
    "lone surrogate": ("a\ud800b", "a\\ud800b"),
    "line break": ("a\nb\tc", "a\\nb c"),
    "long": (LONG, "x" * 199 + "…"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def root(world: World) -> Path:
    world.root.mkdir(parents=True, mode=0o700)
    return world.root


@pytest.mark.parametrize("kind", TEXTS)
def test_the_text_is_exact(world: World, bus: Bus, desk: Desk, kind: str) -> None:
    """Whatever stands in a subject arrives as it is to be read; in the body nothing is left that could be markup."""
    given, expected = TEXTS[kind]
    with watching(world, notify=True, env=bus.env) as one:
        one.says("notifications: by desktop")
        world.put("project-b", "1.json", json.dumps({"from": "project-a", "subject": given, "body": given}).encode())
        ((title, body),) = desk.has_shown(1)
        assert title == f"project-a → project-b: {expected}"
        assert html.unescape(body) == ("a b c" if kind == "line break" else expected)
        assert "<" not in body
        assert one.stop() == 0


def test_a_person_sees_it(world: World, bus: Bus, dunst: Dunst) -> None:
    """On a real notification server each text is shown as it is, and is gone from the screen after the drain."""
    expected = []
    with watching(world, notify=True, env=bus.env) as one:
        for number, (given, _) in enumerate(TEXTS.values()):
            fields = {"from": "project-a", "subject": f"{number}", "body": given}
            world.put("project-b", f"{number}.json", json.dumps(fields).encode())
            one.says("shown: ", times=number + 1)
            expected.append(f"project-a → project-b: {number}")
        until(lambda: dunst.displayed() > 0, "something on the screen")
        assert "no notification" not in one.log
        assert world.drain().text
        until(lambda: dunst.displayed() == 0, "an empty screen")
        until(lambda: len(dunst.history()) == len(expected), "all taken down")
        assert sorted(title for title, _ in dunst.history()) == expected
        assert (
            "a &amp; b &lt;b&gt;bold&lt;/b&gt; &lt;img src=x&gt; &amp;amp; &amp;lt;" in dict(dunst.history()).values()
        )
        assert one.stop() == 0


def test_several_are_one(world: World, bus: Bus, desk: Desk) -> None:
    """A burst for one agent is one notice with senders and subjects below; for several agents it names them all."""
    world.inbox().mkdir()
    with watching(world, notify=True, env=bus.env) as one:
        one.says("notifications: by desktop")
        for number in range(3):
            note(world, name=f"n{number}", subject=f"S{number} & more", sender="project-a")
        assert desk.has_shown(1) == [
            ("3 new for project-b", "\n".join(f"project-a: S{number} &amp; more" for number in range(3)))
        ]
        for agent in ("a", "b", "c", "d", "e"):
            note(world, agent, subject=f"for {agent}")
            note(world, agent, "more", subject=f"more for {agent}")
        title, body = desk.has_shown(2)[1]
        assert title.startswith("10 new for ") and title.endswith(" and 2 more")
        assert len(body.splitlines()) == 6 and body.endswith("\n… and 5 more")
        assert all("a-script → " in line for line in body.splitlines()[:5])
        assert one.stop() == 0


def test_it_is_taken_down_when_the_session_has_read_the_mail(world: World, bus: Bus, desk: Desk) -> None:
    """A notice goes with the last of its mail, by a drain of ours or by anybody, and not before."""
    with watching(world, notify=True, env=bus.env) as one:
        one.says("notifications: by desktop")
        note(world, name="1"), note(world, name="2")
        note(world, "project-c")
        desk.has_shown(1)
        assert world.hook().text
        one.says("project-b: 0 waiting")
        note(world, "project-d")
        desk.has_shown(2)
        assert desk.up == 2, "project-c has not read"
        (world.inbox("project-c") / "note.json").unlink()
        until(lambda: desk.up == 1, "the first taken down")
        (world.inbox("project-d") / "note.json").unlink()
        until(lambda: desk.up == 0, "all taken down")
        assert one.stop() == 0


def test_the_same_mail_is_never_announced_twice(world: World, bus: Bus, desk: Desk) -> None:
    """Not after a restart, not after a kill, not when it was read and given back, not when it was restored."""
    id_ = world.send("project-b", "x", "once")
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
        with watching(world, notify=True, env=bus.env) as one:
            one.says("notifications: by desktop")
            until(lambda: "once" in " ".join(desk.titles))
            until(lambda: "last_notice" in (world.root / ".watcher").read_text())
            one.stop(number)
    with watching(world, notify=True, env=bus.env) as one:
        assert world.hook().text
        one.says("0 waiting, 1 before")
        world.hook("SessionEnd")
        one.says("1 waiting, 0 before", times=2)
        assert world.drain().text
        one.says("0 waiting, 1 before", times=2)
        assert world.run(WATCH, "restore", id_).returncode == 0
        one.says("1 waiting, 0 before", times=3)
        note(world, "project-c", subject="next")
        until(lambda: "next" in desk.titles[-1] if desk.titles else False)
        assert one.stop() == 0
    assert desk.titles == ["project-a → project-b: once", "a-script → project-c: next"]


def test_killed_at_any_moment_it_announces_nothing_twice(world: World, bus: Bus, desk: Desk) -> None:
    """Killed with SIGKILL at moments spread over its life, watchers in a row show each note at most once."""
    pick = random.Random(7)
    for number in range(8):
        with watching(world, notify=True, env=bus.env) as one:
            note(world, name=f"n{number}", subject=f"S{number}")
            pace(time.monotonic() + pick.random())
            one.process.kill()
    with watching(world, notify=True, env=bus.env) as one:
        note(world, "project-c", subject="the last")
        until(lambda: any("the last" in title + body for title, body in desk.shown))
        assert one.stop() == 0
    everything = " ".join(title + " " + body for title, body in desk.shown)
    for number in range(8):
        assert everything.count(f"S{number}") <= 1, desk.shown


def test_a_backlog_is_one_summary(world: World, bus: Bus, desk: Desk) -> None:
    """800 notes that wait when it starts are one notice."""
    for number in range(800):
        note(world, f"agent-{number % 4}", f"n{number}", subject=f"S{number}")
    with watching(world, notify=True, env=bus.env) as one:
        desk.has_shown(1)
        note(world, "project-c", subject="next")
        desk.has_shown(2)
        assert one.stop() == 0
    assert [title.split(" for ")[0] for title in desk.titles] == ["800 new", "a-script → project-c: next"]


def test_what_was_read_before_its_notice_is_not_announced(world: World, bus: Bus, desk: Desk) -> None:
    """Mail that a drain takes within the debounce raises nothing."""
    with watching(world, notify=True, env=bus.env) as one:
        one.says("notifications: by desktop")
        note(world, name="gone", subject="gone").unlink()
        note(world, "project-c", subject="next")
        desk.has_shown(1)
        assert one.stop() == 0
    assert desk.titles == ["a-script → project-c: next"]


def test_to_be_left_alone(world: World, bus: Bus, desk: Desk) -> None:
    """--quiet announces nothing of an agent, --no-preview says who wrote to whom only, --no-notify nothing at all."""
    with watching(world, "--no-preview", "--quiet", "project-b", "--quiet", "x", notify=True, env=bus.env) as one:
        one.says("notifications: by desktop")
        note(world, subject="secret"), note(world, "x", subject="secret")
        until(lambda: world.marker("x") and world.marker("project-b"))
        note(world, "project-c", subject="secret")
        desk.has_shown(1)
        note(world, "project-d", "1", subject="secret"), note(world, "project-d", "2", subject="secret")
        desk.has_shown(2)
        assert one.stop() == 0
    assert desk.shown == [("a-script → project-c", ""), ("2 new for project-d", "a-script")]
    assert "secret" not in one.log
    with watching(world, env=bus.env) as one:
        note(world, "project-e")
        until(lambda: world.marker("project-e"))
        assert one.stop() == 0
    assert len(desk.shown) == 2 and "notif" not in one.log


GARBAGE = [b"", b"{", b"[]", b"null", b'{"announced": 7}', b'{"announced": [7, null, {}], "since": {}}', b"\xff" * 100]


@pytest.mark.parametrize("content", [None, *GARBAGE])
def test_a_lost_memory_costs_one_summary(world: World, bus: Bus, desk: Desk, content: bytes | None) -> None:
    """Without its file, or with any garbage in it, what waits is announced once more in one notice, and that is all."""
    for number in range(3):
        note(world, name=f"n{number}")
    path = world.root / ".watcher"
    if content is not None:
        path.write_bytes(content)
    with watching(world, notify=True, env=bus.env) as one:
        desk.has_shown(1)
        one.says("shown: 3 new for project-b")
        assert one.stop() == 0
    with watching(world, notify=True, env=bus.env) as one:
        note(world, "project-c", subject="next")
        desk.has_shown(2)
        assert one.stop() == 0
    assert desk.titles == ["3 new for project-b", "a-script → project-c: next"]
    assert len(json.loads(path.read_text())["announced"]) == 4


def test_no_message_is_no_notice(world: World, bus: Bus, desk: Desk) -> None:
    """A file that is no message is not announced; a drain will set it aside."""
    with watching(world, notify=True, env=bus.env) as one:
        one.says("notifications: by desktop")
        world.put("project-b", "bad.json", b"no json at all")
        until(world.marker)
        note(world, "project-c", subject="next")
        desk.has_shown(1)
        assert one.stop() == 0
    assert desk.titles == ["a-script → project-c: next"]
