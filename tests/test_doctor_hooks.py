"""The hook as doctor tries it: programs that do it wrong in every way, and the trial that leaves no trace."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.doctor import Clinic, script
from tests.kit import HOOK, World
from tests.rights import AS_PLAIN_USER, assert_that_modes_count, tree

# Shows mail as the drain does, but knows nothing of receipts.
SHOW = """cd "$A2A_INBOX" && set -- */*.json; [ -e "$1" ] || exit 0
while IFS= read -r line || [ "$line" ]; do text=$text$line; done <"$1"
case $text in *'Does the hook show this?'*) ;; *) exit 1 ;; esac
event='"hookEventName": "SessionStart"'
echo "{\\"hookSpecificOutput\\": {$event, \\"additionalContext\\": \\"Does the hook show this?\\"}}" """


@pytest.fixture
def clinic(world: World) -> Clinic:
    return Clinic(world)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("exit 1", "SessionStart it failed (exit 1)"),
        ("echo 'no such module' >&2; exit 1", "no such module"),
        ("kill -9 $$", "SessionStart it failed"),
        ("exit 0", "did not show mail"),
        ("echo garbage", "does not understand"),
        ("printf '\\377\\376'", "does not understand"),
        ("echo '[1]'", "does not understand"),
        ("echo '\"text\"'", "does not understand"),
        ("echo 7", "does not understand"),
        ("echo '{\"hookSpecificOutput\": 7}'", "did not show mail"),
        ('echo \'{"systemMessage": "no python3 runs here"}\'', "no python3 runs here"),
        (f"{SHOW}", "Stop|twice"),
    ],
)
def test_a_hook_that_does_not_do_its_work_is_a_failure(clinic: Clinic, body: str, says: str) -> None:
    """A program by our name that fails, is silent, or prints what no client takes is said to do so."""
    stub = clinic.stub(body)
    clinic.hooks(f"{stub} --receipts")
    before = tree(clinic.world.base)
    found = clinic.complaint("fail", "hook")
    assert found.says.startswith(f"{stub} --receipts: ") and "Errno" not in found.says, found
    assert any(word in found.says for word in says.split("|")), found
    assert tree(clinic.world.base) == before
    clinic.cure(found)


@pytest.mark.parametrize("there", [True, False])
def test_a_hook_that_cannot_be_started_is_a_failure(clinic: Clinic, there: bool) -> None:
    """A moved checkout, or a program without the right to run, is a failure that setup mends."""
    stub = clinic.stub("exit 0")
    stub.chmod(0o644)
    if not there:
        stub.unlink()
    clinic.hooks(f"{stub} --receipts")
    found = clinic.complaint("fail", "hook")
    assert "failed (exit 126)" in found.says if there else "failed (exit 127)" in found.says
    clinic.cure(found)


def test_a_hook_that_shows_mail_twice_is_a_failure(clinic: Clinic) -> None:
    """What was shown, confirmed and is shown again at the next prompt is a failure."""
    real = f'printf %s "$input" | A2A_PYTHON= {shlex.quote(str(HOOK))} --receipts'
    put_back = 'for mail in "$A2A_INBOX"/*/.read/*.json; do ln "$mail" "${mail%/.read/*}/${mail##*/}"; done'
    clinic.hooks(
        str(clinic.stub(f"IFS= read -r input\n{real}\ncase $input in *Stop*) {put_back} ;; esac")) + " --receipts"
    )
    assert "shows the same mail twice" in clinic.complaint("fail", "hook").says


def test_a_hook_at_all_events_without_receipts_is_a_complaint(clinic: Clinic) -> None:
    """A Stop that has nothing to confirm, because --receipts is missing, is said; setup puts it in."""
    clinic.hooks(str(HOOK))
    (found,) = clinic.complaints()
    assert found.link in ("hook", "hooks") and "receipts" in found.says
    clinic.cure(found)


@pytest.mark.parametrize("variable", ["A2A_INBOX={0}/elsewhere", "CLAUDE_AGENT_ID=somebody", "CLAUDE_PROJECT_DIR={0}"])
def test_a_hook_that_drains_another_place_is_a_failure(clinic: Clinic, variable: str) -> None:
    """A hook that sets root or agent by itself does not show the trial's mail."""
    stub = clinic.stub(f"{variable.format(clinic.world.base)} exec {HOOK} --receipts")
    clinic.hooks(f"{stub} --receipts")
    assert f"{stub} --receipts: at a start it did not show mail" in clinic.complaint("fail", "hook").says


