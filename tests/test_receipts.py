"""Shown is not read: only a later Stop of the session makes it so, and whatever else ends it gives the mail back."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from a2a_watch import inbox
from a2a_watch.light.process import is_gone, name_process
from tests.kit import HOOK, World, parse, said


@contextmanager
def client() -> Iterator[int]:
    """Stand for a client's process; it is killed on the way out."""
    process = subprocess.Popen(["sleep", "1000"])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def marks(text: str) -> list[str]:
    return [message.mark for message in parse(text)]


def test_a_stop_makes_shown_mail_read(world: World) -> None:
    """After a turn that ended well the mail never comes again, however the session ends."""
    world.send("project-b", "one")
    with client() as pid:
        assert marks(world.hook(pid=pid).text) == [""]
        assert world.hook("Stop", pid=pid).raw == b""
        assert world.hook("SessionEnd", pid=pid).raw == b""
    assert world.hook(session="s2").raw == b""
    assert world.names() == [] and len(world.names(folder=".read")) == 1
    assert world.names(folder=".shown") == []


@pytest.mark.parametrize("event", ["UserPromptSubmit", "StopFailure", "Notification", "SubagentStop", "PreCompact"])
def test_no_other_event_confirms(world: World, event: str) -> None:
    """A prompt, a failed turn or anything else is no proof that a model saw the mail."""
    world.send("project-b", "one")
    world.hook()
    world.hook(event, prompt="hello")
    world.hook("SessionEnd")
    assert marks(world.hook(session="s2").text)[0].startswith("(may have been shown before, at ")


def test_only_the_session_that_was_shown_the_mail_confirms_it(world: World) -> None:
    """Another session's Stop, and a subagent's, confirm nothing."""
    world.send("project-b", "one")
    world.hook(session="s1")
    world.hook("Stop", session="s2")
    world.hook("Stop", session="s1", agent_id="a1")
    assert (world.inbox() / ".shown" / "s1").exists()


def test_a_session_that_ends_without_a_stop_gives_its_mail_back(world: World) -> None:
    """The mail is pending again at once, the marker says so, and the next showing is marked."""
    world.send("project-b", "one")
    world.hook()
    assert world.marker() is None
    world.hook("SessionEnd", reason="prompt_input_exit")
    marker = world.marker()
    assert world.names() and marker and marker["count"] == 1
    got = world.hook(session="s2")
    assert marks(got.text)[0].startswith("(may have been shown before, at ")
    world.hook("Stop", session="s2")
    assert world.hook(session="s3").raw == b""


def test_what_one_session_read_does_not_come_back_from_another_that_was_shown_it_too(world: World) -> None:
    """A drain that died before archiving leaves a receipt; a Stop of the session that read the mail settles both."""
    world.send("project-b", "one")
    (name,) = world.names()
    with client() as pid:
        receipt = {"process": name_process(str(pid)), "shown": {name: ["2026-01-01T00:00:00Z"]}}
        (world.inbox() / ".shown").mkdir()
        (world.inbox() / ".shown" / "s1").write_text(json.dumps(receipt))
        assert marks(world.hook(session="s2").text) == ["(may have been shown before, at 2026-01-01T00:00:00Z)"]
        world.hook("Stop", session="s2")
    assert world.hook(session="s3").raw == b"" and world.names() == []


def test_a_killed_client_s_mail_comes_back_at_the_next_drain(world: World) -> None:
    """A process that is gone confirms nothing; one that is alive keeps its receipt."""
    world.send("project-b", "one")
    with client() as pid:
        world.hook(session="s1", pid=pid)
        assert world.hook(session="s2").raw == b""
    assert marks(world.hook(session="s2").text)[0].startswith("(may have been shown before, at ")


def test_a_reused_process_number_is_not_the_old_process() -> None:
    """A process is its number and its start."""
    with client() as pid:
        name = name_process(str(pid))
        assert is_gone(name) is False
        assert is_gone(name + "1") is True
        assert is_gone(name.replace("pid:[", "pid:[9")) is None
    assert is_gone(name) is True


