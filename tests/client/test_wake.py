"""An idle session of the real client wakes when mail lands, once and within bounds; a busy one has it between tools."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.client.driver import Client, Session, eventually
from tests.client.model import HOLD, Model, Turn, bash, refuse, say, text_of
from tests.desktop import Bus, Desk
from tests.kit import REPO, World
from tests.watching import note, watching

pytestmark = pytest.mark.timeout(180)
LINE = "in the inbox of project-b; its hook shows what is there at this prompt"


@pytest.fixture
def waking(program: Path, world: World, model: Model) -> Client:
    """Return a client whose idle sessions wake."""
    client = Client(program, world, model)
    client.set_up("--wake")
    return client


def listens(session: Session, world: World, agent: str = "project-b") -> None:
    """Wait until the client really watches the inbox."""
    inbox = world.inbox(agent)

    def is_watched() -> bool:
        if not inbox.exists():
            return False
        wanted = f"ino:{inbox.stat().st_ino:x} "
        for path in Path(f"/proc/{session.pid}/fdinfo").iterdir():
            try:
                if any(line.startswith("inotify ") and wanted in line for line in path.read_text().splitlines()):
                    return True
            except OSError:
                pass  # closed meanwhile
        return False

    eventually(is_watched, "the client watches the inbox", session.screen)


def has_waked(client: Client, session: Session, before: int, *bodies: str) -> None:
    """Wait for the request of a session that nobody touched; it has the line and each note once."""
    eventually(lambda: len(client.model.requests) > before, f"no request with {bodies}", session.screen)
    seen = client.model.seen(before)
    for body in bodies:
        assert seen.count(f"> {body}\n") == 1, body
    session.wait_until_idle()
    eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")


def test_a_session_at_its_prompt_wakes(waking: Client) -> None:
    """Each note is in a request that nobody asked for, once, and counts as read after its turn; the reason is told."""
    with waking.session() as session:
        listens(session, waking.world)
        for number in range(3):
            waking.world.send("project-b", f"body {number}")
            has_waked(waking, session, number, f"body {number}")
            assert waking.model.seen().count(LINE) == number + 1
        assert len(waking.model.requests) == 3
        session.wait_for("UserPromptSubmit says: ✉ 1 note: project-a")
    assert len(waking.world.names(folder=".read")) == 3


def test_three_in_a_burst_are_one_turn(waking: Client) -> None:
    """Three notes within a moment wake once, and all three are in that request."""
    with waking.session() as session:
        listens(session, waking.world)
        for number in range(3):
            waking.world.send("project-b", f"body {number}")
        has_waked(waking, session, 0, "body 0", "body 1", "body 2")
        session.ask("and?")
        assert len(waking.model.requests) == 2


def test_it_still_wakes_after_a_change_of_directory(waking: Client) -> None:
    """`cd` ends the client's watch, and the hook at CwdChanged begins it again."""
    folder = waking.world.base / "project-b" / "sub"
    folder.mkdir()
    with waking.session("--debug-file", str(waking.world.base / "debug")) as session:
        listens(session, waking.world)
        waking.model.turns = [bash("cd sub"), say("went there")]
        session.ask("go", "went there")
        debug = waking.world.base / "debug"
        eventually(lambda: "hooks/wake CwdChanged] completed" in debug.read_text(), "the hook ran")
        listens(session, waking.world)
        waking.world.send("project-b", "after cd")
        has_waked(waking, session, 2, "after cd")


def test_it_still_wakes_after_clear_and_after_resume(waking: Client) -> None:
    """A new conversation in the same process, and an old one in a new process, wake like the first."""
    with waking.session() as session:
        session.ask("hello")
        session.type("/clear")
        session.wait_until_idle()
        eventually(lambda: "● ok" not in session.screen(), "an empty screen", session.screen)
        listens(session, waking.world)
        waking.world.send("project-b", "after clear")
        has_waked(waking, session, 1, "after clear")
        session.quit()
    with waking.session("--continue") as session:
        listens(session, waking.world)
        waking.world.send("project-b", "after resume")
        has_waked(waking, session, 2, "after resume")


