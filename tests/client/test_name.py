"""A session keeps its name, wherever its model goes."""

from __future__ import annotations

import json

import pytest

from tests.client.driver import Client
from tests.client.model import bash, say, skill

pytestmark = pytest.mark.timeout(180)
SEND = bash("a2a-send project-c --subject Signed body")


@pytest.fixture
def away(client: Client) -> list[str]:
    """Return the options with which a session of project-b may go to project-a."""
    settings = client.world.home / ".claude" / "settings.json"
    found = json.loads(settings.read_text())
    found["permissions"]["allow"] += ["Bash(claude *)"]
    settings.write_text(json.dumps(found))
    return ["--add-dir", str(client.world.base / "project-a")]


def go(client: Client) -> dict[str, object]:
    """Return the turn in which the model goes to project-a and stays there."""
    return bash(f"cd {client.world.base / 'project-a'}")


def senders(client: Client) -> list[str]:
    return [json.loads((client.world.inbox("project-c") / name).read_text())["from"]
            for name in client.world.names("project-c")]  # fmt: skip


def test_after_cd_a_note_is_signed_by_its_own_agent_and_the_skill_drains_its_own_inbox(
    client: Client, away: list[str]
) -> None:
    """In another repository's folder `a2a-send` signs with the session's name, and check-inbox shows its own mail."""
    client.world.send("project-a", "not for b", "A stranger's", at="project-b")
    with client.session(*away) as session:
        client.model.turns = [go(client), bash("pwd"), SEND, say("went there")]
        session.ask("go there", "went there")
        answer = f"\n{client.world.base / 'project-a'}\n"
        assert client.model.seen(2).count(answer) == client.model.seen(1).count(answer) + 1
        client.world.send("project-b", "for b", "Its own")
        client.model.turns = [say("looked")]
        session.ask("/check-inbox", "looked")
        assert client.model.seen().count("**Subject:** Its own") == 1 and "A stranger's" not in client.model.seen()
    assert senders(client) == ["project-b"]


def test_the_name_outlives_clear_and_resume(client: Client, away: list[str]) -> None:
    """After `/clear`, and in a session that is resumed, a note sent from elsewhere is still signed by its own agent."""
    with client.session(*away) as session:
        client.model.turns = [go(client), say("first")]
        session.ask("go there", "first")
        session.type("/clear")
        session.wait_until_idle()
        client.model.turns = [go(client), SEND, say("second")]
        session.ask("send", "second")
        session.quit()
    with client.session(*away, "--continue") as session:
        client.model.turns = [go(client), SEND, say("third")]
        session.ask("send again", "third")
    assert senders(client) == ["project-b"] * 2


def test_a_nested_session_has_its_own_repositorys_name(client: Client, away: list[str]) -> None:
    """`claude -p` that a session's model starts in another repository signs with that repository's name."""
    client.model.turns = [go(client), bash("claude -p inner"), SEND, say("inner done"), SEND, say("outer done")]
    with client.session(*away) as session:
        session.ask("start it", "outer done")
    assert senders(client) == ["project-a", "project-b"]


def test_a_skill_that_the_model_calls_elsewhere_shows_its_own_mail(client: Client, away: list[str]) -> None:
    """A model in another repository's folder that calls check-inbox has the mail of its own session's agent."""
    client.world.send("project-a", "not for b", "A stranger's", at="project-b")
    with client.session(*away) as session:
        client.model.turns = [go(client), bash("a2a-send project-b --subject Itself body"), skill("check-inbox"),
                              say("looked")]  # fmt: skip
        session.ask("go on", "looked")
    assert client.model.seen().count("**Subject:** Itself") == 1 and "A stranger's" not in client.model.seen()
    assert len(client.world.names("project-a")) == 1
