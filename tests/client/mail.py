"""What several tests expect of mail that a session lost."""

from __future__ import annotations

from tests.client.driver import Client, eventually
from tests.client.model import say

MARK = "(may have been shown before, at "


def assert_that_it_comes_once_more(client: Client, marked: bool = True) -> None:
    """Open two sessions: the first shows the one message, `The subject`, and its turn makes it read for the second."""
    client.model.always = say("ok")
    with client.session() as session:
        session.wait_for("SessionStart:startup says: ✉ 1 note: project-a (The subject)")
        session.ask("and now")
        assert client.model.seen().count("**Subject:** The subject") == 1
        assert client.model.seen().count(MARK) == marked
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
        session.quit()
    with client.session() as session:
        session.ask("once more")
        assert "The subject" not in client.model.seen()
        session.quit()
    assert client.world.names() == [] and len(client.world.names(folder=".read")) >= 1
