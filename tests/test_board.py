"""The watcher's decisions without threads, files or a clock: what is announced when, and never twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from a2a_watch.watch.board import (
    BURST_SECONDS,
    LINES,
    LONGEST_RETRY_SECONDS,
    LOOK_SECONDS,
    QUIET_SECONDS,
    REMEMBERED,
    RETRY_SECONDS,
    UNWOKEN,
    Board,
    Mail,
    Notice,
)


@dataclass
class Desk:
    """Inboxes as sets of mail, a clock, and what the board wants shown; `until` does all that is due on the way."""

    board: Board
    now: float = 1000.0
    inboxes: dict[str, list[Mail]] = field(default_factory=dict)
    notices: list[tuple[float, Notice]] = field(default_factory=list)
    looks: list[tuple[float, str]] = field(default_factory=list)
    taken_down: list[Notice] = field(default_factory=list)
    answers: str = "shown"

    def arrive(self, agent: str, number: int, subject: str = "S", sender: str = "a") -> Mail:
        mail = Mail(f"{agent}/{number}", sender, subject, "E")
        self.inboxes.setdefault(agent, []).append(mail)
        self.board.wake(agent, self.now)
        self.turn()
        return mail

    def leave(self, agent: str) -> None:
        self.inboxes[agent] = []
        self.board.wake(agent, self.now)
        self.turn()

    def turn(self) -> None:
        for agent in self.board.looks(self.now):
            self.looks.append((self.now, agent))
            self.board.saw(agent, self.inboxes.get(agent, []), self.now)
        if notice := self.board.notice(self.now):
            self.notices.append((self.now, notice))
            self.answer(notice, self.answers)
        self.taken_down += self.board.over()

    def answer(self, notice: Notice, what: str) -> None:
        if what == "failed":
            self.board.failed(self.now)
        elif what:
            (self.board.shown if what == "shown" else self.board.unsure)(notice, self.now)

    def until(self, when: float) -> None:
        for _ in range(10_000):
            due = self.board.due()
            if due is None or due > when:
                break
            self.now = max(self.now, due)
            self.turn()
        else:
            raise AssertionError("it never rests")
        self.now = max(self.now, when)

    def after(self, seconds: float) -> None:
        self.until(self.now + seconds)

    @property
    def titles(self) -> list[str]:
        return [notice.title for _, notice in self.notices]


@pytest.fixture
def desk() -> Desk:
    return Desk(Board())


def test_one_is_told_as_soon_as_it_is_quiet(desk: Desk) -> None:
    """A single message is announced QUIET_SECONDS after it was seen, once."""
    start = desk.now
    desk.arrive("b", 1, "Bumped the API")
    desk.after(3600)
    ((at, notice),) = desk.notices
    assert (notice.title, notice.body) == ("a → b: Bumped the API", "E")
    assert at - start == pytest.approx(QUIET_SECONDS)
    assert desk.board.due() is None, "at rest it waits for a wake alone"


def test_a_burst_is_one_or_two(desk: Desk) -> None:
    """Sixty messages in 1.2 s are at most two notices, the first of them within two seconds, all of them told."""
    start = desk.now
    for number in range(60):
        desk.arrive("b", number)
        desk.after(0.02)
    desk.after(10)
    assert 1 <= len(desk.notices) <= 2
    assert desk.notices[0][0] - start <= BURST_SECONDS
    assert len(frozenset().union(*(notice.keys for _, notice in desk.notices))) == 60


def test_what_never_pauses_is_told_all_the_same(desk: Desk) -> None:
    """Where messages come faster than QUIET_SECONDS for long, the first notice is there after BURST_SECONDS."""
    start = desk.now
    for number in range(50):
        desk.arrive("b", number)
        desk.after(QUIET_SECONDS * 0.7)
    assert desk.notices[0][0] - start == pytest.approx(BURST_SECONDS)
    assert len(desk.notices) >= 4


def test_a_steady_stream_is_a_notice_every_two_seconds(desk: Desk) -> None:
    """One message every 0.4 s for 30 s: never longer than 2.5 s without a notice, and far fewer than messages."""
    start = desk.now
    for number in range(75):
        desk.arrive("b", number)
        desk.after(0.4)
    desk.after(10)
    times = [start, *(at for at, _ in desk.notices)]
    assert max(later - sooner for sooner, later in pairwise(times)) <= 2.5
    assert len(desk.notices) <= 20


def test_what_waits_at_the_start_is_one_summary(desk: Desk) -> None:
    """Eight hundred messages that wait for eight agents are one notice with LINES lines and how many more."""
    for agent in range(8):
        desk.inboxes[f"agent-{agent}"] = [Mail(f"{agent}/{number}", "a", "S") for number in range(100)]
        desk.board.wake(f"agent-{agent}", desk.now)
    desk.turn()
    desk.after(60)
    ((_, notice),) = desk.notices
    assert notice.title == "800 new for agent-0, agent-1, agent-2 and 5 more"
    assert notice.body.splitlines()[-1] == "… and 795 more" and len(notice.body.splitlines()) == LINES + 1


def test_without_preview_nothing_is_said_of_the_text(desk: Desk) -> None:
    """Who wrote to whom, once each, and how many; no subject, no excerpt."""
    desk.board = Board(preview=False)
    desk.arrive("b", 1, "secret")
    desk.after(5)
    for number in range(2, 5):
        desk.arrive("b", number, "secret")
    desk.after(5)
    assert [(notice.title, notice.body) for _, notice in desk.notices] == [("a → b", ""), ("3 new for b", "a")]


def test_a_quiet_agent_is_never_told_of(desk: Desk) -> None:
    """Its mail is in no notice and no count; another agent's is."""
    desk.board = Board(quiet=["b"])
    desk.arrive("b", 1)
    desk.arrive("c", 2)
    desk.after(60)
    assert desk.titles == ["a → c: S"]


