"""`a2a-watch doctor`: each link from a sender to a model is broken for real, and said with what to type."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from tests.doctor import WATCH, Clinic, script
from tests.kit import PYTHON, World
from tests.rights import AS_PLAIN_USER, assert_that_modes_count, tree


@pytest.fixture
def clinic(world: World) -> Clinic:
    return Clinic(world)


def test_after_setup_nothing_is_wrong(clinic: Clinic) -> None:
    """After `a2a-watch setup --yes`, and with mail in the inbox, every link is ok and doctor exits 0."""
    clinic.world.send("project-b", "hello")
    found = clinic.ask()
    assert [one for one in found if one.state != "ok"] == []
    by_link = {one.link: one.says for one in found}
    assert by_link["agent"] == f"project-a (rule 3: git root {clinic.world.base / 'project-a'})"
    assert str(clinic.world.root) in by_link["root"]
    assert "2.1.332" in by_link["client"]
    links = {"agent", "root", "PATH", "client", "hooks", "hook", "python3", "skills", "permissions", "sandbox"}
    links |= {"wake", "watcher", "events", "bus"}
    assert set(by_link) == (links if sys.platform == "linux" else links - {"events", "bus"})
    assert str(clinic.bin / "a2a-send") in [one.says for one in found if one.link == "PATH"]
    assert by_link["hook"].count(" ms ") == 2
    assert str(clinic.bin / "python3") in by_link["python3"]


def test_a_person_reads_one_line_for_each_link(clinic: Clinic) -> None:
    """Each line is the state, the link, what was found and what to type; exit 1 on a fail, 0 on a warning alone."""
    clinic.world.root.chmod(0o755)
    done = clinic.run(WATCH, "doctor")
    (bad,) = [line for line in done.stdout.decode().splitlines() if not line.startswith("ok    ")]
    assert bad.startswith("warn  root: ") and f"; try: chmod 700 {clinic.world.root}" in bad
    assert (done.returncode, done.stderr) == (0, b"")
    clinic.edit(disableAllHooks=True)
    done = clinic.run(WATCH, "doctor")
    states = {line[:6] for line in done.stdout.decode().splitlines()}
    assert (done.returncode, done.stderr, states) == (1, b"", {"ok    ", "warn  ", "fail  "})


@pytest.mark.parametrize("where", ["a folder", "a folder with blanks"])
def test_doctor_changes_nothing(tmp_path: Path, where: str) -> None:
    """Home, project and mail are afterwards as they were, and no folder of the trial stays."""
    (tmp_path / where).mkdir()
    clinic = Clinic(World(tmp_path / where))
    clinic.world.send("project-a", "mine")
    clinic.world.send("project-b", "shown")
    clinic.world.hook()
    before = tree(clinic.world.base)
    assert clinic.complaints() == []
    assert clinic.run(WATCH, "doctor").returncode == 0
    assert tree(clinic.world.base) == before


@pytest.mark.parametrize(
    ("pin", "at", "says"),
    [
        ("CLAUDE_AGENT_ID", "project-a", "pinned (rule 1: $CLAUDE_AGENT_ID)"),
        (".agent-id", "project-a", "pinned (rule 2: "),
    ],
)
def test_doctor_says_who_i_am_and_why(clinic: Clinic, pin: str, at: str, says: str) -> None:
    """The name stands with the rule that gave it."""
    if pin == ".agent-id":
        (clinic.world.base / at / pin).write_text("pinned\n")
    found = clinic.ask(env={pin: "pinned"} if pin == "CLAUDE_AGENT_ID" else {})
    assert [one.says.startswith(says) for one in found if one.link == "agent"] == [True]


def test_no_name_and_a_bad_name_are_complaints(clinic: Clinic) -> None:
    """A folder without a name is a warning, a name that is none a failure that leads to `a2a-id --explain`."""
    (clinic.world.base / "plain").mkdir()
    assert ".agent-id" in clinic.complaint("warn", "agent", at="plain").fix
    bad = clinic.complaint("fail", "agent", env={"CLAUDE_AGENT_ID": "a/b"})
    assert "slash" in bad.says and bad.fix == "a2a-id --explain"


def test_a_missing_root_is_a_failure_that_setup_mends(clinic: Clinic) -> None:
    """Without the root's folder a sandboxed session cannot send; setup makes it."""
    clinic.world.root.rmdir()
    found = clinic.complaint("fail", "root")
    assert str(clinic.world.root) in found.says and "sandbox" in found.says
    clinic.cure(found)