def test_a_draft_stays_in_the_prompt_box(waking: Client) -> None:
    """What somebody is about to send is there after the wake as it was before."""
    with waking.session() as session:
        listens(session, waking.world)
        session.put("half a thought")
        waking.world.send("project-b", "the body")
        has_waked(waking, session, 0, "the body")
        assert session.box() == "half a thought"
        assert "half a thought" not in waking.model.seen()


def test_a_busy_session_has_it_in_its_next_request(waking: Client) -> None:
    """During a long tool call nothing is cut short: the mail is in the next request of the same turn, once."""
    pipe = waking.world.base / "pipe"
    os.mkfifo(pipe)
    with waking.session("--allowedTools", "Bash") as session:
        listens(session, waking.world)
        waking.model.turns = [bash(f"echo before; cat {shlex.quote(str(pipe))}; echo after"), say("the end")]
        session.type("work")
        with open(pipe, "w") as tool:  # opens when the tool reads
            waking.world.send("project-b", "the body")
            claims = waking.world.inbox() / ".wakes"
            eventually(lambda: any(claims.iterdir()), "the client has heard of it", session.screen)
            assert len(waking.model.requests) == 1, "the tool still runs"
            tool.write("from the pipe\n")
        session.wait_for("● the end")
        session.wait_until_idle()
    assert len(waking.model.requests) == 2
    seen = waking.model.seen()
    assert seen.count("> the body\n") == 1 and "before\nfrom the pipe\nafter" in seen


def test_of_two_sessions_one_wakes(waking: Client) -> None:
    """Two sessions of one agent sit at their prompts: exactly one has the note."""
    with waking.session() as one, waking.session() as other:
        for session in (one, other):
            listens(session, waking.world)
        waking.world.send("project-b", "the body")
        eventually(lambda: len(waking.model.requests) == 1, "one wakes", one.screen)
        for session in (one, other):
            session.wait_until_idle()
            session.ask("and?")
    assert len(waking.model.requests) == 3
    assert sum("> the body\n" in text_of(request) for request in waking.model.requests[-2:]) == 1


def test_by_hand_and_with_the_watcher(waking: Client) -> None:
    """A note that a foreign tool wrote comes with the next prompt; where the watcher runs, also anew, it wakes too."""
    with waking.session() as session:
        listens(session, waking.world)
        note(waking.world, name="by-hand")
        session.ask("hello")
        assert "> body of by-hand\n" in waking.model.seen()
        eventually(lambda: not waking.world.names(folder=".shown"), "the Stop made it read")
        for number in range(2):
            with watching(waking.world) as watcher:
                note(waking.world, name=f"watched-{number}")
                has_waked(waking, session, number + 1, f"body of watched-{number}")
                assert watcher.stop() == 0


def test_off_adds_nothing(client: Client) -> None:
    """Without --wake no path is watched, nothing is counted, and the note waits for the next prompt."""
    debug = client.world.base / "debug"
    with client.session("--debug-file", str(debug)) as session:
        session.ask("hello")
        client.world.send("project-b", "the body")
        session.ask("go on")
        assert "> the body\n" in client.model.seen()
    assert "watchPaths" not in debug.read_text() and not (client.world.inbox() / ".wakes").exists()


@pytest.mark.parametrize("failure", ["killed", "refused"])
def test_a_wake_that_fails_loses_nothing(waking: Client, failure: str) -> None:
    """The session dies in the woken turn, or its request is refused: the mail comes once more, marked."""
    with waking.session(CLAUDE_CODE_MAX_RETRIES="0") as session:
        listens(session, waking.world)
        waking.model.always = HOLD if failure == "killed" else refuse(400)
        waking.world.send("project-b", "the body")
        eventually(lambda: len(waking.model.requests) >= 1, "it wakes", session.screen)
        if failure == "killed":
            session.kill()
        else:
            session.wait_for("API Error")
            session.quit()
    waking.model.always = say("ok")
    with waking.session() as session:
        session.ask("and now")
        seen = waking.model.seen()
        assert seen.count("> the body\n") == 1 and "(may have been shown before, at " in seen


