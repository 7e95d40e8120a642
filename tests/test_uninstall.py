"""`a2a-watch uninstall`: what setup put in goes, and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.kit import World
from tests.real_settings import EVENTS, OTHERS_HOOKS, REAL, TYPICAL, Household, Real
from tests.rights import AS_PLAIN_USER, assert_that_modes_count, tree

OWN_DRAIN = """{"hooks": {
  "SessionStart": [
    {"matcher": "startup", "hooks": [{"type": "command", "command": "L=1 /opt/acme/bin/drain-inbox --mbox"}]}
  ],
  "PreToolUse": [{"hooks": [{"type": "command", "command": "/opt/acme/bin/drain-inbox --quota"}]}]
}}"""


@pytest.fixture
def house(world: World) -> Household:
    return Household(world)


def without_mail(home: Path) -> list[tuple[str, str, int, bytes]]:
    return [entry for entry in tree(home) if not entry[0].startswith(".claude/inbox")]


@pytest.mark.parametrize("real", REAL, ids=str)
def test_settings_as_people_have_them(house: Household, real: Real) -> None:
    """Setup, use and uninstall leave a file byte for byte and mode for mode, or setup refuses and touches nothing."""
    real.put(house.world.home)
    before = tree(house.world.home)
    if real.refused:
        assert_that_modes_count(house.world.base)
        assert real.refused in house.refused("setup", "--yes", prefix=AS_PLAIN_USER)
        assert tree(house.world.home) == before
        return
    house.done("setup", "--yes")
    assert [len(house.handlers(event)) for event in EVENTS] == [1, 1, 1, 1]
    house.assert_mail_arrives()
    house.done("uninstall", "--yes")
    assert without_mail(house.world.home) == before


def test_mail_is_not_touched(house: Household) -> None:
    """Neither setup nor uninstall changes an inbox; uninstall says where it is."""
    house.world.send("project-b", "hello")
    before = tree(house.world.root)
    house.done("setup", "--yes")
    assert "Your mail stays in ~/.claude/inbox." in house.done("uninstall", "--yes")
    assert tree(house.world.root) == before


@pytest.mark.parametrize("rewrite", [False, True], ids=["edited in place", "rewritten by a program"])
def test_what_others_added_meanwhile_stays(house: Household, rewrite: bool) -> None:
    """After a change of somebody else's only our entries go: their key, hook, permission and what was before stay."""
    house.put(OTHERS_HOOKS)
    house.done("setup", "--yes")
    theirs = {"hooks": [{"type": "command", "command": "say bye"}]}
    if rewrite:
        data = house.data()
        data["theme"] = "light"
        data["hooks"]["Stop"].append(theirs)
        data["hooks"]["SessionEnd"].insert(0, theirs)
        data["permissions"]["allow"].insert(1, "Bash(make:*)")
        house.settings.write_text(json.dumps(data, indent=2))
    else:
        text = house.settings.read_text()
        ours = f'{{"type": "command", "command": "{house.handlers("Stop")[0]["command"]}", "timeout": 10}}'
        assert '"Skill(check-inbox)"' in text
        text = text.replace('"Skill(check-inbox)"', '"Skill(check-inbox)", "Bash(make:*)"')
        text = text.replace('  "hooks": {', '  "theme": "light",\n  "hooks": {', 1)
        text = text.replace('"Stop": [', f'"Stop": [ {json.dumps(theirs)}, {{"hooks": [ {ours} ]}},', 1)
        house.settings.write_text(text)
    house.done("uninstall", "--yes")
    past, now = json.loads(OTHERS_HOOKS), house.data()
    assert now["theme"] == "light"
    assert now["permissions"] == {"allow": ["Bash(make:*)"]}
    stop = past["hooks"]["Stop"]
    assert now["hooks"].pop("Stop") == ([*stop, theirs] if rewrite else [theirs, *stop])
    assert now["hooks"].pop("SessionEnd", None) == ([theirs] if rewrite else None)
    del past["hooks"]["Stop"]
    assert now["hooks"] == past["hooks"]
    assert set(now) == {"$schema", "hooks", "theme", "permissions"}
    if not rewrite:
        assert '"matcher": "startup|resume",\n        "hooks": [\n          { "type"' in house.settings.read_text()


def test_a_word_that_was_there_before_stays(house: Household) -> None:
    """A permission that was there before setup stays after uninstall, also when the file was changed meanwhile."""
    house.put(TYPICAL)
    house.done("setup", "--yes")
    house.settings.write_text(json.dumps({**house.data(), "theme": "light"}))
    house.done("uninstall", "--yes")
    assert house.data() == {**json.loads(TYPICAL), "theme": "light"}


def test_nothing_installed_is_nothing_to_do(house: Household) -> None:
    """Where setup never ran nothing changes, also not somebody else's skill by the same name."""
    house.put(OTHERS_HOOKS)
    for name in ("check-inbox", "send-note", "other"):
        (house.config / "skills" / name).mkdir(parents=True)
        (house.config / "skills" / name / "SKILL.md").write_text("---\nname: mine\n---\nReads my e-mail.\n")
    before = tree(house.world.home)
    assert "Nothing to change." in house.done("uninstall", "--yes")
    assert tree(house.world.home) == before