def test_mail_that_was_read_at_once_is_not_announced(desk: Desk) -> None:
    """What a session has read before the burst was over needs no notice."""
    desk.arrive("b", 1)
    desk.after(LOOK_SECONDS)
    desk.leave("b")
    desk.after(60)
    assert not desk.notices


def test_a_notice_is_over_when_its_last_mail_is_gone(desk: Desk) -> None:
    """Not before, and once."""
    first = desk.arrive("b", 1)
    desk.arrive("b", 2)
    desk.after(5)
    desk.inboxes["b"] = [first]
    desk.board.wake("b", desk.now)
    desk.after(5)
    assert not desk.taken_down
    desk.leave("b")
    desk.after(60)
    assert desk.taken_down == [notice for _, notice in desk.notices]


def test_a_failure_is_tried_again_ever_more_seldom(desk: Desk) -> None:
    """After a failure 5, 10, 20, 40, 60, 60 s pass; what came meanwhile is in the next try; then it is as ever."""
    desk.answers = "failed"
    desk.arrive("b", 1)
    desk.after(200)
    desk.arrive("b", 2)
    desk.answers = "shown"
    desk.after(100)
    times = [at for at, _ in desk.notices]
    waits = [later - sooner for sooner, later in pairwise(times)]
    expected = [RETRY_SECONDS * factor for factor in (1, 2, 4, 8)] + [LONGEST_RETRY_SECONDS] * (len(waits) - 4)
    assert waits == pytest.approx(expected)
    assert desk.titles[-1] == "2 new for b"
    desk.answers = "failed"
    desk.arrive("b", 3)
    desk.after(RETRY_SECONDS + QUIET_SECONDS + 0.01)
    assert desk.titles[-2:] == ["a → b: S"] * 2, "the count of failures began anew"


def test_a_storm_of_events_costs_ten_looks_a_second(desk: Desk) -> None:
    """However often one agent is woken, it is looked at every LOOK_SECONDS at most, and once after the last wake."""
    start = desk.now
    for number in range(20_000):
        desk.until(start + number / 10_000)
        desk.board.wake("b", desk.now)
    last = desk.now
    desk.after(10)
    times = [at for at, _ in desk.looks]
    assert len(times) <= 2 / LOOK_SECONDS + 2
    assert times[-1] >= last


def test_the_memory_is_bounded(desk: Desk) -> None:
    """Of what no longer waits the last REMEMBERED are kept; of what waits, all."""
    for number in range(REMEMBERED * 3):
        desk.inboxes["b"] = [Mail(f"b/{number}")]
        desk.board.wake("b", desk.now)
        desk.after(5)
    desk.inboxes["c"] = [Mail(f"c/{number}") for number in range(REMEMBERED * 3)]
    desk.board.wake("c", desk.now)
    desk.after(5)
    told = desk.board.told()
    assert len([key for key in told if key.startswith("c/")]) == REMEMBERED * 3
    assert [key for key in told if key.startswith("b/")][-1] == f"b/{REMEMBERED * 3 - 1}"
    assert len(told) <= REMEMBERED * 4 + 1


def test_that_nobody_is_woken_is_told_once_beside_the_mail(desk: Desk) -> None:
    """It is no message and not counted; alone it is a notice of its own, and it goes with the mail."""
    unwoken = Mail("b/.refused 1", unwoken=True)
    desk.inboxes["b"] = [unwoken]
    desk.arrive("b", 1)
    desk.after(5)
    desk.arrive("b", 2)
    desk.after(5)
    assert [(notice.title, notice.body.splitlines()[1:]) for _, notice in desk.notices] == [
        ("a → b: S", [f"b was not woken: {UNWOKEN}"]), ("a → b: S", []),
    ]  # fmt: skip
    desk.inboxes["c"] = [Mail("c/1", "a", "S")]
    desk.board.wake("c", desk.now)
    desk.after(5)
    desk.inboxes["c"].append(Mail("c/.refused 1", unwoken=True))
    desk.board.wake("c", desk.now)
    desk.after(5)
    last = desk.notices[-1][1]
    assert (last.title, last.body) == ("c was not woken", UNWOKEN)
    desk.leave("c")
    desk.after(5)
    assert last in desk.taken_down