def test_without_the_client_s_number_the_hook_looks_past_the_shells_that_ran_it(world: World) -> None:
    """The receipt names the process that started the shell, not the shell that is gone when the hook ends."""
    world.send("project-b", "one")
    event = json.dumps({"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1"})
    env = world.env(CLAUDE_PROJECT_DIR=str(world.base / "project-b"))
    command = ["sh", "-c", 'bash -c \'"$0" --receipts; true\' "$0"; true', str(HOOK)]
    subprocess.run(command, input=event.encode(), env=env, check=True, stdout=subprocess.PIPE)
    receipt = json.loads((world.inbox() / ".shown" / "s1").read_text())
    assert receipt["process"] == name_process(str(os.getpid()))


def test_a_zombie_is_gone() -> None:
    """A client that died and was not waited for confirms nothing."""
    process = subprocess.Popen(["sleep", "1000"])
    name = name_process(str(process.pid))
    process.kill()
    with open(f"/proc/{process.pid}/stat", "rb") as file:
        while b") Z " not in file.read():
            file.seek(0)
    assert is_gone(name) is True
    process.wait()


def test_a_new_session_in_the_same_process_gives_back_what_the_old_one_never_confirmed(world: World) -> None:
    """`/clear` without its SessionEnd: the new session sees the mail, marked."""
    world.send("project-b", "one")
    with client() as pid:
        world.hook(session="s1", pid=pid)
        assert marks(world.hook(session="s2", source="clear", pid=pid).text)[0].startswith("(may have been shown")


def test_two_handlers_of_one_start_show_mail_once(world: World) -> None:
    """A second handler of the same start, from a plugin beside the settings, shows and gives back nothing."""
    world.send("project-b", "one")
    assert marks(world.hook().text) == [""]
    assert world.hook().raw == b""
    assert world.hook("UserPromptSubmit", prompt="x").raw == b""


def test_a_resumed_session_sees_again_what_its_killed_process_never_confirmed(world: World) -> None:
    """The session's id is the old one, its process is not."""
    world.send("project-b", "one")
    with client() as pid:
        world.hook(session="s1", pid=pid)
    with client() as pid:
        assert marks(world.hook(session="s1", source="resume", pid=pid).text)[0].startswith("(may have been shown")
        world.hook("Stop", session="s1", pid=pid)
    assert world.hook(session="s1", source="resume").raw == b""


def test_repeating_ends_after_three_showings(world: World) -> None:
    """The third showing says that it is the last, and then the mail stays read."""
    world.send("project-b", "one")
    seen = []
    for number in range(3):
        (inbox_name,) = world.names()
        history = world.inbox() / ".shown" / ".history"
        if history.exists():  # showings are told apart by the second, and this test takes less
            content = json.loads(history.read_text())
            content["shown"] = {inbox_name: [f"2026-01-0{i + 1}T00:00:00Z" for i in range(number)]}
            history.write_text(json.dumps(content))
        seen += marks(world.hook(session=f"s{number}").text)
        world.hook("SessionEnd", session=f"s{number}")
    assert seen[0] == "" and "last time" not in seen[1] and seen[2].endswith("this is the last time)")
    assert world.names() == [] and len(world.names(folder=".read")) == 1
    assert world.hook(session="s9").raw == b""


def test_without_receipts_shown_is_read_at_once(world: World) -> None:
    """A lone hook, or a drain in a terminal, has nobody to confirm."""
    world.send("project-b", "one")
    assert marks(world.hook(receipts=False).text) == [""]
    world.hook("SessionEnd", receipts=False)
    assert world.hook(session="s2").raw == b"" and world.names(folder=".shown") == []
    world.send("project-b", "two")
    assert marks(world.drain().text) == [""]
    assert world.drain().raw == b""


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
    assert inbox.UNKNOWN_PROCESS_SECONDS == 24 * 3600


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
