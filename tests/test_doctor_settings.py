"""What doctor reads: settings of every level, the plugin and old scripts."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.doctor import Clinic, script
from tests.kit import HOOK, World
from tests.rights import AS_PLAIN_USER, assert_that_modes_count, tree


@pytest.fixture
def clinic(world: World) -> Clinic:
    return Clinic(world)


def of_project(clinic: Clinic, name: str = "settings.json") -> Path:
    folder = clinic.world.base / "project-a" / ".claude"
    folder.mkdir(exist_ok=True)
    return folder / name


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_settings_of_the_project_count_there_alone(clinic: Clinic, name: str) -> None:
    """Hooks and words in the project's settings, shared or local, are in force there, and nowhere else."""
    shutil.move(clinic.settings, of_project(clinic, name))
    assert clinic.complaints() == []
    assert ("fail", "hooks", "a2a-watch setup") in [
        (one.state, one.link, one.fix) for one in clinic.complaints(at="project-b")
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{\n  "hooks": {},\n  nonsense\n}', "line 3, column 3"),
        (b"\xff\xfe{", "decode"),
        (b'{"hooks": []}', "hooks in it is no object"),
        (b"7", "no object"),
        (b"[" * 200_000, "nested too deeply"),
    ],
)
def test_broken_settings_are_a_failure_and_the_rest_is_checked(clinic: Clinic, text: bytes, says: str) -> None:
    """Settings that cannot be read are named with the place of the mistake, and hide no other link."""
    path = of_project(clinic)
    path.write_bytes(text)
    found = clinic.complaint("fail", "settings")
    assert str(path) in found.says and says in found.says, found
    assert shlex.split(found.fix) == ["$EDITOR", str(path)]
    assert {"hook", "python3", "permissions", "sandbox"} <= {one.link for one in clinic.ask()}


def test_settings_that_may_not_be_read_are_a_failure(clinic: Clinic) -> None:
    """A settings file without the right to read it is one failure."""
    assert_that_modes_count(clinic.world.base)
    of_project(clinic).write_text("{}")
    of_project(clinic).chmod(0)
    assert str(of_project(clinic)) in clinic.complaint("fail", "settings", prefix=AS_PLAIN_USER).says


@pytest.mark.parametrize(
    "odd", [["a2a-watch@a2a-watch"], "a2a-watch@a2a-watch", None, 7, {"a2a-watch@a2a-watch": False}]
)
def test_a_strange_list_of_plugins_is_no_plugin(clinic: Clinic, odd: Any) -> None:
    """Whatever stands in enabledPlugins, only an enabled a2a-watch counts, and nothing breaks."""
    of_project(clinic).write_text(json.dumps({"enabledPlugins": odd}))
    assert {one.link for one in clinic.complaints()} <= {"settings"}


def test_switched_off_hooks_are_a_failure_in_any_settings(clinic: Clinic) -> None:
    """`disableAllHooks` in the user's or the project's settings is named with its file."""
    for path in (clinic.settings, of_project(clinic), of_project(clinic, "settings.local.json")):
        before = path.read_text() if path.exists() else "{}"
        path.write_text(json.dumps({**json.loads(before), "disableAllHooks": True}))
        found = clinic.complaint("fail", "hooks")
        assert f"disableAllHooks in {path}" in found.says and shlex.split(found.fix)[-1] == str(path)
        path.write_text(before)
    of_project(clinic).write_text('{"allowManagedHooksOnly": true}')
    assert clinic.complaints() == [], "this switch is the administrator's alone"


@pytest.mark.parametrize("switch", ["disableAllHooks", "allowManagedHooksOnly"])
@pytest.mark.parametrize("name", ["managed-settings.json", "managed-settings.d/50-policy.json"])
def test_a_managed_policy_without_hooks_is_a_failure(clinic: Clinic, switch: str, name: str) -> None:
    """An administrator's policy that forbids the user's hooks is named with its file."""
    policy = clinic.world.base / "managed" / name
    policy.parent.mkdir(parents=True)
    policy.write_text(json.dumps({switch: True}))
    found = clinic.complaint("fail", "hooks", constants=f"MANAGED={str(clinic.world.base / 'managed')!r}")
    assert f"{switch} in {policy}" in found.says
    policy.write_text(json.dumps({switch: False}))
    assert clinic.complaints(constants=f"MANAGED={str(clinic.world.base / 'managed')!r}") == []


