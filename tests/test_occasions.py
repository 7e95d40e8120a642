"""When a drain shows mail and when it leaves it alone, and what the skill, the person and other hosts get."""

from __future__ import annotations

import json

import pytest

from a2a_watch import inbox
from a2a_watch.light.process import name_process
from tests.kit import HOOK, World, client, marks, parse, said


def test_the_skill_s_drain_leaves_a_receipt_of_its_session(world: World) -> None:
    """By hand inside a session the variable names the session, and its Stop confirms."""
    world.send("project-b", "one")
    assert world.hook("UserPromptSubmit", prompt="/check-inbox").text == ""
    env = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1", "A2A_PROJECT_DIR": str(world.base / "project-b")}
    assert marks(world.drain("project-a", "--receipts", env=env).text) == [""]
    world.hook("SessionEnd")
    assert marks(world.drain("project-a", "--receipts", env=env).text)[0].startswith("(may have been")
    world.hook("Stop")
    assert world.names(folder=".shown") == [] and world.names() == []


@pytest.mark.parametrize("prompt", ["/check-inbox", "  /check-inbox now", "/a2a-watch:check-inbox"])
def test_the_prompt_that_runs_the_skill_leaves_it_the_mail(world: World, prompt: str) -> None:
    """That prompt's hook shows nothing, but leaves the session's process for a drain that cannot see processes."""
    world.send("project-b", "one")
    with client() as pid:
        assert world.hook("UserPromptSubmit", prompt=prompt, pid=pid).raw == b""
        env = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1", "CLAUDE_PID": "999999999"}
        assert marks(world.drain("project-b", "--receipts", env=env).text) == [""]
        assert json.loads((world.inbox() / ".shown" / "s1").read_text())["process"] == name_process(str(pid))
    assert marks(world.hook(session="s2").text)[0].startswith("(may have been")


def test_any_other_prompt_drains(world: World) -> None:
    """Mail that came meanwhile rides along with the next prompt."""
    world.send("project-b", "one")
    assert len(parse(world.hook("UserPromptSubmit", prompt="see /check-inbox").text)) == 1


def test_a_receipt_whose_process_nobody_can_look_up_holds_mail_back_for_a_day(world: World) -> None:
    """It counts as alive, but not for ever: a session killed inside a sandbox loses nothing."""
    world.send("project-b", "one")
    world.hook(session="s1")
    receipt = world.inbox() / ".shown" / "s1"
    content = json.loads(receipt.read_text())
    content["process"] = "5 pid:[1] 5"
    receipt.write_text(json.dumps(content))
    assert world.hook(session="s2").raw == b""
    content["shown"] = {name: ["2026-01-01T00:00:00Z"] for name in content["shown"]}
    receipt.write_text(json.dumps(content))
    assert marks(world.hook(session="s2").text) == ["(may have been shown before, at 2026-01-01T00:00:00Z)"]
    assert inbox.HOLD_SECONDS == 24 * 3600


def test_nothing_is_drained_where_no_person_s_session_would_see_it(world: World) -> None:
    """Compaction, a subagent, an unattended session and events whose text reaches no model leave mail alone."""
    world.send("project-b", "one")
    assert world.hook(source="compact").raw == b""
    assert world.hook(agent_id="a1").raw == b""
    assert world.hook(env={"CLAUDE_CODE_SESSION_ATTENDED": "0", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}).raw == b""
    assert world.hook(env={"CLAUDE_CODE_SESSION_ATTENDED": "", "CLAUDE_CODE_ENTRYPOINT": "sdk-py"}).raw == b""
    for event in ("PreToolUse", "Stop", "SessionEnd", "FileChanged", "StopFailure"):
        assert world.hook(event).raw == b""
        assert world.hook(event, receipts=False).raw == b""
    assert len(world.names()) == 1


def test_an_unattended_session_may_ask_for_its_mail(world: World) -> None:
    """A2A_UNATTENDED=drain gives a `claude -p` session its mail, with receipts as for any other."""
    world.send("project-b", "one")
    env = {"CLAUDE_CODE_SESSION_ATTENDED": "0", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "A2A_UNATTENDED": "drain"}
    assert len(parse(world.hook(env=env).text)) == 1
    assert (world.inbox() / ".shown" / "s1").exists()


def test_a_session_id_that_is_no_file_name_is_as_good(world: World) -> None:
    """A receipt never leaves its folder, and a Stop finds it again."""
    world.send("project-b", "one")
    world.hook(session="../../x y")
    assert len(world.names(folder=".shown")) == 1 and not (world.root / "x y").exists()
    world.hook("Stop", session="../../x y")
    assert world.names(folder=".shown") == []


def test_two_folders_with_one_name_are_told_apart_for_the_person(world: World) -> None:
    """A drain from another folder of the same name says so once, with the cure; a moved folder says nothing."""
    other = world.repo("elsewhere/project-b")
    world.send("project-b", "one")
    world.hook()
    world.send("project-b", "two")
    got = world.hook(at="elsewhere/project-b", session="s2")
    assert "project-b shares the inbox project-b" in got.person and ".agent-id" in got.person
    world.send("project-b", "three")
    assert "shares" not in world.hook(at="elsewhere/project-b", session="s2").person
    (other / ".git").rmdir()
    other.rmdir()
    world.send("project-b", "four")
    assert "shares" not in world.hook(session="s3").person


def test_a_host_that_knows_no_system_message_gets_the_minimal_form(world: World) -> None:
    """Without the client's variables an event is answered with the one key that every host accepts."""
    world.send("project-b", "one")
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1"}
    done = world.run(HOOK, at="project-b", input=json.dumps(event).encode())
    assert list(json.loads(done.stdout)) == ["hookSpecificOutput"]
    assert len(parse(said(done).text)) == 1