AGENTS = ("a", "b", "quiet")


class History(RuleBasedStateMachine):
    """Any order of mail, drains, lost wakes, answers and restarts; a rescan at the end finds everything told."""

    @initialize()
    def begin(self) -> None:
        self.desk = Desk(Board(quiet=["quiet"]), answers="")
        self.numbers = 0
        self.flying: Notice | None = None
        self.told: list[str] = []
        self.up: list[Notice] = []
        self.seen = 0
        self.taken = 0

    @rule(agent=st.sampled_from(AGENTS), many=st.integers(1, 7), is_heard=st.booleans())
    def mail_arrives(self, agent: str, many: int, is_heard: bool) -> None:
        for _ in range(many):
            self.numbers += 1
            self.desk.inboxes.setdefault(agent, []).append(Mail(f"{agent}/{self.numbers}", "x", "S"))
        if is_heard:
            self.desk.board.wake(agent, self.desk.now)

    @rule(agent=st.sampled_from(AGENTS), keep=st.integers(0, 2), is_heard=st.booleans())
    def mail_is_read(self, agent: str, keep: int, is_heard: bool) -> None:
        self.desk.inboxes[agent] = self.desk.inboxes.get(agent, [])[:keep]
        if is_heard:
            self.desk.board.wake(agent, self.desk.now)

    @rule(agent=st.sampled_from(AGENTS), number=st.integers(1, 30))
    def mail_is_given_back(self, agent: str, number: int) -> None:
        mail, inbox = Mail(f"{agent}/{number}", "x", "S"), self.desk.inboxes.setdefault(agent, [])
        if number <= self.numbers and mail.key in self.told and mail not in inbox:
            inbox.insert(0, mail)
            self.desk.board.wake(agent, self.desk.now)

    @rule(seconds=st.sampled_from([0.0, 0.05, 0.3, 1.0, 2.5, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.desk.after(seconds)
        self.look()

    @rule(what=st.sampled_from(["shown", "unsure", "failed"]))
    @precondition(lambda self: self.flying)
    def an_answer_comes(self, what: str) -> None:
        assert self.flying
        notice, self.flying = self.flying, None
        self.desk.answer(notice, what)
        if what != "failed":
            self.told += notice.keys
        if what == "shown":
            self.up.append(notice)
        self.desk.turn()
        self.look()

    @rule()
    def it_is_started_again(self) -> None:
        """Killed while a notice flies: it was remembered before it was shown, and counts as told."""
        told = self.desk.board.told()
        if self.flying:
            told += self.flying.keys
            self.told += self.flying.keys
        self.flying, self.up = None, []
        self.desk.board = Board(told, quiet=["quiet"])
        self.rescan()

    @rule()
    def rescan(self) -> None:
        for agent in AGENTS:
            self.desk.board.wake(agent, self.desk.now)
        self.desk.turn()
        self.look()

    def look(self) -> None:
        """Check what the board wanted since the last look."""
        for _, notice in self.desk.notices[self.seen :]:
            assert self.flying is None, "one at a time"
            assert notice.keys and not notice.keys & set(self.told), "never twice"
            assert not any(key.startswith("quiet/") for key in notice.keys)
            assert len(notice.keys) == 1 or notice.title.startswith(f"{len(notice.keys)} new for ")
            self.flying = notice
        self.seen = len(self.desk.notices)
        for notice in self.desk.taken_down[self.taken :]:
            self.up.remove(notice)
        self.taken = len(self.desk.taken_down)

    @invariant()
    def it_rests(self) -> None:
        if hasattr(self, "desk"):
            due = self.desk.board.due()
            assert due is None or due <= self.desk.now + LONGEST_RETRY_SECONDS

    def teardown(self) -> None:
        """At rest everything that waits was told, and what is up is of mail that waits."""
        if not hasattr(self, "desk"):
            return
        for _ in range(3):
            if self.flying:
                self.an_answer_comes("shown")
            self.rescan()
            self.time_passes(70.0)
        waiting = {mail.key for agent in ("a", "b") for mail in self.desk.inboxes.get(agent, [])}
        assert waiting <= set(self.told)
        assert all(notice.keys & waiting for notice in self.up)
        assert self.flying is None and self.desk.board.due() is None


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
