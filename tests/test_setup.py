"""`a2a-watch setup`: what it shows, asks and adds, once, also over an older or a moved installation."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kit import HOOK, REPO, World
from tests.real_settings import EVENTS, OTHERS_HOOKS, TABS, TYPICAL, WATCH, Household
from tests.rights import tree

OLD = "/old/a2a-watch/hooks/drain-inbox"


@pytest.fixture
def house(world: World) -> Household:
    return Household(world)


def changed(before: list[Any], after: list[Any], folder: Path) -> set[str]:
    """Return the paths of the files that are new or different."""
    return {str(folder / entry[0]) for entry in after if entry not in before and (folder / entry[0]).is_file()}


def test_every_file_is_shown_before_the_question(house: Household) -> None:
    """A unified diff shows exactly the files that are then changed, with each new line; `y` writes them."""
    house.put(OTHERS_HOOKS)
    before = tree(house.world.home)
    old = house.settings.read_text().splitlines()
    status, screen = house.at_terminal("setup", answer="y\n")
    shown, _, _ = screen.partition("Write this?")
    assert status == 0
    files = changed(before, tree(house.world.home), house.world.home)
    lines = shown.splitlines()
    assert {line[4:] for line in lines if line.startswith("+++ ")} == files
    assert len(files) == 4
    plus, minus = ({line[1:] for line in lines if line.startswith(sign)} for sign in "+-")
    new = house.settings.read_text().splitlines()
    assert set(new) - set(old) <= plus
    assert {line + "," for line in minus if not line.startswith("-- ")} <= plus, "nothing goes, but commas come"
    assert [len(house.handlers(event)) for event in EVENTS] == [1, 1, 1, 1]


@pytest.mark.parametrize("answer", ["n\n", "\n", "\x04"], ids=["no", "Enter", "end of input"])
def test_whoever_does_not_say_yes_has_said_no(house: Household, answer: str) -> None:
    """Any other answer changes nothing."""
    house.put(OTHERS_HOOKS)
    before = tree(house.world.home)
    status, _ = house.at_terminal("setup", answer=answer)
    assert (status != 0, tree(house.world.home)) == (True, before)


@pytest.mark.parametrize("given", ["nothing", "yes", "closed"])
def test_without_a_terminal_nothing_is_changed(house: Household, given: str) -> None:
    """Where nobody can be asked nothing is changed, whatever comes through a pipe, and one sentence says so."""
    house.put(OTHERS_HOOKS)
    before = tree(house.world.home)
    prefix = ("sh", "-c", 'exec "$@" <&-', "sh") if given == "closed" else ()
    said = house.refused("setup", prefix=prefix, input=b"y\n" if given == "yes" else b"")
    assert "nothing was changed; try: a2a-watch setup --yes" in said
    assert tree(house.world.home) == before


@pytest.mark.parametrize("text", [None, OTHERS_HOOKS], ids=["new", "there"])
def test_a_dry_run_changes_nothing(house: Household, text: bytes | None) -> None:
    """`--dry-run` shows the diff and asks nothing; no file and no folder is made, `--yes` or not."""
    house.put(text)
    before = tree(house.world.home)
    for words in (["--dry-run"], ["--dry-run", "--yes"]):
        assert f"+++ {house.settings}\n" in house.done("setup", *words)
        assert tree(house.world.home) == before


@pytest.mark.parametrize("text", [None, b"", OTHERS_HOOKS, TABS, TYPICAL])
def test_twice_is_once(house: Household, text: bytes | None) -> None:
    """A second setup says that there is nothing to change, and changes no byte."""
    house.put(text)
    house.done("setup", "--yes")
    before = tree(house.world.home)
    assert "Nothing to change." in house.done("setup", "--yes")
    assert tree(house.world.home) == before


def test_what_is_added(house: Household) -> None:
    """Four hooks with receipts and a limit, by absolute path, for all; three permissions; the root, for us alone."""
    house.done("setup", "--yes")
    hook = {"type": "command", "command": f"{HOOK} --receipts"}
    assert house.data() == {
        "hooks": {event: [{"hooks": [{**hook, "timeout": seconds}]}] for event, seconds in EVENTS.items()},
        "permissions": {"allow": ["Bash(a2a-send:*)", "Bash(a2a-watch show:*)", "Skill(check-inbox)"]},
        "sandbox": {"filesystem": {"allowWrite": [str(house.world.root)]}},
    }
    assert house.world.root.stat().st_mode & 0o7777 == 0o700


def test_a_root_that_was_deleted_is_made_again(house: Household) -> None:
    """A sandboxed session can only write to a folder that is there, so setup makes it, whatever else is to do."""
    house.done("setup", "--yes")
    house.world.root.rmdir()
    house.done("setup", "--yes")
    assert house.world.root.is_dir()


def test_one_project_alone(house: Household) -> None:
    """`--project` touches only `.claude/` of the repository around, and there only what is not shared."""
    project = house.world.base / "project-a"
    (project / "deep" / "down").mkdir(parents=True)
    home, before = tree(house.world.home), tree(project)
    house.done("setup", "--yes", "--project", at="project-a/deep/down")
    new = [entry[0] for entry in tree(house.world.home) if entry not in home]
    assert set(new) <= {".claude", ".claude/inbox"}, "the root is made, for a sandbox; it is where mail lies anyway"
    assert all(entry in before or entry[0].startswith(".claude") for entry in tree(project))
    assert len(json.loads((project / ".claude" / "settings.local.json").read_text())["hooks"]) == 4
    assert (project / ".claude" / "skills" / "check-inbox" / "SKILL.md").exists()
    assert not (project / ".claude" / "settings.json").exists()


def handlers(*commands: str, **more: object) -> list[dict[str, object]]:
    return [{"type": "command", "command": command, **more} for command in commands]


@pytest.mark.parametrize(
    "stop",
    [
        [{"hooks": handlers(OLD, timeout=60)}],
        [{"hooks": handlers(f"{OLD} --receipts")}],
        [{"hooks": handlers("say hi", OLD, "say bye")}],
        [{"hooks": handlers(OLD)}, {"hooks": handlers(OLD, f"'{OLD}' --receipts", "say hi")}],
        [{"matcher": "x", "hooks": handlers(OLD)}, {"matcher": "y", "hooks": handlers("say hi")}],
        [{"hooks": handlers(f"A2A_PYTHON='/gone python/bin/python3' {OLD} --receipts", timeout=10)}],
        [{"hooks": handlers('"$HOME"/a2a/hooks/drain-inbox', "~/a2a/hooks/drain-inbox --receipts")}],
    ],
    ids=["other limit", "none", "among others", "several", "under a matcher", "other interpreter", "other spellings"],
)  # fmt: skip
def test_an_older_version_is_repaired_in_place(house: Household, stop: list[dict[str, Any]]) -> None:
    """Whatever called the drain before calls this one, once an event; hooks beside it stay in group and order."""
    text = json.dumps({"model": "opus", "hooks": {"Stop": stop, "SessionStart": [{"hooks": handlers(OLD)}]}}, indent=4)
    house.put(text)
    house.done("setup", "--yes")
    assert [len(house.handlers(event)) for event in EVENTS] == [1, 1, 1, 1]
    wanted = [{"type": "command", "command": f"{HOOK} --receipts", "timeout": 10}]
    assert house.handlers("Stop") == house.handlers("SessionStart") == wanted
    assert "/old/" not in house.settings.read_text() and "/gone" not in house.settings.read_text()

    def theirs(groups: list[dict[str, Any]]) -> list[Any]:
        kept = [(one.get("matcher"), [h for h in one["hooks"] if "drain" not in h["command"]]) for one in groups]
        return [one for one in kept if one[1]]

    assert theirs(house.data()["hooks"]["Stop"]) == theirs(stop)
    house.assert_mail_arrives()
    assert "Nothing to change." in house.done("setup", "--yes")


@pytest.mark.parametrize("name", ["my checkout", "it's", 'a "quoted" one', "$HOME and `id`", "a#b; c&d", "Zoë's ✉"])
def test_a_moved_checkout_is_repaired_wherever_it_is(house: Household, name: str) -> None:
    """A checkout by any name is called by its absolute path, well quoted, in place of where it was before."""
    house.put(OTHERS_HOOKS)
    house.done("setup", "--yes")
    before = house.settings.read_bytes()
    copy = house.world.base / name
    copy.mkdir()
    for part in ("a2a_watch", "hooks", "skills"):
        (copy / part).symlink_to(REPO / part)
    program = f"import sys; sys.path.insert(0, {str(copy)!r}); from a2a_watch.cli import main; main()"
    done = house.run(sys.executable, "-c", program, "setup", "--yes")
    assert (done.returncode, done.stderr) == (0, b""), done
    command = f"{shlex.quote(str(copy / 'hooks' / 'drain-inbox'))} --receipts"
    assert [one["command"] for event in EVENTS for one in house.handlers(event)] == [command] * 4
    assert str(HOOK) not in house.settings.read_text()
    house.assert_mail_arrives()
    house.done("setup", "--yes")
    assert house.settings.read_bytes() == before


def test_other_folders_of_the_client_and_of_mail(house: Household) -> None:
    """`CLAUDE_CONFIG_DIR` is where settings and skills go, `A2A_INBOX` the root, made and opened to a sandbox."""
    config, root = house.world.base / "config dir", house.world.base / "other mail"
    env = {"CLAUDE_CONFIG_DIR": str(config), "A2A_INBOX": str(root)}
    house.done("setup", "--yes", env=env)
    assert not house.config.exists()
    data = json.loads((config / "settings.json").read_text())
    assert data["sandbox"]["filesystem"]["allowWrite"] == [str(root)]
    assert root.stat().st_mode & 0o7777 == 0o700
    assert (config / "skills" / "send-note" / "SKILL.md").exists()
    assert str(root) in house.done("uninstall", "--yes", env=env)
    assert not (config / "settings.json").exists() and root.is_dir()


def test_a_send_that_no_session_would_find_is_said(house: Household) -> None:
    """Without a2a-send on the PATH setup ends with the line that cures it; with it, without."""
    assert "export PATH" not in house.done("setup", "--yes")
    (house.bin / "a2a-send").unlink()
    line = house.done("setup", "--yes").splitlines()[-1].strip()
    assert line == f'export PATH="{WATCH.parent}:$PATH"'
    done = house.run("sh", "-c", f"{line}; a2a-send project-b hello")
    assert done.returncode == 0, done
