"""Streams: whatever the three standard streams are, the hook ends with 0, and mail that was not shown stays."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pytest

from tests.hostile import GOOD, GOOD_NAME, put_good
from tests.kit import HOOK, World, parse, said

ANSWER_SECONDS = 2  # the client's patience with a hook that reads an input which never ends
EVENT = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1"}
START = json.dumps(EVENT).encode()
PROMPT = {"hook_event_name": "UserPromptSubmit", "session_id": "s1"}


def client(world: World) -> dict[str, str]:
    """Return the variables that a hook has from the client."""
    return {
        "CLAUDE_PROJECT_DIR": str(world.base / "project-b"), "CLAUDE_CODE_SESSION_ID": "s1",
        "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_PID": str(os.getpid()),
    }  # fmt: skip


def hook(world: World, content: bytes | None = START, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the hook as the client does, with `content` on its standard input."""
    options["env"] = {**client(world), **options.get("env", {})}
    done = world.run(HOOK, "--receipts", at="project-b", input=content, **options)
    assert (done.returncode, done.stderr) == (0, b"")
    return done


def is_shown_later(world: World) -> bool:
    """Tell whether the good message still waits, and the next session has it in front of it, unmarked."""
    assert world.names() == [GOOD_NAME]
    return parse(world.hook(session="s2").text) == [GOOD]


INPUTS = {
    "nothing": b"",
    "no JSON": b"hello }",
    "no text": b"\xff\xfe\0\x80",
    "a JSON array": json.dumps([EVENT]).encode(),
    "a JSON string": b'"SessionStart"',
    "no fields": b"{}",
    "an event that is no name": b'{"hook_event_name": 7}',
    "half an event": START[:-5],
    "two events": START + b"\n" + START[:-1],
    "100,000 brackets": b'{"a":' * 100_000 + b"}" * 100_000,
}


@pytest.mark.parametrize("content", INPUTS.values(), ids=INPUTS)
def test_an_input_that_is_no_event_is_a_drain_by_hand(world: World, content: bytes) -> None:
    """Without an event on standard input the hook prints the page as plain text, which the client takes as well."""
    put_good(world)
    done = hook(world, content, timeout=30)
    assert parse(done.stdout.decode()) == [GOOD]
    assert world.names(folder=".read") == [GOOD_NAME]


HUGE = {
    "a prompt of 5 MB": {"prompt": "x" * 5_000_000},
    "a prompt of 5 MB of braces": {"prompt": "}" * 5_000_000},
    "a prompt of 3 MB of escapes": {"prompt": "\x1b" * 500_000},
}


@pytest.mark.parametrize("more", HUGE.values(), ids=HUGE)
def test_an_event_with_a_huge_prompt_is_answered(world: World, more: dict[str, str]) -> None:
    """A long prompt is part of a real event, and mail rides along with it."""
    put_good(world)
    done = hook(world, json.dumps({**more, **PROMPT}).encode(), timeout=30)
    assert parse(said(done).text) == [GOOD]


@pytest.mark.parametrize("content", [b"x" * 40_000_000, b'{"prompt": "' + b"x" * 40_000_000 + b'"}'])
def test_an_input_that_is_too_huge_loses_no_mail(world: World, content: bytes) -> None:
    """What is longer than any event is not read to its end; mail stays, or is shown."""
    put_good(world)
    done = hook(world, content, timeout=30)
    assert parse(done.stdout.decode()) == ([] if world.names() else [GOOD])
    assert world.names() == [] or is_shown_later(world)