def test_a_root_that_others_can_look_into_is_a_warning(clinic: Clinic) -> None:
    """Any right of group or others is said, and the fix takes it away."""
    clinic.world.root.chmod(0o750)
    clinic.cure(clinic.complaint("warn", "root"))


@pytest.mark.parametrize("mode", [0o000, 0o500])
def test_a_root_that_is_not_open_is_a_failure(clinic: Clinic, mode: int) -> None:
    """A root that its owner cannot read or write is a failure."""
    assert_that_modes_count(clinic.world.base)
    clinic.world.root.chmod(mode)
    assert "not open to you" in clinic.complaint("fail", "root", prefix=AS_PLAIN_USER).says
    clinic.world.root.chmod(0o700)


def test_a_root_of_another_owner_is_a_failure(clinic: Clinic) -> None:
    """A root that belongs to somebody else is a failure."""
    env = {}
    if os.getuid() == 0:
        os.chown(clinic.world.root, 12345, 12345)
        clinic.world.root.chmod(0o777)  # open to all, so that only the owner is wrong
    else:
        env["A2A_INBOX"] = "/usr"
    found = [one for one in clinic.complaints(prefix=AS_PLAIN_USER, env=env) if one.link == "root"]
    assert [(one.state, "is not yours" in one.says) for one in found] == [("fail", True)]


@pytest.mark.skipif(sys.platform != "linux", reason="the kind of file system is only asked on Linux")
def test_a_remote_file_system_is_a_warning(clinic: Clinic) -> None:
    """Where locks may not hold, the file system is named, and another root advised."""
    (kind,) = [one.says.rpartition(", on ")[2] for one in clinic.ask() if one.link == "root"]
    found = clinic.complaint("warn", "root", constants="is_remote=bool")
    assert f"on {kind}, where locks may not hold" in found.says and "A2A_INBOX" in found.fix


@pytest.mark.parametrize("program", ["a2a-send", "a2a-id", "a2a-watch"])
def test_a_command_that_is_missing_or_another_is_a_failure(clinic: Clinic, program: str) -> None:
    """A command that is not on the PATH, or is a program of another kind, is a failure with the folder to add."""
    (clinic.bin / program).unlink()
    found = clinic.complaint("fail", "PATH")
    assert program in found.says and f'export PATH="{WATCH.parent}:$PATH"' in found.fix
    script(clinic.bin / program, "touch was-run")
    before = tree(clinic.world.base)
    assert f"{clinic.bin / program} is another program" in clinic.complaint("fail", "PATH").says
    assert tree(clinic.world.base) == before, "it was run"


def test_a_command_that_cannot_be_read_hides_no_other_link(clinic: Clinic) -> None:
    """A command that may be run but not read is one finding at most; the rest is checked."""
    assert_that_modes_count(clinic.world.base)
    (clinic.bin / "a2a-id").unlink()
    script(clinic.bin / "a2a-id", "exit 0").chmod(0o111)
    found = clinic.ask(prefix=AS_PLAIN_USER)
    assert {"ok"} == {one.state for one in found if one.link != "PATH"}
    assert {"hook", "python3", "sandbox"} <= {one.link for one in found}