def test_the_plugin_alone_is_well_and_with_the_settings_a_warning(clinic: Clinic) -> None:
    """An enabled plugin needs no hooks in the settings; both together are said, with how to take one out."""
    clinic.edit(enabledPlugins={"a2a-watch@some-market": True})
    assert "the client does not have it" in clinic.complaint("fail", "hooks").says
    clinic.client("a2a-watch@some-market")
    both = clinic.complaint("warn", "hooks")
    assert "plugin" in both.says and "settings" in both.says
    assert "a2a-watch uninstall" in both.fix and "claude plugin uninstall a2a-watch" in both.fix
    clinic.edit(hooks=None)
    found = clinic.ask()
    assert [one.says for one in found if one.link == "hooks"] == ["from the plugin"]
    assert [one.state for one in found if one.link == "hook"] == ["ok"]


def test_a_plugin_that_the_project_switches_off_is_none(clinic: Clinic) -> None:
    """Of several settings the nearest counts."""
    clinic.client("a2a-watch@some-market")
    clinic.edit(enabledPlugins={"a2a-watch@some-market": True})
    local = clinic.world.base / "project-a" / ".claude" / "settings.local.json"
    local.parent.mkdir()
    local.write_text('{"enabledPlugins": {"a2a-watch@some-market": false}}')
    assert clinic.complaints() == []


@pytest.mark.parametrize("word", ["Bash(a2a-send:*)", "Skill(check-inbox)"])
def test_what_is_denied_is_a_failure(clinic: Clinic, word: str) -> None:
    """A permission that is denied as well as allowed is denied."""
    permissions = json.loads(clinic.settings.read_text())["permissions"]
    clinic.edit(permissions={**permissions, "deny": [word]})
    assert clinic.complaint("fail", "permissions").says == f"permissions.deny has {word}"


def test_skills_that_are_gone_or_lead_nowhere_are_named(clinic: Clinic) -> None:
    """A skill that is not there, or calls a drain that has moved, is a warning that setup mends."""
    skill = clinic.settings.parent / "skills" / "check-inbox" / "SKILL.md"
    text = skill.read_text()
    skill.unlink()
    found = clinic.complaint("warn", "skills")
    assert str(skill) in found.says
    clinic.cure(found)
    skill.write_text(text.replace(str(HOOK), "/gone/hooks/drain-inbox"))
    assert str(skill) in clinic.complaint("warn", "skills").says


def test_no_hooks_at_all_are_a_failure(clinic: Clinic) -> None:
    """Without hooks and plugin no session gets mail; setup puts them in."""
    clinic.edit(hooks={"Stop": [{"hooks": [{"type": "command", "command": "echo drain-inbox"}]}]})
    found = clinic.complaint("fail", "hooks")
    assert "call the drain" in found.says
    clinic.cure(found)


def test_a_start_without_its_stop_is_a_failure_with_receipts(clinic: Clinic) -> None:
    """With --receipts and no Stop, mail that was read comes back: a failure; without receipts a warning."""
    clinic.hooks(f"{HOOK} --receipts", ["SessionStart", "UserPromptSubmit", "SessionEnd"])
    found = clinic.complaint("fail", "hooks")
    assert "none at Stop" in found.says and "comes back" in found.says
    clinic.hooks(str(HOOK), ["SessionStart"])
    found = clinic.complaint("warn", "hooks")
    assert "UserPromptSubmit, Stop, SessionEnd" in found.says and "counts as read" in found.says
    clinic.cure(found)


