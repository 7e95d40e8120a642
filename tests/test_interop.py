"""Mail between these programs and the shell lines that people write by hand: either end understands the other."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from a2a_watch.message import FIELDS
from tests.kit import REPO, Shown, World, parse

SHELL_SEND = REPO / "tests" / "shell" / "send"
SHELL_DRAIN = REPO / "tests" / "shell" / "drain"

NAME = re.compile(r"\d{4}(-\d\d){2}T\d\d(-\d\d){2}Z-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json", re.IGNORECASE)

pytestmark = pytest.mark.skipif(not shutil.which("jq"), reason="the shell programs need jq")

BODIES = {
    "plain": "When you get this: pull the shared config and re-run your build.",
    "lines": "one\n\n  two\n\tthree",
    "shell": 'it\'s "$HOME" `id` $(id) \\n \\\\ %s !x *',
    "JSON": '{"from": "me"}',
    "other alphabets": "caf\u00e9 \u6f22\u5b57 \N{PARTY POPPER}",
    "a rule": "x\n---\ny",
}


def shell_send(world: World, sender: str, to: str, subject: str, body: str) -> str:
    done = world.run(SHELL_SEND, sender, to, subject, body)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip()


def shell_drain(world: World, agent: str) -> str:
    done = world.run(SHELL_DRAIN, agent)
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout.decode()


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_hand_written_sender_is_shown_by_the_drain(world: World, body: str) -> None:
    """A note from the shell sender opens the session, is archived by its Stop, and is shown once."""
    shell_send(world, "by-hand", "project-b", "Bumped \u2709", body)
    (name,) = world.names()
    said = world.hook()
    assert parse(said.text) == [Shown("by-hand", name[:20], "Bumped \u2709", "", body, "")]
    assert "by-hand (Bumped \u2709)" in said.person
    world.hook("Stop")
    assert world.hook("SessionStart", "s2").raw == b""
    assert world.names(folder=".read") == [name]
    assert set(json.loads((world.inbox() / ".read" / name).read_text())) == set(FIELDS)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_note_of_ours_is_shown_by_a_hand_written_drain(world: World, body: str) -> None:
    """The shell drain prints our six fields as they were sent, and archives the file."""
    world.send("project-b", body, "Bumped \u2709")
    (name,) = world.names()
    assert shell_drain(world, "project-b") == (
        f"**From:** project-a\n**At:** {name[:20]}\n**Subject:** Bumped \u2709\n\n{body}\n----\n"
    )
    assert world.names(folder=".read") == [name]
    assert world.drain().raw == b""


def test_ours_has_exactly_the_fields_of_theirs(world: World) -> None:
    """`jq` sees the same six keys, all text, in a message of ours and in one made by hand."""
    shell_send(world, "by-hand", "project-b", "S", "B")
    world.send("project-b", "B", "S")
    seen = [
        subprocess.run(
            ["jq", "-c", "[to_entries[] | [.key, (.value | type)]] | sort", str(path)], stdout=-1, check=False
        )
        for path in sorted(world.inbox().glob("*.json"))
    ]
    six = [[key, "string"] for key in sorted(FIELDS)]
    assert [json.loads(done.stdout) for done in seen] == [six, six]


def test_both_senders_make_names_of_one_form_and_one_order(world: World) -> None:
    """`<time>-<id>.json` from both, time and id being the message's own; both drains keep that order."""
    for number in range(3):
        shell_send(world, "by-hand", "project-b", "S", f"theirs {number}")
        world.send("project-b", f"ours {number}", "S")
    for name in world.names():
        message = json.loads((world.inbox() / name).read_text())
        assert name == f"{message['timestamp']}-{message['id']}.json"
        assert NAME.fullmatch(name), name
    in_order = [json.loads((world.inbox() / name).read_text())["body"] for name in world.names()]
    shown = [message.body for message in parse(world.hook(session="s1").text)]
    assert shown == in_order
    assert world.hook("SessionEnd").raw == b""  # it goes back, for the other reader
    lines = shell_drain(world, "project-b").splitlines()
    assert [line for line in lines if line.startswith(("ours", "theirs"))] == in_order


def test_a_hand_written_drain_beside_the_hook_repeats_and_loses_nothing(world: World) -> None:
    """What the shell drain took is not shown again, what the hook took is not there for the shell drain."""
    world.send("project-b", "first", "S")
    shell_drain(world, "project-b")
    world.send("project-b", "second", "S")
    assert [message.body for message in parse(world.hook().text)] == ["second"]
    assert shell_drain(world, "project-b") == ""
    world.hook("SessionEnd")
    assert "second" in shell_drain(world, "project-b")
    assert world.hook("SessionStart", "s2").raw == b""
    assert len(world.names(folder=".read")) == 2


def test_a_reply_by_hand_and_back(world: World) -> None:
    """A thread crosses both tools: ours, a shell reply, and an answer to that reply by its id."""
    world.send("project-b", "question", "The API")
    shell_drain(world, "project-b")
    id_ = shell_send(world, "project-b", "project-a", "re: The API", "answer")
    assert [message.subject for message in parse(world.drain(at="project-a").text)] == ["re: The API"]
    done = world.run(REPO / "bin" / "a2a-send", "--reply", id_[:8], "thanks")
    assert done.returncode == 0, done.stderr
    assert "**Subject:** re: The API\n\nthanks\n" in shell_drain(world, "project-b")
