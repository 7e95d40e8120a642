"""Whatever happens, every message is pending, read or set aside, exactly once, and the screens account for it."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.faults import Office, stopping

AGENTS = ("a", "b")
SESSIONS = st.sampled_from(["s1", "s2", "s3"])


class History(RuleBasedStateMachine):
    """Two agents' inboxes and three sessions each; a session is alive from its start to its end or death."""

    @initialize()
    def open_the_office(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.offices = {agent: Office(self.folder / "inbox", agent) for agent in AGENTS}
        for agent in AGENTS:
            (self.folder / "inbox" / agent).mkdir(parents=True)
        self.alive: dict[tuple[str, str], str] = {}
        self.lives = 0
        self.foreign = 0
        # What must not be shown again: a Stop confirmed it, or it was shown for the last time.
        self.over: dict[str, set[str]] = {agent: set() for agent in AGENTS}

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            for office in self.offices.values():
                office.check()
            shutil.rmtree(self.folder)

    def _drain(self, agent: str, session: str = "", process: str = "", event: str = "", budget: int = 0) -> None:
        office = self.offices[agent]
        before = len(office.shown())
        office.drain(session, process, event, budget)
        shown = office.shown()[before:]
        assert not {body for body, _ in shown} & self.over[agent], "shown again after it was read for good"
        self.over[agent].update(body for body, mark in shown if "last time" in mark or not session)

    def _life(self, agent: str, session: str) -> str:
        return self.alive.get((agent, session), "")

    @rule(agent=st.sampled_from(AGENTS), sender=st.sampled_from(AGENTS))
    def send(self, agent: str, sender: str) -> None:
        self.offices[agent].send(sender)

    @rule(agent=st.sampled_from(AGENTS))
    def a_foreign_tool_writes(self, agent: str) -> None:
        office = self.offices[agent]
        self.foreign += 1
        body = f"foreign {self.foreign}"
        (office.root / agent / f"0-foreign-{self.foreign}.json").write_text(json.dumps({"from": "x", "body": body}))
        office.attempted.add(body)
        office.sent.add(body)

    @rule(agent=st.sampled_from(AGENTS), session=SESSIONS)
    def a_session_starts(self, agent: str, session: str) -> None:
        self.lives += 1
        process = self._life(agent, session) or f"p{self.lives}"
        self.alive[agent, session] = process
        self._drain(agent, session, process, "SessionStart")

    @rule(agent=st.sampled_from(AGENTS), session=SESSIONS)
    def a_client_goes_on_to_another_session(self, agent: str, session: str) -> None:
        """`/clear` whose SessionEnd never ran: one process, a new session."""
        for (whose, old), process in list(self.alive.items()):
            if whose == agent and old != session and (agent, session) not in self.alive:
                del self.alive[whose, old]
                self.alive[agent, session] = process
                self._drain(agent, session, process, "SessionStart")
                return

    @rule(agent=st.sampled_from(AGENTS), session=SESSIONS, budget=st.sampled_from([0, 700]))
    def a_prompt(self, agent: str, session: str, budget: int) -> None:
        if process := self._life(agent, session):
            self._drain(agent, session, process, "UserPromptSubmit", budget)

    @rule(agent=st.sampled_from(AGENTS))
    def a_drain_by_hand(self, agent: str) -> None:
        self._drain(agent)

    @rule(agent=st.sampled_from(AGENTS), session=SESSIONS)
    def a_turn_ends_well(self, agent: str, session: str) -> None:
        office = self.offices[agent]
        if self._life(agent, session):
            before, receipt = office.bodies(), office.root / agent / ".shown" / session
            names = json.loads(receipt.read_text())["shown"] if receipt.exists() else {}
            archive = office.root / agent / ".read"
            read = {json.loads((archive / name).read_text())["body"] for name in names if (archive / name).exists()}
            office.inbox.confirm(session, office.now)
            assert office.bodies() == before, "a Stop moved mail"
            assert not receipt.exists()
            self.over[agent] |= read

    @rule(agent=st.sampled_from(AGENTS), session=SESSIONS)
    def a_session_ends(self, agent: str, session: str) -> None:
        office = self.offices[agent]
        if self.alive.pop((agent, session), ""):
            office.inbox.give_back(session, office.now)

    @rule(agent=st.sampled_from(AGENTS), session=SESSIONS)
    def a_client_is_killed(self, agent: str, session: str) -> None:
        if process := self.alive.pop((agent, session), ""):
            self.offices[agent].dead.add(process)

    @rule(agent=st.sampled_from(AGENTS), session=SESSIONS, step=st.integers(1, 40))
    def a_drain_is_killed(self, agent: str, session: str, step: int) -> None:
        office = self.offices[agent]
        if process := self._life(agent, session):
            with pytest.MonkeyPatch.context() as patch:
                stopping(patch, office, lambda: office.drain(session, process, "UserPromptSubmit"), step)

    @rule(agent=st.sampled_from(AGENTS), step=st.integers(1, 12))
    def a_sender_is_killed(self, agent: str, step: int) -> None:
        office = self.offices[agent]
        with pytest.MonkeyPatch.context() as patch:
            stopping(patch, office, office.send, step)

    @rule(agent=st.sampled_from(AGENTS), which=st.integers(0, 20))
    def a_person_restores(self, agent: str, which: int) -> None:
        office = self.offices[agent]
        if read := office.bodies(".read"):
            office.restore(read[which % len(read)])
            self.over[agent].discard(read[which % len(read)])
            assert read[which % len(read)] in office.bodies()

    @rule(seconds=st.sampled_from([1.0, 60.0, -30.0, -4000.0, 4000.0]))
    def the_clock_moves(self, seconds: float) -> None:
        for office in self.offices.values():
            office.tick(seconds)

    @invariant()
    def every_message_is_in_one_place_and_accounted_for(self) -> None:
        for office in self.offices.values():
            office.check()


class TestHistory(History.TestCase):  # type: ignore[misc,valid-type]
    """Run the machine without syncing: no power is cut here."""

    @pytest.fixture(autouse=True)
    def no_sync(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("os.fsync", lambda handle: None)


TestHistory.settings = settings(
    max_examples=150, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
