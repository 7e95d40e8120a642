"""`a2a-watch setup --wake` and `--no-wake`: three handlers more, three fewer, and nothing else."""

from __future__ import annotations

import json

import pytest

from tests.kit import REPO, World
from tests.real_settings import OTHERS_HOOKS, REAL, TYPICAL, Household, Real

WAKE = {"SessionStart": {}, "CwdChanged": {}, "FileChanged": {"asyncRewake": True}}
SCRIPT = str(REPO / "hooks" / "wake")


@pytest.fixture
def house(world: World) -> Household:
    return Household(world)


def wakes(house: Household) -> dict[str, list[dict[str, object]]]:
    """Return our handlers that wake, each with its group's matcher."""
    found: dict[str, list[dict[str, object]]] = {}
    for event, groups in house.data().get("hooks", {}).items():
        for group in groups:
            for one in group["hooks"]:
                if "hooks/wake" in str(one.get("command")):
                    found.setdefault(event, []).append({"matcher": group.get("matcher", ""), **one})
    return found


def expected(script: str = SCRIPT) -> dict[str, list[dict[str, object]]]:
    return {
        event: [{
            "matcher": ".pending" if event == "FileChanged" else "", "type": "command", "command": f"{script} {event}",
            "timeout": 10, **more,
        }] for event, more in WAKE.items()
    }  # fmt: skip


@pytest.mark.parametrize("real", [one for one in REAL if not one.refused], ids=str)
def test_on_and_off_and_out_again(house: Household, real: Real) -> None:
    """On adds three handlers, off takes just those away, twice is once, and uninstall gives the file back as it was."""
    path = real.put(house.world.home)
    house.done("setup", "--yes")
    plain = path.read_bytes()
    assert not wakes(house)
    house.done("setup", "--yes", "--wake")
    woken = path.read_bytes()
    assert wakes(house) == expected()
    for words in (["--wake"], []):
        assert "Nothing to change." in house.done("setup", "--yes", *words)
    house.done("setup", "--yes", "--no-wake")
    assert json.loads(path.read_text("utf-8-sig")) == json.loads(plain.decode("utf-8-sig"))
    house.done("setup", "--yes", "--wake")
    assert path.read_bytes() == woken
    house.assert_mail_arrives()
    house.done("uninstall", "--yes")
    assert (path.read_bytes() if path.exists() else None) == real.text


def test_off_is_how_it_comes(house: Household) -> None:
    """Without being asked setup adds none of it, and --no-wake on its own is an ordinary setup."""
    house.put(TYPICAL)
    house.done("setup", "--yes", "--no-wake")
    once = house.settings.read_bytes()
    assert b"wake" not in once and b"Nothing to change" in house.done("setup", "--yes").encode()


def test_a_moved_installation_is_repaired(house: Household) -> None:
    """Handlers of an older place, or changed by somebody, are put right by a plain setup; others' are left alone."""
    house.put(OTHERS_HOOKS)
    house.done("setup", "--yes", "--wake")
    text = (
        house.settings.read_text().replace(SCRIPT, "/gone/hooks/wake").replace('"asyncRewake": true', '"async": true')
    )
    other = {"matcher": ".pending", "hooks": [{"type": "command", "command": "/theirs/wake FileChanged"}]}
    data = json.loads(text)
    data["hooks"]["FileChanged"].append(other)
    house.put(json.dumps(data))
    house.done("setup", "--yes")
    assert {event: [one for one in found if "/theirs" not in str(one["command"])]
            for event, found in wakes(house).items()} == expected()  # fmt: skip
    assert other in house.data()["hooks"]["FileChanged"]
    house.done("uninstall", "--yes")
    assert house.data()["hooks"]["FileChanged"] == [other]


def test_it_says_what_it_costs(house: Household) -> None:
    """Whoever switches it on reads how often it may wake, and how it is switched off."""
    said = house.done("setup", "--yes", "--wake")
    assert "6 times in 10 minutes" in said and "a2a-watch setup --no-wake" in said
    assert "--no-wake" not in house.done("setup", "--yes")


def test_for_one_project(house: Household) -> None:
    """--project --wake puts it into that repository's local settings, and not into the user's."""
    house.done("setup", "--yes")
    house.done("setup", "--yes", "--project", "--wake", at="project-b")
    local = house.world.base / "project-b" / ".claude" / "settings.local.json"
    assert "hooks/wake FileChanged" in local.read_text() and not wakes(house)