def test_a_one_shot_is_not_touched(waking: Client) -> None:
    """`claude -p` watches nothing, ends as ever, and takes no mail, also when a note lands in the middle of it."""
    command = f"{shlex.quote(str(REPO / 'bin' / 'a2a-send'))} project-b meanwhile"
    waking.model.turns = [bash(command), say("done")]
    debug = waking.world.base / "debug"
    said = waking.headless("go", "--allowedTools", "Bash", "--debug-file", str(debug))
    assert said.strip() == "done" and len(waking.model.requests) == 2
    assert "watchPaths" not in debug.read_text()
    assert len(waking.world.names()) == 1 and not (waking.world.inbox() / ".wakes").exists()


def test_the_plugin_wakes_where_its_switch_is_on(
    program: Path, world: World, model: Model, tmp_path: Path
) -> None:  # fmt: skip
    """With the plugin alone a file in the root switches it on."""
    client = Client(program, world, model)
    world.root.mkdir(parents=True)
    (world.root / ".wake").touch()
    with client.session("--plugin-dir", str(REPO)) as session:
        listens(session, world)
        world.send("project-b", "the body")
        has_waked(client, session, 0, "the body")


class Answering(Model):
    """A model that answers every note it is shown, once."""

    def __init__(self) -> None:
        super().__init__()
        self._answered: set[str] = set()

    def take(self, request: dict[str, Any]) -> Turn:
        turn = super().take(request)
        for sender, body in re.findall(
            r"\*\*From:\*\* (project-.)\n.*?\n> (ping|answer \d+)\n", text_of(request), re.DOTALL
        ):
            if turn is self.always and body not in self._answered:
                self._answered.add(body)
                return bash(f"a2a-send {sender} --subject 're: ping' 'answer {len(self._answered)}'")
        return turn


def test_two_that_answer_each_other_come_to_rest(program: Path, world: World, bus: Bus, desk: Desk) -> None:
    """Both are woken as often as they may be, then nobody; nothing is lost, and the last note comes with a prompt."""
    model = Answering()
    client = Client(program, world, model)
    client.set_up("--wake")
    try:
        with (
            watching(world, notify=True, env=bus.env) as watcher,
            client.session(at="project-a", A2A_WAKES="2/10m") as one,
            client.session(at="project-b", A2A_WAKES="2/10m") as other,
        ):
            listens(one, world, "project-a")
            listens(other, world, "project-b")
            world.send("project-b", "ping", "ping")
            refused = [world.inbox(agent) / ".wakes" / ".refused" for agent in ("project-a", "project-b")]
            eventually(lambda: any(path.exists() for path in refused), "the bound is reached", one.screen)
            one.wait_until_idle()
            other.wait_until_idle()
            waits = "project-a" if world.names("project-a") else "project-b"
            assert sum(len(world.names(agent)) for agent in ("project-a", "project-b")) == 1
            asked = len(model.requests)
            watcher.says(f"{waits} was not woken")
            eventually(lambda: f"{waits} was not woken: " in "".join(map("".join, desk.shown)), "it is told")
            model.turns = [say("enough")]
            (one if waits == "project-a" else other).ask("hello", "enough")
            assert len(model.requests) == asked + 1 and "> answer " in model.seen()
            assert not world.names("project-a") and not world.names("project-b")
            read = [len(world.names(agent, ".read")) for agent in ("project-a", "project-b")]
            assert sum(read) == 5, "two wakes each, and the last"
    finally:
        model.close()
