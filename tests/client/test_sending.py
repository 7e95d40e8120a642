"""A model that sends: no permission is asked, and what arrives is what it wrote, byte for byte."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.client.driver import Client
from tests.client.model import bash, say

pytestmark = pytest.mark.timeout(180)
# What a shell, a JSON string or a frame could spoil. Not in it is what the client asks about whatever is allowed: a
# backslash before a blank, a no-break space, a line of an argument that begins with #.
ODD = """it's "quoted" \\n\\\\"\\' `id` $HOME $(id) ${x:-y} %s !! * ~ \U0001f4ec ü

> quoted
EOF2"""
LINE = 'one `two` $three "four" \\\\n\\x \U0001f4ec'
FORMS = {
    "argument": (f"a2a-send project-b --subject Odd {shlex.quote(ODD)}", ODD),
    "heredoc": (f"a2a-send project-b --subject Odd <<'EOF'\n{ODD}\nEOF", ODD + "\n"),
    "pipe": (f"echo '{LINE}' | a2a-send project-b --subject Odd", LINE + "\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_model_sends_without_being_asked_and_nothing_is_changed(client: Client, form: str) -> None:
    """`a2a-send` with arguments, a heredoc or a pipe runs in the default permission mode and delivers every byte."""
    command, body = FORMS[form]
    client.model.turns = [bash(command), say("it is sent")]
    with client.session(at="project-a") as session:
        session.ask("leave a note", "it is sent")
    assert "sent: project-a -> project-b (" in client.model.seen()
    (name,) = client.world.names()
    message = json.loads((client.world.inbox() / name).read_text())
    assert (message["from"], message["to"], message["subject"]) == ("project-a", "project-b", "Odd")
    assert message["body"] == body


def test_what_one_session_sends_another_reads(client: Client) -> None:
    """A note that one session's model sends is in the first request of the other repository's next session, whole."""
    client.model.turns = [bash(FORMS["heredoc"][0]), say("it is sent")]
    client.headless("leave a note", at="project-a")
    with client.session() as session:
        session.wait_for("✉ 1 note: project-a (Odd)")
        session.ask("hello")
    shown = "\n".join(f"> {line}" if line else ">" for line in ODD.split("\n"))
    assert client.model.seen().count(shown) == 1


def test_a_model_shows_a_cut_message_whole_without_being_asked(client: Client) -> None:
    """`a2a-watch show ID`, which a cut note names, runs without a question and shows all of it."""
    body = "".join(f"line {number:04d}\n" for number in range(1_500))
    identity = client.world.send("project-b", body, "Long")
    client.model.turns = [bash(f"a2a-watch show {identity}"), say("read it all")]
    with client.session() as session:
        session.ask("hello", "read it all")
    assert "line 1499" not in client.model.seen(0) and body in client.model.seen()


def test_a_command_that_is_not_ours_is_still_asked_for(client: Client) -> None:
    """Setup allows our commands and nothing beside them."""
    client.model.turns = [bash("touch not-ours && a2a-send project-b --subject Odd body"), say("refused then")]
    client.headless("go on", at="project-a")
    assert not (client.world.base / "project-a" / "not-ours").exists()
    assert client.world.names() == []
