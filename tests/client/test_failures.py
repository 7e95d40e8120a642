"""Mail that a session was shown and whose model never had it comes back, marked; what a turn had does not."""

from __future__ import annotations

import pytest

from tests.client.driver import Client, Session, eventually
from tests.client.mail import assert_that_it_comes_once_more
from tests.client.model import HOLD, refuse, say

pytestmark = pytest.mark.timeout(180)
RETRIES = {"400": "0", "401": "0", "429": "0", "429 still retried": "10", "Escape": "10"}


def meet(client: Client, session: Session, failure: str) -> None:
    """Send a prompt whose request fails in the named way, and wait until the session shows that it did."""
    asked = len(client.model.requests)
    client.model.always = HOLD if failure == "Escape" else refuse(int(failure.split(maxsplit=1)[0]))
    session.type("a prompt that fails")
    if failure == "Escape":
        eventually(lambda: len(client.model.requests) > asked, "no request was made", session.screen)
        session.press("Escape")
        session.wait_until_idle()
    elif failure.endswith("retried"):
        session.wait_for("retrying in")
    else:
        session.wait_for("API Error")


def test_mail_of_a_session_that_was_quit_without_a_prompt_comes_back(client: Client) -> None:
    """Opened and quit without a prompt: no model had the mail, and the next session has it, marked."""
    client.world.send("project-b", "the body", "The subject")
    with client.session() as session:
        session.wait_for("✉ 1 note")
        session.quit()
    assert_that_it_comes_once_more(client)


@pytest.mark.parametrize("failure", RETRIES)
def test_mail_shown_at_a_start_comes_back_when_every_request_failed(client: Client, failure: str) -> None:
    """Refused, signed out, over the limit or interrupted at the first prompt: the next session has the mail, marked."""
    client.world.send("project-b", "the body", "The subject")
    with client.session(CLAUDE_CODE_MAX_RETRIES=RETRIES[failure]) as session:
        session.wait_for("✉ 1 note")
        meet(client, session, failure)
        session.quit()
    assert_that_it_comes_once_more(client)


@pytest.mark.parametrize("failure", RETRIES)
def test_mail_shown_at_a_prompt_comes_back_when_its_request_failed(client: Client, failure: str) -> None:
    """The same for mail that came in the middle of a session, whose earlier turn ended well."""
    with client.session(CLAUDE_CODE_MAX_RETRIES=RETRIES[failure]) as session:
        session.ask("hello")
        client.world.send("project-b", "the body", "The subject")
        meet(client, session, failure)
        assert client.world.names() == []
        session.quit()
    assert_that_it_comes_once_more(client)


def test_what_a_stop_confirmed_stays_read_whatever_fails_later(client: Client) -> None:
    """A turn that ended well makes its mail read; a later failure in the same session brings back only later mail."""
    client.world.send("project-b", "the body", "Read one")
    with client.session(CLAUDE_CODE_MAX_RETRIES="0") as session:
        session.ask("hello")
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
        client.world.send("project-b", "the body", "The subject")
        meet(client, session, "400")
        session.quit()
    assert len(client.world.names(folder=".read")) == 1
    assert_that_it_comes_once_more(client)


def test_a_later_turn_that_ends_well_confirms_what_a_failed_one_carried(client: Client) -> None:
    """After a failure the mail is in the history of the next request of that session, whose Stop makes it read."""
    with client.session(CLAUDE_CODE_MAX_RETRIES="0") as session:
        session.ask("hello")
        client.world.send("project-b", "the body", "The subject")
        meet(client, session, "400")
        client.model.turns = [say("it works again")]
        session.ask("try again", "it works again")
        assert client.model.seen().count("**Subject:** The subject") == 1
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
        session.quit()
    assert client.world.names() == []