def test_a_dry_run_and_a_missing_answer_change_nothing(house: Household) -> None:
    """`--dry-run` shows what would go; without a terminal and without `--yes` one sentence says that nothing did."""
    house.put(OTHERS_HOOKS)
    house.done("setup", "--yes")
    before = tree(house.world.home)
    shown = house.done("uninstall", "--dry-run")
    assert f"--- {house.settings}\n" in shown and f"--- {house.backup}\n" in shown
    assert {
        line for line in shown.splitlines() if "drain-inbox --receipts" in line and not line.startswith("-")
    } == set()
    assert "nothing was changed" in house.refused("uninstall")
    assert tree(house.world.home) == before


def test_other_skills_stay(house: Household) -> None:
    """Only our two skills go; a file that the user put beside one stays."""
    other = house.config / "skills" / "other" / "SKILL.md"
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    house.done("setup", "--yes")
    (house.config / "skills" / "send-note" / "my-notes.md").write_text("mine too")
    house.done("uninstall", "--yes")
    assert {path.name for path in (house.config / "skills").rglob("*")} == {
        "other",
        "SKILL.md",
        "send-note",
        "my-notes.md",
    }
    assert other.read_text() == "mine"


def test_one_project_alone(house: Household) -> None:
    """`--project` takes out of the repository what it put in there, and leaves the user's own installation."""
    project = house.world.base / "project-a"
    before = tree(project)
    house.done("setup", "--yes")
    of_user = tree(house.world.home)
    house.done("setup", "--yes", "--project")
    house.done("uninstall", "--yes", "--project")
    assert tree(project) in (before, [entry for entry in tree(project) if entry[0] == ".claude"] + before)
    assert tree(house.world.home) == of_user


def test_a_moved_installation_is_taken_out(house: Household) -> None:
    """Entries that call the drain elsewhere, or another interpreter, go too, with the layout that was before."""
    house.put(OTHERS_HOOKS)
    house.done("setup", "--yes")
    text = house.settings.read_text()
    for event in EVENTS:
        old = json.dumps(house.handlers(event)[0]["command"])
        text = text.replace(
            old, json.dumps("A2A_PYTHON='/my python/python3' '/old place/hooks/drain-inbox' --receipts")
        )
    house.settings.write_text(text)
    house.done("uninstall", "--yes")
    assert house.settings.read_bytes() == OTHERS_HOOKS
    assert not house.backup.exists()


@pytest.mark.parametrize("backup", [b"\xff", b"no JSON", b"[]", b'{"hooks": 7}'])
def test_a_useless_backup_is_one_sentence_or_no_hindrance(house: Household, backup: bytes) -> None:
    """With a backup that cannot be read our entries go all the same, or one sentence names the backup; no traceback."""
    house.put(OTHERS_HOOKS)
    house.done("setup", "--yes")
    house.backup.write_bytes(backup)
    before = tree(house.world.home)
    done = house.run(house.bin / "a2a-watch", "uninstall", "--yes")
    if done.returncode == 0:
        assert house.data()["hooks"] == json.loads(OTHERS_HOOKS)["hooks"]
    else:
        assert str(house.backup).encode() in done.stderr and done.stderr.count(b"\n") == 1, done
        assert tree(house.world.home) == before


def test_settings_that_broke_meanwhile_are_refused(house: Household) -> None:
    """Settings that are no JSON any more are left alone, with file, line and column, and so is everything else."""
    house.put(OTHERS_HOOKS)
    house.done("setup", "--yes")
    house.settings.write_bytes(house.settings.read_bytes() + b"}")
    before = tree(house.world.home)
    said = house.refused("uninstall", "--yes")
    assert str(house.settings) in said and "line" in said and "column" in said
    assert tree(house.world.home) == before


def test_the_whole_folder_may_be_gone(house: Household) -> None:
    """Uninstall where the client's folder was deleted has nothing to change."""
    house.done("setup", "--yes")
    shutil.rmtree(house.config)
    assert "Nothing to change." in house.done("uninstall", "--yes")


@pytest.mark.parametrize("text", ["{}", '{"hooks": {}}', '{"permissions": {"allow": []}}', OWN_DRAIN])
def test_a_file_that_was_there_stays_without_its_backup_too(house: Household, text: str) -> None:
    """Somebody removed the backup: uninstall takes our entries out and never the file, nor a stranger's handlers."""
    house.put(text)
    house.done("setup", "--yes")
    house.backup.unlink()
    house.done("uninstall", "--yes")
    found = house.settings.read_text()
    assert "a2a-" not in found and found.count("/opt/acme/bin/drain-inbox") == text.count("/opt/acme/bin/drain-inbox")


def test_another_inbox_root_is_taken_out_too(house: Household) -> None:
    """Set up with A2A_INBOX and taken out without it, the file is what it was."""
    house.put("{}")
    house.done("setup", "--yes", env={"A2A_INBOX": str(house.world.base / "elsewhere")})
    assert "elsewhere" in house.settings.read_text()
    house.done("uninstall", "--yes")
    assert house.settings.read_text() == "{}" and not house.backup.exists()


def test_a_home_is_no_project(house: Household) -> None:
    """`--project` in the home folder would be the user's own settings, and is refused."""
    house.put(TYPICAL)
    house.done("setup", "--yes")
    before = tree(house.world.home)
    assert "is no repository" in house.refused("uninstall", "--project", "--yes", at="home")
    assert tree(house.world.home) == before