def test_an_old_client_and_a_missing_one_are_warnings(clinic: Clinic) -> None:
    """A client older than those that were tried is to be updated; a missing or a failing one is said."""
    script(clinic.bin / "claude", 'echo "2.1.100 (Claude Code)"')
    found = clinic.complaint("warn", "client")
    assert "2.1.100" in found.says and found.fix == "claude update"
    script(clinic.bin / "claude", 'echo "2.1.333-beta.1 (Claude Code)"')
    assert clinic.complaints() == []
    script(clinic.bin / "claude", "exit 1")
    assert clinic.complaint("warn", "client").fix == "claude --version"
    (clinic.bin / "claude").unlink()
    assert "no claude" in clinic.complaint("warn", "client").says


def managed_python(clinic: Clinic, name: str) -> tuple[Path, Path]:
    """Put a version manager's shim in the place of python3; return it and the interpreter that it starts."""
    real = clinic.world.base / name / "python3"
    real.parent.mkdir()
    real.symlink_to(PYTHON)
    return script(clinic.bin / "python3", f'exec {shlex.quote(str(real))} "$@"'), real


def test_a_shim_is_a_warning_until_setup_tells_the_hook(clinic: Clinic) -> None:
    """A version manager's python3 is said; setup tells the hook the interpreter, until that is gone."""
    _, real = managed_python(clinic, "with blanks")
    found = clinic.complaint("warn", "python3")
    assert "shim" in found.says
    clinic.cure(found)
    assert [str(real) in one.says for one in clinic.ask() if one.link == "python3"] == [True]
    real.unlink()
    (clinic.bin / "python3").unlink()
    (clinic.bin / "python3").symlink_to(PYTHON)
    found = clinic.complaint("warn", "python3")
    assert f"{real}, which the hook was told of, is gone" in found.says
    clinic.cure(found)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("case $* in *executable*) echo /x; echo 3 8 ;; *) exit 9 ;; esac", "is Python 3.8, too old"),
        ("exit 1", "does not run"),
        ("", "no python3 on this PATH"),
    ],
)
def test_a_python3_that_will_not_do_is_a_warning(clinic: Clinic, body: str, says: str) -> None:
    """A python3 that is missing, too old or broken is said; setup tells the hook of another."""
    script(clinic.bin / "python3", body)
    if not body:
        (clinic.bin / "python3").unlink()
    # Without another python3 on the machine the hook fails too, rightly.
    (found,) = [one for one in clinic.complaints() if one.link != "hook"]
    assert (found.state, found.link) == ("warn", "python3") and says in found.says
    clinic.cure(found)


def test_the_sandbox_must_let_a_session_write_to_the_inbox(clinic: Clinic) -> None:
    """Without the folder in allowWrite it is a warning, and a failure where the sandbox is on; a parent will do."""
    clinic.edit(sandbox=None)
    assert str(clinic.world.root) in clinic.complaint("warn", "sandbox").says
    clinic.edit(sandbox={"enabled": True})
    found = clinic.complaint("fail", "sandbox")
    for enough in ("~/.claude/inbox", "~/.claude/", str(clinic.world.home)):
        clinic.edit(sandbox={"enabled": True, "filesystem": {"allowWrite": [enough]}})
        assert clinic.complaints() == [], enough
    clinic.edit(sandbox={"enabled": True, "filesystem": {"allowWrite": ["~/.claude/inbox-other", "~/.claude/inb", 7]}})
    assert clinic.complaint("fail", "sandbox") == found
    clinic.cure(found)


@pytest.mark.parametrize("word", ["Bash(a2a-send:*)", "Bash(a2a-watch show:*)", "Skill(check-inbox)"])
def test_a_missing_permission_is_a_warning(clinic: Clinic, word: str) -> None:
    """What a model must ask for each time is said with the word to allow; setup allows it."""
    allowed = json.loads(clinic.settings.read_text())["permissions"]["allow"]
    clinic.edit(permissions={"allow": [one for one in allowed if one != word]})
    found = clinic.complaint("warn", "permissions")
    assert word in found.says
    clinic.cure(found)
