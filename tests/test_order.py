"""Order: a plain sort of file names is the order of sending, and no clock makes two messages one."""

from __future__ import annotations

import json
import re
import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_watch.light.delivery import Ids
from tests.kit import PYTHON, REPO, SEND, World, parse
from tests.test_send import sentence, waiting

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
CLOCKS = st.lists(st.integers(0, 253_402_300_799 * 10**9), min_size=2, max_size=50)


def test_200_sends_by_separate_processes_are_in_order(world: World) -> None:
    """200 sends in a loop, each its own process, several a second, sort in the order in which they were sent."""
    loop = 'i=0; while [ $i -lt 200 ]; do "$0" project-b "$i" || exit 1; i=$((i + 1)); done'
    assert world.run("sh", "-c", loop, SEND).returncode == 0
    sent = waiting(world)
    assert [message["body"] for message in sent] == [str(number) for number in range(200)]
    assert len({message["timestamp"] for message in sent}) < 200  # so the ids decide
    assert all(UUID7.fullmatch(message["id"]) for message in sent)
    assert [message.body for message in parse(world.drain().text)] == [str(number) for number in range(200)]


@given(CLOCKS)
def test_ids_of_one_process_only_rise(clock: list[int]) -> None:
    """Whatever the clock does, back included, ids and file names of one process strictly rise and are UUIDv7."""
    ids = Ids()
    made = [ids.next(now, bytes(8)) for now in clock]
    names = [f"{stamp}-{id_}.json" for id_, stamp in made]
    assert names == sorted(set(names))
    assert all(UUID7.fullmatch(id_) for id_, _ in made)
    assert made[0][0].replace("-", "")[:12] == f"{clock[0] // 1_000_000:012x}" or clock[0] < 1_000_000


# Runs the real command in a process whose clock and dice the test chooses.
CHOSEN = """
import os, sys, time
sys.path.insert(0, sys.argv.pop(1))
now, dice = int(sys.argv.pop(1)), sys.argv.pop(1)
time.time_ns, time.time = (lambda: now), (lambda: now / 10**9)
os.urandom = lambda count: dice.encode().ljust(count, b".")[:count]
from a2a_watch.light.send import main
sys.exit(main())
"""


def send_at(world: World, now_ns: int, dice: str, *words: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Send at a moment and with dice of the test's choice."""
    return world.run(PYTHON, "-c", CHOSEN, REPO, str(now_ns), dice, *words, env=env)


NOON = 1_780_000_000 * 10**9


def test_a_clock_that_steps_back_between_processes_loses_nothing(world: World) -> None:
    """Messages sent at times that step back, stand still or are absurd are all there, each under its own name."""
    clock = [NOON, NOON - 3600 * 10**9, NOON, NOON + 1, 0, 1, 4_102_444_800 * 10**9]
    for number, now in enumerate(clock):
        assert send_at(world, now, f"dice {number}", "project-b", str(number)).returncode == 0
    assert sorted(message["body"] for message in waiting(world)) == [str(number) for number in range(len(clock))]
    assert len(parse(world.drain().text)) == len(clock)


@pytest.mark.parametrize("place", ["pending", "read"])
def test_two_processes_with_one_clock_and_one_luck_overwrite_nothing(world: World, place: str) -> None:
    """When a second process makes the very same name, the first message stays, waiting or read, and nothing is lost."""
    assert send_at(world, NOON, "same", "project-b", "first").returncode == 0
    if place == "read":
        assert world.drain().text
    again = send_at(world, NOON, "same", "project-b", "second")
    kept = [json.loads(path.read_bytes())["body"] for path in world.inbox().rglob("*.json")]
    if place == "pending":
        sentence(again, 1)
        assert kept == ["first"]
    else:
        assert again.returncode == 0
        assert [message.body for message in parse(world.drain().text)] == ["second"]
        kept = [json.loads(path.read_bytes())["body"] for path in world.inbox().rglob("*.json")]
        assert sorted(kept) == ["first", "second"]


def test_foreign_mail_of_the_same_second_stands_in_its_place(world: World) -> None:
    """Mail with names of whole seconds sorts by its second, before and after ours, whatever its ids look like."""
    at = NOON // 10**9
    for number, (seconds, id_) in enumerate([(at - 1, "ffff"), (at + 1, "0000")]):
        stamp = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime(seconds))
        world.put("project-b", f"{stamp}-{id_}.json", id=id_, body=f"foreign {number}")
    assert send_at(world, NOON, "ours", "project-b", "ours").returncode == 0
    assert [message.body for message in parse(world.drain().text)] == ["foreign 0", "ours", "foreign 1"]
