"""The marker `.pending`: there exactly while mail waits, one line of JSON that tells the truth."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from a2a_watch.inbox import Inbox
from tests.kit import SEND, World, parse
from tests.rights import tree
from tests.test_cli import WATCH
from tests.test_order import NOON, send_at


def marker_file(world: World, agent: str = "project-b") -> Path:
    return world.inbox(agent) / ".pending"


def state(world: World) -> tuple[int, int, bytes]:
    """Return what changes when the marker is written again."""
    facts = marker_file(world).stat()
    return facts.st_ino, facts.st_mtime_ns, marker_file(world).read_bytes()


def assert_true(world: World, agent: str = "project-b") -> dict[str, Any] | None:
    """Compare the marker with the folder, as a reader who trusts only the folder would; return it."""
    names, marker = world.names(agent), world.marker(agent)
    assert not list(world.inbox(agent).glob(".*.tmp"))
    if not names:
        assert marker is None
        return None
    assert marker is not None
    raw = marker_file(world, agent).read_bytes()
    assert raw.endswith(b"\n") and raw.count(b"\n") == 1 and b"\x1b" not in raw
    waiting = [json.loads((world.inbox(agent) / name).read_text()) for name in names]
    assert list(marker) == ["agent", "count", "oldest", "newest", "from", "subject", "updated"]
    expected = {"agent": agent, "count": len(names), "oldest": names[0], "newest": names[-1]}
    assert {key: marker[key] for key in expected} == expected
    assert sorted(marker["from"]) == sorted({message["from"] for message in waiting})
    assert marker["subject"] == waiting[-1]["subject"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", marker["updated"])
    return marker


def test_a_send_makes_it_and_keeps_it_true(world: World) -> None:
    """After each send it has the count, the oldest and newest name, all senders and the newest subject."""
    assert_true(world)
    marker = None
    for number, sender in enumerate(["project-a", "project-b", "project-a", "caf\u00e9"]):
        env = {"CLAUDE_AGENT_ID": sender}
        assert world.run(SEND, "project-b", "x", "--subject", f"S{number} \N{PARTY POPPER}", env=env).returncode == 0
        marker = assert_true(world)
        assert marker and marker["count"] == number + 1
    assert marker and marker["from"] == ["caf\u00e9", "project-a", "project-b"]  # whoever wrote last comes first
    assert marker_file(world).stat().st_mode & 0o777 == 0o600


def test_several_recipients_have_one_each(world: World) -> None:
    """A message for two agents makes two markers."""
    world.send("project-b,c", "x", "S")
    assert assert_true(world) and assert_true(world, "c")


def test_a_drain_removes_it(world: World) -> None:
    """When a drain, by hand or in a session, leaves nothing waiting, there is no marker."""
    for drain in (world.drain, world.hook):
        world.send("project-b", "x", "S")
        assert drain().text
        assert not marker_file(world).exists()


def test_a_drain_that_leaves_mail_leaves_it_true(world: World) -> None:
    """What did not fit the page is what the marker then speaks of."""
    world.put_many("project-b", [f"{number} " + "x" * 1000 for number in range(40)])
    counts = []
    while world.names():
        world.hook(session="s1")
        marker = assert_true(world)
        counts.append(marker["count"] if marker else 0)
    assert len(counts) > 2 and counts == sorted(counts, reverse=True) and counts[-1] == 0


def test_what_goes_back_is_marked_again(world: World) -> None:
    """A session that ends without a Stop, or whose process is gone, gives its mail back and the marker with it."""
    world.send("project-b", "x", "S")
    assert world.hook().text
    assert assert_true(world) is None
    world.hook("SessionEnd")
    assert assert_true(world)
    gone = subprocess.Popen(["sleep", "600"])
    assert world.hook(session="s2", pid=gone.pid).text
    assert assert_true(world) is None
    gone.kill()
    gone.wait()
    # The next start shows it at once, so nothing waits; the marker has nothing to say in between.
    assert [message.body for message in parse(world.hook(session="s3").text)] == ["x"]
    assert assert_true(world) is None
    world.hook("Stop", session="s3")
    assert assert_true(world) is None


def test_restored_mail_is_marked_again(world: World) -> None:
    """`restore` makes the marker again, and the drain after it takes it away."""
    id_ = world.send("project-b", "x", "S")
    world.drain()
    assert world.run(WATCH, "restore", id_).returncode == 0
    assert assert_true(world)
    world.drain()
    assert assert_true(world) is None


def test_a_drain_tells_what_foreign_writers_did(world: World) -> None:
    """Mail that came without a marker, mail that is gone and files that are none: the next drain puts it right."""
    world.put_many("project-b", ["x" * 9000, "y" * 9000])
    assert not marker_file(world).exists()
    world.hook()
    marker = assert_true(world)
    assert marker and marker["count"] == 1
    for name in world.names():
        (world.inbox() / name).unlink()
    assert marker_file(world).exists()
    world.hook("Stop")
    assert assert_true(world) is None
    world.put("project-b", "no-message.json", b"null")
    world.hook(session="s2")
    assert assert_true(world) is None


def test_only_what_counts_is_counted(world: World) -> None:
    """Dot files, other suffixes, folders and links are no mail; neither is what lies in `.read/` and `.bad/`."""
    world.send("project-b", "x", "S")
    for name in (".hidden.json", "notes.txt", ".read/a.json", ".bad/b.json"):
        world.put("project-b", name, b"{}")
    (world.inbox() / "folder.json").mkdir()
    (world.inbox() / "link.json").symlink_to("notes.txt")
    os.mkfifo(world.inbox() / "pipe.json")
    assert Inbox(str(world.root), "project-b").refresh_marker(time.time())
    marker = world.marker()
    assert marker and marker["count"] == 1 and marker["newest"] == marker["oldest"]


@pytest.mark.parametrize("subject", ["S", "", '\N{PARTY POPPER} \x1b[2J "quoted" \\ \n x', "x" * 5000])
def test_it_is_written_again_only_when_something_changed(world: World, subject: str) -> None:
    """Whoever looks again and finds the same leaves the file as it is, for each change wakes somebody."""
    world.send("project-b", "x", subject)
    before = state(world)
    inbox = Inbox(str(world.root), "project-b")
    for later in (0, 3600):
        assert inbox.refresh_marker(time.time() + later)
    assert inbox.confirm("s1", time.time() + 3600)
    world.hook("Stop")
    world.hook("SessionEnd")
    assert state(world) == before
    world.send("project-b", "y", subject)
    assert state(world)[2] != before[2]


def test_it_is_replaced_in_one_step(world: World) -> None:
    """A reader who has it open keeps the whole old line; the new one is another file under the same name."""
    world.send("project-b", "x", "first")
    before = state(world)
    with marker_file(world).open("rb") as reader:
        world.send("project-b", "y", "second")
        assert reader.read() == before[2]
    after = state(world)
    assert after[0] != before[0]
    assert json.loads(after[2])["subject"] == "second"


def test_hostile_mail_makes_a_tame_marker(world: World) -> None:
    """Escapes, newlines and lengths in subjects and senders stay inside one short line of plain JSON."""
    odd = '\x1b[2J\n\u202e\u0085\ud800"\\' + "x" * 100_000
    for number in range(60):
        text = json.dumps({"from": f"{number}{odd}", "subject": odd}).encode()
        world.put("project-b", f"2026-05-29T15-45-28Z-{number:02}\n\x1b.json", text)
    world.put("project-b", "2026-05-29T15-45-29Z-no-message.json", b"\xff\0")
    assert Inbox(str(world.root), "project-b").refresh_marker(time.time())
    raw = marker_file(world).read_bytes()
    assert raw.count(b"\n") == 1 and len(raw) < 20_000
    assert not [
        char for char in raw.decode() if char != "\n" and (char < " " or "\x7f" <= char < "\xa0" or char == "\u202e")
    ]
    marker = json.loads(raw)
    assert marker["count"] == 61


def test_the_marker_of_a_message_that_was_sent_before_a_failure_is_true(world: World) -> None:
    """When the second of two messages cannot be published, the first is said to be sent, and its marker is there."""
    # A rehearsal elsewhere, with the same clock and dice, tells the name that the second message will have.
    words = ("same", "project-b,c", "x")
    assert send_at(world, NOON, *words, A2A_INBOX=str(world.base / "rehearsal")).returncode == 0
    (taken,) = (path.name for path in (world.base / "rehearsal" / "c").glob("*.json"))
    world.put("c", taken, b"{}")
    before = tree(world.inbox("c"))
    done = send_at(world, NOON, *words)
    assert done.returncode == 1
    assert done.stdout.startswith(b"sent: project-a -> project-b (") and done.stdout.count(b"\n") == 1
    assert b"sent to project-b before that" in done.stderr
    assert tree(world.inbox("c")) == before
    assert assert_true(world)