def test_no_mail_of_the_user_is_touched_whatever_root_a_hook_drains(clinic: Clinic) -> None:
    """A hook bound to the real root takes no real mail during the trial, whatever name an agent bears."""
    for agent in ("doctor", "inbox", "trial", "a2a-watch", "project-a", "unknown"):
        clinic.world.send(agent, "mine")
    clinic.hooks(str(clinic.stub(f'A2A_INBOX="$HOME/.claude/inbox" exec {HOOK} --receipts')) + " --receipts")
    before = tree(clinic.world.home)
    assert clinic.complaint("fail", "hook")
    assert tree(clinic.world.home) == before


def alive(word: str) -> list[str]:
    """Return the ids of processes that have `word` among their arguments."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # Race: it has just ended
        if word.encode() in words:
            found.append(process.name)
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
def test_a_hook_that_hangs_is_a_failure_and_leaves_nothing(clinic: Clinic) -> None:
    """A hook that does not end is a failure after ten seconds; its children end with it, and no folder stays."""
    pause = f"9{os.getpid()}"
    clinic.hooks(f"{clinic.stub(f'sleep {pause}; exit 0')} --receipts")
    before = tree(clinic.world.base)
    found = clinic.complaint("fail", "hook")
    left = alive(pause)
    for process in left:
        os.kill(int(process), 9)
    assert "did not end within 10 s" in found.says
    assert tree(clinic.world.base) == before
    assert left == []


def test_each_command_is_tried_once_and_a_projects_never(clinic: Clinic) -> None:
    """The same command at four events is one finding; what a repository has in its settings is named and not run."""
    clinic.hooks(f"{HOOK} --receipts")
    assert len([one for one in clinic.ask() if one.link == "hook"]) == 1
    stub = clinic.stub(f"echo >{clinic.world.base}/ran")
    project = clinic.world.base / "project-a" / ".claude" / "settings.json"
    project.parent.mkdir()
    project.write_text(clinic.settings.read_text().replace(str(HOOK), str(stub)))
    states = {one.says.partition(": ")[0]: one.state for one in clinic.ask() if one.link == "hook"}
    assert states == {"shows mail once": "ok", "not tried, for a project has it": "warn"}
    assert not (clinic.world.base / "ran").exists()


@pytest.mark.parametrize("key", ["async", "if", "once"])
def test_a_hook_with_another_key_is_missing(clinic: Clinic, key: str) -> None:
    """A handler that the client may run otherwise, or never, is none; setup puts a plain one in its place."""
    hooks = json.loads(clinic.settings.read_text())["hooks"]
    hooks["UserPromptSubmit"][0]["hooks"][0][key] = True
    clinic.edit(hooks=hooks)
    found = clinic.complaint("fail", "hooks")
    assert "none at UserPromptSubmit" in found.says
    clinic.cure(found)


def test_a_session_around_it_does_not_confuse_the_trial(clinic: Clinic) -> None:
    """Typed by a model in a session, doctor finds what it finds outside, but for the session's agent."""
    env_file = clinic.world.base / "env-file"
    env_file.write_text("")
    around = {
        "CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "0", "CLAUDE_PID": "1",
        "CLAUDE_CODE_SESSION_ID": "c7e3", "CLAUDE_PROJECT_DIR": str(clinic.world.base / "project-b"),
        "A2A_PROJECT_DIR": str(clinic.world.base / "project-b"), "CLAUDE_ENV_FILE": str(env_file),
        "CLAUDE_AGENT_ID": "pinned", "A2A_UNATTENDED": "no",
    }  # fmt: skip
    before = tree(clinic.world.base)
    found = clinic.ask(env=around)
    assert [one for one in found if one.state != "ok"] == []
    assert found[0].says == "pinned (rule 1: $CLAUDE_AGENT_ID)"
    assert tree(clinic.world.base) == before
    alone = {name: value for name, value in around.items() if name != "CLAUDE_AGENT_ID"}
    assert clinic.ask(env=alone)[0].says.startswith("project-b (rule 3: ")


def test_the_hook_is_tried_where_only_the_inbox_may_be_written(clinic: Clinic) -> None:
    """In a sandbox, where the folder around the root is read-only, the trial is made elsewhere."""
    assert_that_modes_count(clinic.world.base)
    around = clinic.world.root.parent
    around.chmod(0o555)
    found = clinic.complaints(prefix=AS_PLAIN_USER)
    around.chmod(0o755)
    assert found == []


def test_a_send_that_does_not_run_is_said_to_be_it(clinic: Clinic) -> None:
    """When a2a-send is the broken link, it is named, and not by a fix that cannot mend it."""
    (clinic.bin / "a2a-send").unlink()
    script(clinic.bin / "a2a-send", "# a2a_watch\necho 'no module named a2a_watch' >&2; exit 1")
    found = clinic.complaints()
    assert [one.state for one in found] == ["fail"] and "a2a-send" in found[0].says
    assert found[0].fix != "a2a-watch setup"
