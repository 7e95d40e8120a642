"""`a2a-send --reply ID`: recipient and subject come from a message of one's own inbox."""

from __future__ import annotations

import json

import pytest

from tests.kit import SEND, World
from tests.test_send import only, sentence, waiting


def put(world: World, id_: str, content: bytes | None = None, **fields: object) -> None:
    """Write a message into the replier's own inbox as a foreign tool would."""
    fields = {"from": "project-b", "subject": "The API", "body": "?", **fields}
    world.put("project-a", f"2026-05-29T15-45-28Z-{id_}.json", content, **fields)


def test_a_reply_goes_to_the_sender_with_his_subject(world: World) -> None:
    """`--reply` with the beginning of an id that waits answers its sender as `re: subject`."""
    id_ = world.send("project-a", "question", "Bumped the API", at="project-b")
    done = world.run(SEND, "--reply", id_[:-1], "answer")
    assert done.returncode == 0, done.stderr
    message = only(world)
    assert (message["from"], message["to"]) == ("project-a", "project-b")
    assert (message["subject"], message["body"]) == ("re: Bumped the API", "answer")
    assert world.names("project-a") != []  # answering does not archive it


def test_a_reply_to_a_read_message_works_alike(world: World) -> None:
    """After the drain the same id, as it stands on the page's command, is still found; so is the whole file name."""
    id_ = world.send("project-a", "question", "S", at="project-b")
    world.drain(at="project-a")
    (name,) = world.names("project-a", ".read")
    assert world.run(SEND, f"--reply={id_}", "one").returncode == 0
    assert world.run(SEND, "--reply", name, "--subject", "Mine", input=b"two").returncode == 0
    assert [(message["subject"], message["body"]) for message in waiting(world)] == [("re: S", "one"), ("Mine", "two")]


@pytest.mark.parametrize(
    ("subject", "answer"),
    [
        ("re: S", "re: S"), ("Re: S", "Re: S"), ("RE:S", "RE:S"), ("regarding", "re: regarding"), ("", "re:"),
        ("what (none) means", "re: what (none) means"), ("caf\u00e9\n2", "re: caf\u00e9\n2"),
    ],
)  # fmt: skip
def test_a_thread_is_a_subject_that_starts_with_re(world: World, subject: str, answer: str) -> None:
    """`re:` is put before a subject once."""
    put(world, "1", subject=subject)
    assert world.run(SEND, "--reply", "1", "x").returncode == 0
    assert only(world)["subject"] == answer


def test_an_id_that_names_several_or_none_sends_nothing(world: World) -> None:
    """An ambiguous beginning, an unknown one, an empty one, or one of a stranger's mail: one sentence, nothing sent."""
    put(world, "abc-1")
    put(world, "abc-2")
    world.put("project-c", "2026-05-29T15-45-28Z-theirs.json", b'{"from": "project-b", "body": "x"}')
    said = sentence(world.run(SEND, "--reply", "abc", "x"), 1)
    assert "abc-1" in said and "abc-2" in said
    assert "'theirs'" in sentence(world.run(SEND, "--reply", "theirs", "x"), 1)
    for words in (["--reply", ""], ["--reply="]):
        done = world.run(SEND, *words, "x", input=b"a body\n")
        sentence(done, done.returncode)
        assert done.returncode in (1, 2)
    assert sorted(path.name for path in world.root.iterdir()) == ["project-a", "project-c"]
    assert world.run(SEND, "--reply", "abc-2", "x").returncode == 0


def test_a_whole_id_is_not_ambiguous(world: World) -> None:
    """The whole of an id names its message also when another id goes on from there."""
    put(world, "abc", subject="this one")
    put(world, "abc-2", subject="another")
    assert world.run(SEND, "--reply", "abc", "x").returncode == 0
    assert only(world)["subject"] == "re: this one"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"null", b'{"from": "proj', json.dumps({"body": "nobody sent this"}).encode(),
        json.dumps({"from": "../../etc", "body": "x"}).encode(), json.dumps({"from": "a\nb", "body": "x"}).encode(),
        json.dumps({"from": "", "body": "x"}).encode(), json.dumps({"from": None, "body": "x"}).encode(),
        json.dumps({"from": "b", "body": "x" * 3_000_000}).encode()[:-9],
    ],
    ids=["empty", "null", "cut", "no sender", "a path", "two lines", "an empty sender", "a null sender", "3 MB, cut"],
)  # fmt: skip
def test_what_has_no_sender_cannot_be_answered(world: World, content: bytes) -> None:
    """A file that is no message, or whose sender is no agent, is one sentence, exit 1, and nothing is sent."""
    put(world, "1", content)
    sentence(world.run(SEND, "--reply", "1", "x"), 1)
    assert [path.name for path in world.root.iterdir()] == ["project-a"]


def test_a_large_message_can_be_answered(world: World) -> None:
    """What is too large to be sent can still be answered, for a foreign tool may have written it."""
    put(world, "1", body="x" * 3_000_000)
    assert world.run(SEND, "--reply", "1", "too long").returncode == 0
    assert only(world)["subject"] == "re: The API"
