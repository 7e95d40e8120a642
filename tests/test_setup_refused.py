"""What setup leaves alone: settings it does not understand, places it may not write to, files of somebody else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.kit import World
from tests.real_settings import EVENTS, OTHERS_HOOKS, TYPICAL, Household
from tests.rights import AS_PLAIN_USER, assert_that_modes_count, tree


@pytest.fixture
def house(world: World) -> Household:
    return Household(world)


def assert_refused(house: Household, *says: str, words: tuple[str, ...] = (), prefix: tuple[str, ...] = ()) -> None:
    """One sentence with the file in it; no file, backup or folder is made or changed."""
    before = tree(house.world.home)
    said = house.refused("setup", "--yes", *words, prefix=prefix)
    assert [word for word in (*says, str(house.world.base)) if word not in said] == [], said
    assert tree(house.world.home) == before


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{\n  // mine\n  "a": 1\n}', "line 2, column 3"),
        ('{\n  "a": 1 /* mine */\n}', "line 2, column 10"),
        ('{\n  "a": 1,\n}\n', "line"),
        ('{"a": [1, 2,]}', "line 1"),
        ('{"a": 1', "line 1, column 8"),
        ('{"a": 1} x', "line 1, column 10"),
        ("{\r\n'a': 1}", "line 2, column 1"),
        ('{"a": "\t"}', "line 1, column 8"),
        ("\ufeff{,}", "line 1, column 2"),
        ("\u00a0", "line 1, column 1"),
        ('{"a": NaN}', "NaN"),
    ],
)
def test_what_is_no_plain_json_is_left_alone(house: Household, text: str, where: str) -> None:
    """Comments, a trailing comma, any other mistake: one sentence names file, line and column; nothing is changed."""
    house.put(text)
    assert_refused(house, str(house.settings), where)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[]", "the whole"),
        ("null", "the whole"),
        ('"text"', "the whole"),
        ('{"hooks": []}', "hooks"),
        ('{"hooks": null}', "hooks"),
        ('{"hooks": {}, "hooks": 3}', "hooks"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop"),
        ('{"hooks": {"SessionEnd": null}}', "hooks.SessionEnd"),
        ('{"permissions": "all"}', "permissions"),
        ('{"permissions": {"allow": "Bash"}}', "permissions.allow"),
        ('{"sandbox": true}', "sandbox"),
        ('{"sandbox": {"filesystem": [{}]}}', "sandbox.filesystem"),
        ('{"sandbox": {"filesystem": {"allowWrite": {}}}}', "sandbox.filesystem.allowWrite"),
    ],
)
def test_a_place_of_ours_that_holds_something_else_is_left_alone(house: Household, text: str, place: str) -> None:
    """Where a list or an object would have to be and something else is, one sentence names the place."""
    house.put(text)
    assert_refused(house, str(house.settings), f"{place} in it")


@pytest.mark.parametrize("text", [b"\xff{}", b'{"a": "\xe9"}', "{}".encode("utf-16")])
def test_what_is_not_utf_8_is_left_alone(house: Household, text: bytes) -> None:
    """Bytes that are no UTF-8 are not decoded by guessing."""
    house.put(text)
    assert_refused(house, str(house.settings), "UTF-8")


@pytest.mark.parametrize("depth", [100, 300, 500, 700, 900, 1_000, 3_000, 100_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_absurd_nesting_is_edited_or_refused(house: Household, depth: int, brackets: str) -> None:
    """However deep a file is nested, setup puts our hooks in or refuses with one sentence."""
    inside = brackets[0] * depth + brackets[1] * depth if brackets == "[]" else '{"a":' * depth + "1" + "}" * depth
    house.put('{"deep": ' + inside + "}")
    done = house.run(house.bin / "a2a-watch", "setup", "--yes")
    if done.returncode == 0 and depth < 1_000:
        assert done.stderr == b"" and f'{{"deep": {inside}, "hooks"' in house.settings.read_text()
    else:
        assert_refused(house, str(house.settings), "too deep" if depth > 1_000 else "")


@pytest.mark.parametrize(
    "text", ['{"n": ' + "9" * 5_000 + "}", '{"n": 1e400, "m": -0.0, "o": 1.0}', '{"\\ud800": "\\udfff"}']
)
def test_odd_values_are_no_hindrance(house: Household, text: str) -> None:
    """Numbers beyond all bounds and half characters stay as they are written."""
    house.put(text)
    house.done("setup", "--yes")
    assert house.settings.read_text().startswith(text[:-1] + ', "hooks": ')
    house.done("uninstall", "--yes")
    assert house.settings.read_text() == text


@pytest.mark.parametrize("links", [1, 3])
def test_a_link_is_followed_and_stays_a_link(house: Household, links: int) -> None:
    """The file at the end of the links is changed where it is, all links stay; the backup lies beside the first."""
    target = house.world.home / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_bytes(OTHERS_HOOKS)
    target.chmod(0o640)
    house.config.mkdir()
    for number in range(1, links):
        link = house.world.home / f"link-{number}"
        link.symlink_to(target)
        target = link
    house.settings.symlink_to(os.path.relpath(target, house.config))
    links_before = [(entry[0], entry[1]) for entry in tree(house.world.home) if entry[1]]
    before = tree(house.world.home)
    house.done("setup", "--yes")
    real = house.settings.resolve()
    assert real.parent.name == "dotfiles" and real.stat().st_mode & 0o7777 == 0o640
    assert [len(house.handlers(event)) for event in EVENTS] == [1, 1, 1, 1]
    assert [(entry[0], entry[1]) for entry in tree(house.world.home) if entry[1]] == links_before
    assert (house.backup.read_bytes(), house.backup.stat().st_mode & 0o7777) == (OTHERS_HOOKS, 0o640)
    assert [path.name for path in real.parent.iterdir()] == ["claude.json"]
    house.done("uninstall", "--yes")
    assert [entry for entry in tree(house.world.home) if "inbox" not in entry[0]] == before


@pytest.mark.parametrize("target", ["nowhere", "settings.json"], ids=["to nothing", "in a circle"])
def test_a_link_that_leads_nowhere_is_refused(house: Household, target: str) -> None:
    """A link to nothing, or to itself, is neither followed nor replaced."""
    house.config.mkdir()
    house.settings.symlink_to(target)
    assert_refused(house, str(house.settings))
    assert os.readlink(house.settings) == target


def test_a_folder_by_that_name_is_refused(house: Household) -> None:
    """Where the file should be there is a folder: one sentence."""
    house.settings.mkdir(parents=True)
    assert_refused(house, str(house.settings))


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o664])
def test_the_backup_is_the_file_as_it_was(house: Household, mode: int) -> None:
    """Beside the settings lies what they were, with the same mode; the settings keep mode and owner."""
    house.put(TYPICAL, mode)
    owner = (house.settings.stat().st_uid, house.settings.stat().st_gid)
    if os.getuid() == 0:
        os.chown(house.settings, *(owner := (1234, 4321)))
    house.done("setup", "--yes")
    for path in (house.settings, house.backup):
        facts = path.stat()
        assert (facts.st_mode & 0o7777, facts.st_uid, facts.st_gid) == (mode, *owner), path
    assert house.backup.read_bytes() == TYPICAL


@pytest.mark.parametrize("what", ["file", "folder", "home", "skills", "backup"])
def test_what_is_read_only_is_refused(house: Household, what: str) -> None:
    """A file or a folder that may not be written is one sentence, before anything is changed."""
    assert_that_modes_count(house.world.base)
    paths = {"file": house.settings, "folder": house.config, "home": house.world.home,
             "skills": house.config / "skills", "backup": house.backup}  # fmt: skip
    if what != "home":
        house.put(TYPICAL)
        (house.config / "skills").mkdir()
    if what == "backup":
        house.backup.write_text("{}")
    path: Path = paths[what]
    mode = path.stat().st_mode
    path.chmod(0o444 if path.is_file() else 0o555)
    try:
        assert_refused(house, "read-only", str(path), prefix=AS_PLAIN_USER)
    finally:
        path.chmod(mode)


def test_what_may_not_be_read_is_refused(house: Household) -> None:
    """Settings of mode 0 are one sentence."""
    assert_that_modes_count(house.world.base)
    house.put(TYPICAL)
    house.settings.chmod(0)
    said = house.refused("setup", "--yes", prefix=AS_PLAIN_USER)
    assert str(house.settings) in said
    house.settings.chmod(0o644)
    assert house.settings.read_bytes() == TYPICAL and not house.backup.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to a group that it is not in")
def test_what_belongs_to_others_is_refused(house: Household) -> None:
    """A file whose group we may not give to the new one is one sentence with its name, before anything is changed."""
    house.put(TYPICAL)
    os.chown(house.settings, -1, 4321)
    assert_refused(house, str(house.settings), prefix=AS_PLAIN_USER)


@pytest.mark.parametrize("name", ["check-inbox", "send-note"])
def test_another_skill_by_that_name_is_refused(house: Household, name: str) -> None:
    """Somebody else's skill is not overwritten, and nothing else is changed either."""
    house.put(TYPICAL)
    path = house.config / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: mine\n---\nReads my e-mail.\n")
    assert_refused(house, str(path), "another skill")


def test_an_inbox_root_that_is_no_folder_is_refused(house: Household) -> None:
    """With a file where the mail should be, nothing is written at all."""
    house.put(TYPICAL)
    (house.config / "inbox").write_text("no folder")
    assert_refused(house, "inbox is not a folder")
