"""Sending and reading in a session whose commands run in the client's sandbox."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from tests.client.driver import Client, eventually
from tests.client.model import bash, say
from tests.client.test_sending import FORMS

pytestmark = pytest.mark.timeout(180)


def has_sandbox() -> bool:
    """Tell whether this kernel lets a program of this user make one, as the client does."""
    words = [
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--unshare-pid",
        "--proc",
        "/proc",
        "--unshare-net",
        "true",
    ]
    needed = shutil.which("bwrap") and shutil.which("socat")
    return bool(needed) and subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.fixture
def sandboxed(client: Client) -> Client:
    """Return a client that runs every command in its sandbox."""
    if not has_sandbox():
        pytest.skip("no bwrap or no socat here, or the kernel forbids a sandbox; try: apt install bubblewrap socat")
    settings = client.world.home / ".claude" / "settings.json"
    found = json.loads(settings.read_text())
    # Without autoAllow: what runs unasked is what setup allowed, and not whatever is in the sandbox.
    found["sandbox"].update(enabled=True, autoAllowBashIfSandboxed=False, allowUnsandboxedCommands=False)
    found["permissions"]["allow"].append("Bash(./leave-a-trace)")
    settings.write_text(json.dumps(found))
    trace = client.world.base / "project-a" / "leave-a-trace"
    trace.write_text("#!/bin/sh\ntouch ~/trace\n")
    trace.chmod(0o755)
    return client


@pytest.mark.parametrize("form", FORMS)
def test_a_model_in_the_sandbox_sends_without_being_asked(sandboxed: Client, form: str) -> None:
    """In the sandbox each form of `a2a-send` runs unasked, delivers every byte, and sets the marker."""
    command, body = FORMS[form]
    sandboxed.model.turns = [bash("./leave-a-trace"), bash(command), say("it is sent")]
    with sandboxed.session(at="project-a") as session:
        session.ask("leave a note", "it is sent")
    assert "Read-only file system" in sandboxed.model.seen(1)
    (name,) = sandboxed.world.names()
    message = json.loads((sandboxed.world.inbox() / name).read_text())
    assert (message["from"], message["body"]) == ("project-a", body)
    marker = sandboxed.world.marker()
    assert marker and marker["count"] == 1


def test_a_session_keeps_its_name_in_the_sandbox(sandboxed: Client) -> None:
    """After `cd` into another repository a sandboxed `a2a-send` is signed by the session's own agent."""
    there = sandboxed.world.base / "project-a"
    sandboxed.model.turns = [bash(f"cd {there}"), bash("a2a-send project-c --subject S body"), say("it is sent")]
    with sandboxed.session("--add-dir", str(there)) as session:
        session.ask("go there and send", "it is sent")
    (name,) = sandboxed.world.names("project-c")
    assert json.loads((sandboxed.world.inbox("project-c") / name).read_text())["from"] == "project-b"


def test_check_inbox_works_in_the_sandbox(sandboxed: Client) -> None:
    """`/check-inbox` of a sandboxed session shows what came, and the Stop, which runs outside, makes it read."""
    with sandboxed.session() as session:
        session.ask("hello")
        sandboxed.world.send("project-b", "the body", "Meanwhile")
        sandboxed.model.turns = [say("one note")]
        session.ask("/check-inbox", "one note")
        assert sandboxed.model.seen().count("**Subject:** Meanwhile") == 1
        eventually(lambda: not sandboxed.world.names(folder=".shown"), "the Stop made it read")
    assert sandboxed.world.names() == [] and len(sandboxed.world.names(folder=".read")) == 1
