"""Two programs at one inbox, in every order with up to two preemptions, and with either dead at every step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults import Office
from tests.schedule import Schedule

Act = Callable[[Office], object]


def drain_by_hand(office: Office) -> None:
    office.drain()


def drain_in(session: str, process: str) -> Act:
    return lambda office: office.drain(session, process, "UserPromptSubmit")


def two_wait(office: Office) -> None:
    office.send()
    office.send("c")


def one_shown_to_s1(office: Office) -> None:
    office.send()
    office.drain("s1", "p1", "SessionStart")
    office.tick()
    office.send("c")


PAIRS: dict[str, tuple[Act, Act, Act]] = {
    "drain and drain": (two_wait, drain_in("s1", "p1"), drain_by_hand),
    "drain and send": (two_wait, drain_in("s1", "p1"), lambda office: office.send()),
    "drain and confirm": (
        one_shown_to_s1, drain_in("s2", "p2"), lambda office: office.inbox.confirm("s1", office.now),
    ),
    "drain and marker": (
        two_wait, drain_in("s1", "p1"), lambda office: office.inbox.refresh_marker(office.now),
    ),
    "give back and drain": (
        one_shown_to_s1, lambda office: office.inbox.give_back("s1", office.now), drain_in("s2", "p2"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.timeout(300)
def test_every_interleaving_keeps_every_message(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each schedule every message is in one place, shown once or marked, and the marker is true at rest."""
    monkeypatch.setattr("os.fsync", lambda handle: None)  # no power is cut here
    prepare, *programs = PAIRS[name]
    numbers = itertools.count()

    def run(schedule: Schedule, dead: bool = False) -> Schedule:
        office = Office(tmp_path / str(next(numbers)) / "inbox")
        prepare(office)
        schedule.run(office, monkeypatch, [lambda: programs[0](office), lambda: programs[1](office)])
        try:
            office.check()
            if not dead:
                office.check_marker()
            office.dead.update({"p1", "p2"})
            office.settle()
        except AssertionError as error:
            error.add_note("schedule: " + ", ".join(schedule.log))
            raise
        return schedule

    plain = [run(Schedule(set(), starts)) for starts in (0, 1)]
    total = max(schedule.count for schedule in plain)
    for starts, switches in itertools.product((0, 1), _up_to_two(total)):
        run(Schedule(switches, starts))
    whole = next(numbers)
    for starts, dies in itertools.product((0, 1), (0, 1)):
        for step, switch in itertools.product(range(1, plain[0].steps[dies] + 1), range(total + 1)):
            run(Schedule({switch}, starts, crash=(dies, step)), dead=True)
    crashed = next(numbers)
    for starts, switch in itertools.product((0, 1), range(1, total + 1)):
        # The one that has the turn first is frozen at its step: the other must give up, not hang.
        run(Schedule({switch}, starts, frozen=starts), dead=True)
    print(f"{name}: {total} steps; {whole} schedules, {crashed - whole} with a crash, {next(numbers) - crashed} frozen")


def _up_to_two(total: int) -> Iterator[set[int]]:
    for count in (0, 1, 2):
        yield from (set(chosen) for chosen in itertools.combinations(range(1, total + 1), count))