def test_a_hook_under_a_narrow_matcher_is_missing_elsewhere(clinic: Clinic) -> None:
    """A start hook for `startup` alone is none at a resume or a `/clear`; setup puts it under every start."""
    path = clinic.world.home / ".claude" / "settings.json"
    hooks = json.loads(path.read_text())["hooks"]
    hooks["SessionStart"][0]["matcher"] = "startup"
    clinic.edit(hooks=hooks)
    found = clinic.complaint("fail", "hooks")
    assert "none at SessionStart" in found.says
    clinic.cure(found)


def test_old_scripts_are_named_and_never_run(clinic: Clinic) -> None:
    """Plain shell scripts of this protocol in ~/.claude/bin are a warning with their paths, and are not started."""
    bin_ = clinic.world.home / ".claude" / "bin"
    script(
        bin_ / "drain-inbox.sh",
        'touch "$0.was-run"\nfor f in "$HOME/.claude/inbox/$1"/*.json; do cat "$f"; mv "$f" .read; done',
    )
    script(
        bin_ / "a2a-send",
        'touch "$0.was-run"\njq -n --arg body "$2" "{body: $body}" > "$HOME/.claude/inbox/$1/$(date +%s).json"',
    )
    before = tree(clinic.world.base)
    found = clinic.complaint("warn", "old scripts")
    assert tree(clinic.world.base) == before
    assert shlex.split(found.fix) == ["rm", str(bin_ / "a2a-send"), str(bin_ / "drain-inbox.sh")]
    clinic.cure(found)


def test_an_old_script_on_the_path_is_another_program(clinic: Clinic) -> None:
    """The shell a2a-send before ours on the PATH is a failure there too, and is not started for the trial."""
    bin_ = clinic.world.home / ".claude" / "bin"
    script(bin_ / "a2a-send", 'touch "$0.was-run"')
    found = clinic.complaints(env={"PATH": f"{bin_}:{clinic.bin}"})
    assert [(one.state, one.link) for one in found] == [("fail", "PATH"), ("warn", "old scripts")]
    assert f"{bin_ / 'a2a-send'} is another program" in found[0].says
    assert [path.name for path in bin_.iterdir()] == ["a2a-send"]


@pytest.mark.parametrize("beside", [True, False])
def test_a_hook_that_is_an_old_script_is_a_failure(clinic: Clinic, beside: bool) -> None:
    """Settings that call drain-inbox.sh, beside ours or alone, are named: it takes mail away; it is not started."""
    old = script(clinic.world.home / "scripts" / "drain-inbox.sh", 'touch "$0.was-run"')
    hooks = json.loads(clinic.settings.read_text())["hooks"] if beside else {}
    handler = {"type": "command", "command": f"bash {old}"}
    hooks["SessionStart"] = [*hooks.get("SessionStart", []), {"hooks": [handler]}]
    clinic.edit(hooks=hooks)
    (found,) = [one for one in clinic.complaints() if one.link == "old scripts"]
    assert found.state == "fail" and str(clinic.settings) in found.says
    assert shlex.split(found.fix) == ["$EDITOR", str(clinic.settings)]
    assert [path.name for path in old.parent.iterdir()] == ["drain-inbox.sh"]


def test_a_home_with_blanks_gives_fixes_that_can_be_typed(tmp_path: Path) -> None:
    """Each fix names a path with blanks as one word of the shell, apart from those that are no commands."""
    (tmp_path / "with blanks").mkdir()
    clinic = Clinic(World(tmp_path / "with blanks"))
    for name in ("drain-inbox.sh", "a2a-send"):
        script(clinic.world.home / ".claude" / "bin" / name, "")
    clinic.world.put("project-b", "one.json", b"no message")
    clinic.world.drain()
    clinic.world.root.chmod(0o755)
    clinic.edit(disableAllHooks=True)
    of_project(clinic).write_text("{")
    found = clinic.complaints()
    assert {one.link for one in found} == {"settings", "hooks", "root", "old scripts", "mail"}
    for one in found:
        paths = [word for word in shlex.split(one.fix) if "/" in word]
        assert paths and all(os.path.exists(path) for path in paths), one
