"""Real processes at one inbox at once, killed and frozen: nothing is lost, nothing is shown twice unmarked."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.kit import HOOK, SEND, World, parse, said


def start(world: World, *command: str | Path, at: str = "project-b", **env: str) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own."""
    return subprocess.Popen(
        [str(word) for word in command], cwd=world.base / at, env=world.env(**env), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def send_many(world: World, sender: str, count: int) -> subprocess.Popen[bytes]:
    loop = f'i=0; while [ $i -lt {count} ]; do "$0" project-b "{sender} $i" || exit 1; i=$((i + 1)); done'
    return start(world, "sh", "-c", loop, SEND, at="project-a", CLAUDE_AGENT_ID=sender)


def bodies(world: World, folder: str = "") -> list[str]:
    where = world.inbox() / folder
    return [json.loads((where / name).read_bytes())["body"] for name in world.names(folder=folder)]


def test_16_senders_at_once_lose_nothing(world: World) -> None:
    """All of 16 × 25 messages are there, in each sender's own order."""
    senders = [send_many(world, f"sender-{number}", 25) for number in range(16)]
    assert [sender.wait() for sender in senders] == [0] * 16
    for sender in senders:
        sender.communicate()
    waiting = bodies(world)
    assert sorted(waiting) == sorted(f"sender-{number} {i}" for number in range(16) for i in range(25))
    for number in range(16):
        mine = [body for body in waiting if body.startswith(f"sender-{number} ")]
        assert mine == [f"sender-{number} {i}" for i in range(25)]
    marker = world.marker()
    assert marker and marker["count"] == 400


def test_three_drains_at_once_show_each_message_once(world: World) -> None:
    """Over 60 rounds of 20 messages each is shown by exactly one of three drains."""
    for round_ in range(60):
        sent = [f"round {round_} note {i}" for i in range(20)]
        world.put_many("project-b", sent)
        drains = [start(world, HOOK) for _ in range(3)]
        shown = [message.body for drain in drains for message in parse(drain.communicate()[0].decode())]
        # put_many uses the same names in each round, which must not matter either.
        assert sorted(shown) == sorted(sent)
    assert world.names() == []
    assert len(world.names(folder=".read")) == 60 * 20


def test_a_drain_against_senders_shows_everything_once(world: World) -> None:
    """While four senders write, drains one after the other show each message once."""
    senders = [send_many(world, f"sender-{number}", 12) for number in range(4)]
    shown: list[str] = []
    while any(sender.poll() is None for sender in senders) or world.names():
        shown += [message.body for message in parse(world.drain().text)]
    for sender in senders:
        sender.communicate()
    assert Counter(shown) == Counter(f"sender-{number} {i}" for number in range(4) for i in range(12))
    assert world.marker() is None


@pytest.mark.timeout(240)
def test_100_kills_at_random_moments_lose_and_repeat_nothing(world: World) -> None:
    """Senders and drains killed with SIGKILL at random moments leave whole messages, each accounted for."""
    pick = random.Random(7)
    acknowledged: set[str] = set()
    seen: set[str] = set()
    for number in range(100):
        by_hand = pick.random() < 0.5
        programs = {f"kill {number}": start(world, SEND, "project-b", f"kill {number}", at="project-a")}
        programs["drain"] = start(world, HOOK, *([] if by_hand else ["--receipts"]),
                                  CLAUDE_CODE_SESSION_ID=f"s{number}", CLAUDE_PID=str(os.getpid()))  # fmt: skip
        for name, process in programs.items():
            try:
                process.wait(pick.uniform(0.005, 0.09))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            out = process.communicate()[0].decode()
            if name != "drain":
                acknowledged |= {name} if "sent:" in out else set()
                continue
            for message in parse(out):
                assert message.mark or message.body not in seen, f"{message.body} came again unmarked"
                seen.add(message.body)
        everything = bodies(world) + bodies(world, ".read")
        assert len(everything) == len(set(everything))
        assert acknowledged <= set(everything), acknowledged - set(everything)
    while world.names():
        shown = parse(world.drain().text)
        assert shown, "a drain that shows nothing while mail waits"
        assert all(message.mark or message.body not in seen for message in shown)
        seen |= {message.body for message in shown}
    assert acknowledged <= seen
    assert world.marker() is None
    assert not (world.inbox() / ".new.tmp").exists()


def test_a_frozen_drain_that_holds_the_lock_hangs_no_session(world: World) -> None:
    """The session starts without mail and with one line for the person; when the frozen one goes on, all is shown."""
    world.put_many("project-b", [f"{i} " + "x" * 90_000 for i in range(2)])
    frozen = start(world, HOOK)
    assert frozen.stdout
    first = os.read(frozen.stdout.fileno(), 1)  # it is printing more than a pipe holds, so it has the lock
    os.killpg(frozen.pid, signal.SIGSTOP)
    try:
        done = world.run(HOOK, "--receipts", at="project-b", timeout=20, input=json.dumps(
            {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1"}
        ).encode(), env={"CLAUDE_PROJECT_DIR": str(world.base / "project-b")})  # fmt: skip
        got = said(done)
        assert (got.status, got.text, got.error) == (0, "", "")
        assert "holds its lock" in got.person
        assert world.run(SEND, "project-b", "meanwhile", timeout=20).returncode == 0
    finally:
        os.killpg(frozen.pid, signal.SIGCONT)
    rest = frozen.communicate(timeout=30)[0]
    assert [message.body[:2] for message in parse((first + rest).decode())] == ["0 ", "1 "]
    assert bodies(world) == ["meanwhile"]
    marker = world.marker()
    assert marker and marker["count"] == 1
