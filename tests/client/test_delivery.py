"""Mail in the requests that the real client makes: there, once, whole, and nowhere else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.client.driver import Client, eventually
from tests.client.mail import MARK
from tests.client.model import bash, say, text_of

pytestmark = pytest.mark.timeout(180)


def test_mail_is_in_the_first_request_once_and_no_second_session_has_it(client: Client) -> None:
    """What was sent before a session stands in its first request, whole; later sessions do not see it."""
    client.world.send("project-b", 'a "body"\nof two lines', "The subject")
    with client.session() as session:
        session.wait_for("✉ 1 note: project-a (The subject)")
        client.model.turns = [say("I have read it")]
        session.ask("hello", "I have read it")
        seen = client.model.seen()
        assert seen.count("**Subject:** The subject") == 1
        assert '> a "body"\n> of two lines\n' in seen
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
        session.quit()
    with client.session() as session:
        session.ask("hello")
        assert "The subject" not in client.model.seen()
        session.quit()
    assert len(client.world.names(folder=".read")) == 1


def test_mail_that_comes_meanwhile_rides_along_with_the_next_prompt(client: Client) -> None:
    """What is sent while a session sits at its prompt is in the request of its next prompt."""
    with client.session() as session:
        session.ask("first")
        client.world.send("project-b", "the body", "Meanwhile")
        client.model.turns = [say("noted")]
        session.ask("second", "noted")
        session.wait_for("UserPromptSubmit says: ✉ 1 note: project-a (Meanwhile)")
        assert client.model.seen(0).count("Meanwhile") == 0
        assert client.model.seen().count("**Subject:** Meanwhile") == 1


def test_resume_and_fork_do_not_repeat(client: Client) -> None:
    """A conversation taken up again, or forked, has what it read in its history once, and what came since beside it."""
    client.world.send("project-b", "the body", "Once")
    with client.session() as session:
        session.ask("hello")
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
        session.quit()
    (transcript,) = (client.world.home / ".claude" / "projects").rglob("*.jsonl")
    for options in (["--continue"], ["--resume", transcript.stem], ["--continue", "--fork-session"]):
        subject = f"New at {options[-1]}"
        client.world.send("project-b", "the body", subject)
        with client.session(*options) as session:
            client.model.turns = [say("once more")]
            session.ask("again", "once more")
            assert client.model.seen().count("**Subject:** Once") == 1
            assert client.model.seen().count(f"**Subject:** {subject}") == 1
            assert MARK not in client.model.seen()
            eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
            session.quit()
    assert client.world.names() == []


def test_clear_brings_back_only_what_no_turn_had(client: Client) -> None:
    """`/clear` before any prompt: the new session has the mail, marked; after a turn that ended: it has not."""
    client.world.send("project-b", "the body", "Unread")
    with client.session() as session:
        session.wait_for("✉ 1 note")
        session.type("/clear")
        session.wait_for("SessionStart:clear says: ✉ 1 note")
        client.model.turns = [say("seen")]
        session.ask("hello", "seen")
        assert client.model.seen().count("**Subject:** Unread") == 1 and MARK in client.model.seen()
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
        session.type("/clear")
        client.model.turns = [say("empty now")]
        session.ask("hello again", "empty now")
        assert "Unread" not in client.model.seen()
        session.quit()
    assert client.world.names() == []


def test_forty_long_notes_come_whole_and_in_order(client: Client) -> None:
    """40 messages of 450 emoji each: every one is whole in one request, in order; no request has a preview."""
    bodies = [f"{number:02d}" + chr(0x1F600 + number) * 450 for number in range(40)]
    client.world.put_many("project-b", bodies)
    with client.session() as session:
        number = 0
        while client.world.names():
            number += 1
            client.model.turns = [say(f"turn {number} done")]
            session.ask(f"prompt {number}", f"turn {number} done")
    seen = client.model.seen()
    places = [seen.find("> " + body + "\n") for body in bodies]
    assert -1 not in places and places == sorted(places)
    assert all(seen.count(body) == 1 for body in bodies)
    assert "Output too large" not in seen and "preview" not in seen.lower()


def test_one_shots_leave_mail_alone_unless_told(client: Client) -> None:
    """`claude -p` shows no mail and eats none; with A2A_UNATTENDED=drain it does, and reads it with its Stop."""
    client.world.send("project-b", "the body", "For a person")
    client.headless("hello")
    assert "For a person" not in client.model.seen() and len(client.world.names()) == 1
    client.headless("hello", A2A_UNATTENDED="drain")
    assert client.model.seen().count("**Subject:** For a person") == 1
    assert client.world.names() == [] and client.world.names(folder=".shown") == []


def script_of_nested_turns(client: Client) -> list[str]:
    """Let the model leave mail for both repositories and run `claude -p` in both; return options for the outer one."""
    there = client.world.base / "project-a"
    client.model.turns = [
        bash("a2a-send project-a,project-b --subject Waiting body"),
        *(bash("claude -p 'an inner prompt'"), say("inner done")),
        *(bash(f"(cd {there} && claude -p 'an inner prompt')"), say("inner done")),
        say("outer done"),
    ]
    return ["--add-dir", str(there), "--allowedTools", "Bash"]


def assert_that_nested_turns_had_nothing(client: Client) -> None:
    shown = [text_of(request) for request in client.model.requests]
    inner = [text for text in shown if "an inner prompt" in text and "call the tool" not in text]
    assert len(inner) == 2 and not [text for text in inner if "Waiting" in text]
    assert len(client.world.names("project-a")) == len(client.world.names("project-b")) == 1


def test_a_nested_one_shot_eats_nothing(client: Client) -> None:
    """`claude -p` that a session's model runs, here or in another repository, leaves the mail where it is."""
    with client.session(*script_of_nested_turns(client)) as session:
        session.ask("call the tool", "outer done")
    assert_that_nested_turns_had_nothing(client)