@contextmanager
def never_closed(content: bytes) -> Iterator[IO[bytes]]:
    """Yield the reading end of a pipe that holds `content` and does not end."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as file, os.fdopen(writer, "wb", buffering=0) as keeper:
        keeper.write(content)
        yield file


def test_an_event_on_an_input_that_is_never_closed_is_answered(world: World) -> None:
    """What is a whole event needs no end of input."""
    put_good(world)
    with never_closed(START + b"\n") as file:
        done = hook(world, None, stdin=file, timeout=ANSWER_SECONDS)
    assert parse(said(done).text) == [GOOD]


@pytest.mark.parametrize("content", [b"", START[:-5]], ids=["silent", "half an event"])
def test_a_hook_whose_client_says_nothing_shows_nothing(world: World, content: bytes) -> None:
    """When the client does not say which event it is, the hook ends within two seconds, and the mail stays."""
    put_good(world)
    with never_closed(content) as file:
        assert hook(world, None, stdin=file, timeout=ANSWER_SECONDS).stdout == b""
    assert is_shown_later(world)


def test_a_drain_by_hand_does_not_wait_for_an_input_that_is_never_closed(world: World) -> None:
    """A pipe that stays silent is nobody: the drain by hand shows the mail within two seconds."""
    put_good(world)
    with never_closed(b"") as file:
        done = world.drain(input=None, stdin=file, timeout=ANSWER_SECONDS)
    assert parse(done.text) == [GOOD]
    assert (done.status, done.error, world.names()) == (0, "", [])


def redirected(world: World, redirection: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the hook's command behind a redirection of the shell."""
    script = f'exec "$0" "$@" {redirection}'
    return world.run("sh", "-c", script, HOOK, *arguments, at="project-b", timeout=30, **options)


def test_a_closed_input_is_a_drain_by_hand(world: World) -> None:
    """With standard input closed there is no event, and no file that is opened takes its place."""
    put_good(world)
    done = redirected(world, "<&-", "--receipts", env=client(world))
    assert (done.returncode, done.stderr) == (0, b"")
    assert parse(done.stdout.decode()) == [GOOD]


SPEECHLESS = [">&-", ">&- 2>&-", "<&- >&- 2>&-", "<&- >&-", ">/dev/full", ">/dev/full 2>&1", "1</dev/null"]


@pytest.mark.parametrize("by_hand", [False, True], ids=["a hook", "by hand"])
@pytest.mark.parametrize("redirection", SPEECHLESS)
def test_mail_that_cannot_be_printed_stays(world: World, redirection: str, by_hand: bool) -> None:
    """With standard output closed, full or not for writing nothing moves, and the mail is shown later, unmarked."""
    if "/dev/full" in redirection and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    put_good(world)
    arguments, env = ([], {}) if by_hand else (["--receipts"], client(world))
    done = redirected(world, redirection, *arguments, env=env, input=b"" if by_hand else START)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.count(b"\n") <= (by_hand or "<&-" in redirection)
    assert is_shown_later(world)


def into_pipe(world: World, read: Callable[[int], object]) -> int:
    """Run a drain by hand into a pipe whose reader calls `read` and leaves; return the exit status."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [HOOK], cwd=world.base / "project-b", env=world.env(), stdin=subprocess.DEVNULL, stdout=writer,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(writer)
    with suppress(OSError):
        read(reader)
    os.close(reader)
    return process.wait(timeout=30)


def test_mail_whose_reader_left_stays(world: World) -> None:
    """A pipe that nobody reads any more takes nothing: the mail is shown later, unmarked."""
    put_good(world)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as file:
        env = {**world.env(), **client(world)}
        done = subprocess.run(
            [HOOK, "--receipts"], env=env, cwd=world.base, input=START, stdout=file, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert is_shown_later(world)


def test_mail_whose_reader_left_half_way_stays_and_is_marked(world: World) -> None:
    """What was possibly shown is pending again, and says so when it is shown."""
    body = "x" * 900_000  # more than any pipe holds
    world.put("project-b", GOOD_NAME, body=body)
    assert into_pipe(world, lambda reader: os.read(reader, 1)) == 0
    assert world.names() == [GOOD_NAME]
    (shown,) = parse(world.drain().text)
    assert shown.body == body
    assert shown.mark.startswith("(may have been shown before, at ")


def test_mail_that_was_shown_to_this_session_survives_a_page_that_was_not(world: World) -> None:
    """A page that cannot be printed takes nothing from what the session's receipt already holds."""
    world.put("project-b", "1.json", body="one")
    world.hook()
    put_good(world)
    redirected(world, ">&-", "--receipts", env=client(world), input=json.dumps(PROMPT).encode())
    assert world.names() == [GOOD_NAME]
    assert world.hook("SessionEnd").raw == b""
    first, second = parse(world.hook(session="s2").text)
    assert (first.body, bool(first.mark)) == ("one", True)
    assert second == GOOD
