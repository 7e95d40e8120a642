"""Shown is not read: only a later Stop of the session makes it so, and whatever else ends it gives the mail back."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from a2a_watch.light.process import is_gone, name_process
from tests.kit import HOOK, World, client, marks, parse


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


@pytest.mark.parametrize("ends", ["SessionEnd", "killed"])
def test_a_name_that_is_used_twice_loses_neither_message(world: World, ends: str) -> None:
    """What a session was shown returns beside a new file of the same name."""
    world.put("project-b", "status.json", body="ONE")
    with client() as pid:
        world.hook("UserPromptSubmit", prompt="x", pid=pid)
        world.put("project-b", "status.json", body="TWO")
        if ends == "SessionEnd":
            world.hook("SessionEnd", pid=pid)
    shown = parse(world.hook(session="s2").text)
    assert {message.body: bool(message.mark) for message in shown} == {"ONE": True, "TWO": False}


def test_a_drain_by_hand_looks_at_every_session_s_receipt(world: World) -> None:
    """A killed session's mail is seen by the skill of another that is open, although that has no receipt itself."""
    other = "22222222-2222-4222-8222-222222222222"
    world.send("project-b", "one")
    with client() as pid:
        world.hook("UserPromptSubmit", prompt="x", pid=pid, session="11111111-1111-4111-8111-111111111111")
    assert world.hook("UserPromptSubmit", prompt="x", session=other).raw == b""
    env = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": other}
    assert len(parse(world.drain("project-b", "--receipts", env=env).text)) == 1


def test_a_time_in_the_far_future_holds_nothing_back(world: World) -> None:
    """A receipt whose process cannot be looked up and whose clock was wrong gives its mail back."""
    world.send("project-b", "one")
    world.hook(session="s1")
    receipt = world.inbox() / ".shown" / "s1"
    content = json.loads(receipt.read_text())
    content = {"process": "", "shown": {name: ["2099-01-01T00:00:00Z"] for name in content["shown"]}}
    receipt.write_text(json.dumps(content))
    assert len(parse(world.hook(session="s2").text)) == 1


def test_two_long_session_ids_have_two_receipts(world: World) -> None:
    """A Stop of one confirms nothing of the other, however alike they begin."""
    world.send("project-b", "one")
    world.hook(session="é" * 300 + "1")
    world.hook("Stop", session="é" * 300 + "2")
    assert len(world.names(folder=".shown")) == 1


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