def test_a_nested_one_shot_of_a_draining_one_shot_eats_nothing(client: Client) -> None:
    """A2A_UNATTENDED=drain is meant for the session that it was given to, not for those that its model starts."""
    client.headless("call the tool", *script_of_nested_turns(client), A2A_UNATTENDED="drain")
    assert_that_nested_turns_had_nothing(client)


def test_compaction_eats_nothing(client: Client) -> None:
    """`/compact` takes no mail: what waits comes with the next prompt, once, and what was read stays read."""
    client.world.send("project-b", "the body", "Before")
    with client.session() as session:
        session.ask("hello")
        client.world.send("project-b", "the body", "During")
        session.type("/compact")
        session.wait_for("Compacted")
        session.wait_until_idle()
        assert len(client.world.names()) == len(client.world.names(folder=".read")) == 1
        client.model.turns = [say("after it")]
        session.ask("go on", "after it")
        assert client.model.seen().count("**Subject:** During") == 1
        assert MARK not in client.model.seen()


def test_two_sessions_at_once_share_no_message(client: Client) -> None:
    """Two sessions of one repository opened at once: each message is in one of them, or waits; none is in both."""
    bodies = [f"{number:02d}" + "x" * 900 for number in range(24)]
    client.world.put_many("project-b", bodies)

    def open_and_ask(prompt: str) -> None:
        with client.session() as session:
            session.wait_for("SessionStart:startup says: ✉")
            session.ask(prompt)
            session.quit()

    with ThreadPoolExecutor() as pool:
        list(pool.map(open_and_ask, ["from one", "from two"]))
    one, two = (text_of(request) for request in client.model.requests)
    told = [(one.count(body), two.count(body)) for body in bodies]
    assert (1, 0) in told and (0, 1) in told
    assert set(told) <= {(1, 0), (0, 1), (0, 0)}
    assert len(client.world.names()) == told.count((0, 0))
