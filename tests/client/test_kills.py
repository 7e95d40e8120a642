"""A client that dies: its mail waits for the next session, marked when it may have been shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.client.driver import Client, eventually
from tests.client.mail import assert_that_it_comes_once_more
from tests.client.model import HOLD
from tests.kit import PYTHON

pytestmark = pytest.mark.timeout(180)


class Gate:
    """A python3 for the drain that stops there until it is let through, before it runs or after it has printed."""

    def __init__(self, client: Client, before: bool) -> None:
        base = client.world.base
        self._fifo, self._reached, self._passed = base / "gate", base / "reached", base / "passed"
        os.mkfifo(self._fifo)
        self.python = base / "gate-python"
        stop, run = f"echo >{self._reached}; read -r word <{self._fifo}", f'{PYTHON} "$@"; status=$?'
        steps = [stop, run] if before else [run, stop]
        self.python.write_text("\n".join(["#!/bin/sh", *steps, f"echo >{self._passed}; exit $status", ""]))
        self.python.chmod(0o755)

    def wait(self) -> None:
        """Wait until a drain stands at the gate."""
        eventually(self._reached.exists, "no drain came")

    def open(self) -> None:
        """Let the drain that stands there through, and wait until it has ended."""
        if self._reached.exists() and not self._passed.exists():
            with self._fifo.open("w") as fifo:
                fifo.write("go\n")
            eventually(self._passed.exists, "the drain did not end")


@contextmanager
def gate(client: Client, before: bool) -> Iterator[Gate]:
    """Give a gate, and leave no drain standing there."""
    made = Gate(client, before)
    try:
        yield made
    finally:
        made.open()


def test_mail_of_a_client_killed_before_the_first_prompt_comes_back(client: Client) -> None:
    """SIGKILL at the first prompt: nothing of the client runs any more, and the next session has the mail, marked."""
    client.world.send("project-b", "the body", "The subject")
    with client.session() as session:
        session.wait_for("✉ 1 note")
        session.kill()
    assert client.world.names() == []
    assert_that_it_comes_once_more(client)


def test_mail_of_a_terminal_that_was_closed_comes_back(client: Client) -> None:
    """The terminal is closed before the first prompt: the next session has the mail, marked."""
    client.world.send("project-b", "the body", "The subject")
    with client.session() as session:
        session.wait_for("✉ 1 note")
        session.hang_up()
    assert_that_it_comes_once_more(client)


def test_mail_of_a_client_killed_during_a_request_comes_back(client: Client) -> None:
    """SIGKILL while the model has not answered: what was shown at that prompt comes back, marked."""
    client.model.always = HOLD
    with client.session() as session:
        client.world.send("project-b", "the body", "The subject")
        session.type("hello")
        eventually(lambda: bool(client.model.requests), "no request was made", session.screen)
        session.kill()
    assert_that_it_comes_once_more(client)


def test_a_drain_whose_client_was_killed_before_it_ran_shows_nothing_to_nobody(client: Client) -> None:
    """The client dies while its drain starts: nobody listens when the drain runs, and the mail stays pending."""
    client.world.send("project-b", "the body", "The subject")
    with gate(client, before=True) as stopped, client.session(A2A_PYTHON=str(stopped.python)) as session:
        stopped.wait()
        session.kill()
        stopped.open()
    assert len(client.world.names()) == 1
    assert_that_it_comes_once_more(client, marked=False)


def test_mail_whose_client_was_killed_while_the_drain_ended_comes_back(client: Client) -> None:
    """The client dies when the drain has printed and has not ended: the mail may have been shown, and is marked."""
    client.world.send("project-b", "the body", "The subject")
    with gate(client, before=False) as stopped, client.session(A2A_PYTHON=str(stopped.python)) as session:
        stopped.wait()
        session.kill()
        stopped.open()
    assert_that_it_comes_once_more(client)


def test_mail_whose_drain_at_a_prompt_lost_its_client_comes_back(client: Client) -> None:
    """The same at a prompt: no request was made yet, and the next session has the mail, marked."""
    with gate(client, before=False) as stopped, client.session(A2A_PYTHON=str(stopped.python)) as session:
        client.world.send("project-b", "the body", "The subject")
        session.type("hello")
        stopped.wait()
        assert not client.model.requests
        session.kill()
        stopped.open()
    assert_that_it_comes_once_more(client)
