"""The skill check-inbox in the real client: typed, called by the model, with much mail, with a request that fails."""

from __future__ import annotations

import pytest

from tests.client.driver import Client, eventually
from tests.client.model import HOLD, bash, refuse, say, skill
from tests.kit import parse

pytestmark = pytest.mark.timeout(180)
MARK = "(may have been shown before, at "


def page_in(seen: str) -> str:
    """Return the one page that stands in a request."""
    assert seen.count("## A2A inbox (") == 1
    page, footer, _ = seen[seen.index("## A2A inbox (") :].partition("\n_Drained at ")
    assert footer
    return page + "\n"


def test_thirty_notes_come_in_one_check_inbox(client: Client) -> None:
    """30 messages of 500 characters are in one `/check-inbox`, whole and in order, in the skill's own text."""
    bodies = [f"{number:02d}" + "x" * 498 for number in range(30)]
    with client.session() as session:
        client.world.put_many("project-b", bodies)
        client.model.turns = [say("summed up")]
        session.ask("/check-inbox", "summed up")
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made them read")
        assert "UserPromptSubmit says" not in session.screen()
    seen = client.model.seen()
    assert [message.body for message in parse(page_in(seen))] == bodies
    # The skill's own words stand around the page: it is not what a hook added.
    assert seen.index("Notes for this repository from") < seen.index("> 00x") < seen.index("If nothing stands above")
    assert client.world.names() == [] and len(client.world.names(folder=".read")) == 30


def test_check_inbox_shows_mail_in_the_middle_of_a_session(client: Client) -> None:
    """`/check-inbox` after other prompts shows what came meanwhile, once; asked again, it has nothing."""
    with client.session() as session:
        session.ask("hello")
        client.world.send("project-b", "the body", "Meanwhile")
        client.model.turns = [say("one note"), say("no note"), say("nothing new")]
        session.ask("/check-inbox", "one note")
        assert client.model.seen().count("**Subject:** Meanwhile") == 1 and MARK not in client.model.seen()
        assert "UserPromptSubmit says" not in session.screen()
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
        session.ask("/check-inbox", "no note")
        session.ask("go on", "nothing new")
    assert client.model.seen().count("**Subject:** Meanwhile") == 1
    assert client.world.names() == []


def test_a_loop_shows_what_waits(client: Client) -> None:
    """`/loop 5m /check-inbox` has what waits once, and what comes during its run in the skill that it calls."""
    client.world.send("project-b", "the body", "Before")
    with client.session() as session:
        session.ask("hello")
        client.world.send("project-b", "the body", "Waiting")
        client.model.turns = [bash("a2a-send project-b --subject Later body"), skill("check-inbox"), say("checked")]
        session.ask("/loop 5m /check-inbox", "checked")
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
    assert [client.model.seen().count(f"**Subject:** {one}") for one in ("Before", "Waiting", "Later")] == [1, 1, 1]
    assert client.world.names() == []


def test_the_model_may_call_the_skill(client: Client) -> None:
    """A model that calls check-inbox itself is not asked for permission, and has the mail that came in its turn."""
    client.model.turns = [bash("a2a-send project-b --subject Itself body"), skill("check-inbox"), say("looked")]
    with client.session() as session:
        session.ask("any mail?", "looked")
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
    assert client.model.seen().count("**Subject:** Itself") == 1 and client.world.names() == []


def test_a_one_shot_check_inbox_shows_mail(client: Client) -> None:
    """`claude -p "/check-inbox"` is asked for by name: it shows the mail and its Stop makes it read."""
    client.world.send("project-b", "the body", "Asked for")
    client.headless("/check-inbox")
    assert client.model.seen().count("**Subject:** Asked for") == 1
    assert client.world.names() == [] and client.world.names(folder=".shown") == []


@pytest.mark.parametrize("failure", ["400", "429", "Escape"])
def test_mail_of_a_check_inbox_whose_request_fails_comes_back_marked(client: Client, failure: str) -> None:
    """Mail first shown by `/check-inbox` whose request is refused or interrupted is in the next session, marked."""
    with client.session(CLAUDE_CODE_MAX_RETRIES="0") as session:
        session.ask("hello")
        client.world.send("project-b", "the body", "The subject")
        asked = len(client.model.requests)
        client.model.always = HOLD if failure == "Escape" else refuse(int(failure))
        session.type("/check-inbox")
        if failure == "Escape":
            eventually(lambda: len(client.model.requests) > asked, "no request was made", session.screen)
            session.press("Escape")
        else:
            session.wait_for("API Error")
        session.wait_until_idle()
        assert client.model.seen().count("**Subject:** The subject") == 1 and MARK not in client.model.seen()
        session.quit()
    assert len(client.world.names()) == 1
    client.model.always = say("ok")
    with client.session() as session:
        session.ask("and now")
        assert client.model.seen().count("**Subject:** The subject") == client.model.seen().count(MARK) == 1
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
    assert client.world.names() == []


@pytest.mark.parametrize("prompt", ["/check-inbox", "go on", "any mail?"])
def test_a_note_makes_the_client_read_no_file(client: Client, prompt: str) -> None:
    """`@path` in a body or a subject, which the client would read into the context, stays what was written."""
    paths = [client.world.base / f"file-{number}" for number in range(6)]
    forms = ["see @{}", "@{} first", 'see @"{}"', "\u00a0@{}", "line\n@{}", "tab\t@{}"]
    notes = [form.format(path) for form, path in zip(forms, paths, strict=True)]
    for number, path in enumerate(paths):
        path.write_text(f"SECRET {number}")
    with client.session() as session:
        session.ask("hello")
        if prompt == "any mail?":
            # The model sends them to itself, in its own turn, and then calls the skill.
            turns = [
                bash(f"a2a-send project-b --subject '{note}' <<'EOT'\n{note}\nEOT") for note in (notes[0], notes[2])
            ]
            client.model.turns = [*turns, skill("check-inbox"), say("done")]
        else:
            for note in notes:
                client.world.send("project-b", note, note.replace("\n", " "))
            client.model.turns = [say("done")]
        session.ask(prompt, "done")
    assert "file-0" in client.model.seen() and client.world.names() == []
    assert "SECRET" not in client.model.seen()
