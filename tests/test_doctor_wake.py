"""`a2a-watch doctor` tries what wakes an idle session, and says what is broken there and how to mend it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.doctor import Clinic, Found, script
from tests.kit import REPO, World
from tests.watching import watching

ON = "a2a-watch setup --wake"


@pytest.fixture
def clinic(world: World) -> Clinic:
    clinic = Clinic(world)
    assert clinic.run(clinic.bin / "a2a-watch", "setup", "--yes", "--wake").returncode == 0
    return clinic


def wakes(clinic: Clinic, **options: object) -> list[Found]:
    return [one for one in clinic.ask(**options) if one.link == "wake"]  # type: ignore[arg-type]


def bad(clinic: Clinic, **options: object) -> Found:
    """Return the only complaint there is, which is about waking."""
    (found,) = [one for one in clinic.ask(**options) if one.state != "ok"]  # type: ignore[arg-type]
    assert found.link == "wake"
    return found


def mend(clinic: Clinic, found: Found) -> None:
    """Do what it says; then nothing is wrong."""
    done = clinic.run("/bin/sh", "-c", f"{found.fix} --yes")
    assert done.returncode == 0 and clinic.complaints() == []


def test_on_and_off(clinic: Clinic) -> None:
    """Switched on it is tried and nothing of it stays; switched off one line says how to switch it on."""
    before = {path: path.stat().st_mtime_ns for path in clinic.world.home.rglob("*") if path.is_file()}
    tried, bounds, others = wakes(clinic)
    assert tried.says.startswith("mail wakes once: ") and tried.says.endswith(" ms from the marker")
    assert bounds.says == "0 of 6 wakes in 10 minutes are used up"
    assert others.says == "what other tools write wakes nobody without the watcher (a2a-watch service install)"
    assert {path: path.stat().st_mtime_ns for path in clinic.world.home.rglob("*") if path.is_file()} == before
    with watching(clinic.world):
        assert wakes(clinic)[2].says == "what other tools write wakes too, for the watcher runs"
    assert clinic.run(clinic.bin / "a2a-watch", "setup", "--yes", "--no-wake").returncode == 0
    (off,) = wakes(clinic)
    assert off == Found("wake", "ok", f"off, so mail waits for the next prompt ({ON})", "")


def test_the_drain_and_the_wake_are_not_taken_for_each_other(clinic: Clinic) -> None:
    """With waking on, a drain that is missing is missed; without a drain, no wake is tried as one."""
    hooks = json.loads(clinic.settings.read_text())["hooks"]
    hooks["SessionStart"] = [group for group in hooks["SessionStart"] if "/wake" in group["hooks"][0]["command"]]
    clinic.edit(hooks=hooks)
    (found,) = clinic.complaints()
    assert (found.link, found.state) == ("hooks", "fail") and "none at SessionStart" in found.says
    clinic.cure(found)


@pytest.mark.parametrize("event", ["SessionStart", "CwdChanged", "FileChanged"])
@pytest.mark.parametrize("how", ["gone", "under a matcher", "not behind the session"])
def test_a_handler_that_is_missing(clinic: Clinic, event: str, how: str) -> None:
    """Gone, narrowed or changed: it is named, and setup puts it right."""
    hooks = json.loads(clinic.settings.read_text())["hooks"]
    (place,) = [number for number, one in enumerate(hooks[event]) if "/wake" in one["hooks"][0]["command"]]
    if how == "gone":
        del hooks[event][place]
    elif how == "under a matcher":
        hooks[event][place]["matcher"] = ".env"
    else:
        hooks[event][place]["hooks"][0]["async"] = True
    clinic.edit(hooks=hooks)
    found = bad(clinic)
    assert found == Found("wake", "fail", f"none at {event}, so mail does not always wake", ON)
    mend(clinic, found)


FAULTS = {
    "watches nothing": ("exit 0", "at a start it does not have the client watch the marker"),
    "watches another": ('echo \'{"hookSpecificOutput": {"watchPaths": ["/x"]}}\'', "have the client watch"),
    "never wakes": ('[ "$1" = FileChanged ] || exec REAL "$@"', "at FileChanged it failed (exit 0)"),
    "always wakes": ('[ "$1" != FileChanged ] || exit 2; exec REAL "$@"', "at FileChanged it failed (exit 2)"),
    "fails": ("echo no such luck >&2; exit 7", "no such luck"),
    "not there": ("", "not found"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wake_that_does_not(clinic: Clinic, fault: str) -> None:
    """It is made happen: whatever it does not do is said with its command, and setup puts the right one in."""
    body, says = FAULTS[fault]
    program = script(clinic.world.base / "stub" / "hooks" / "wake", body.replace("REAL", str(REPO / "hooks" / "wake")))
    if not body:
        program.unlink()
    text = clinic.settings.read_text()
    data = json.loads(text)
    for event in ("SessionStart", "CwdChanged", "FileChanged"):
        for group in data["hooks"][event]:
            handler = group["hooks"][0]
            if "/wake" in handler["command"]:
                handler["command"] = f"{program} {event}"
    clinic.settings.write_text(json.dumps(data))
    found = bad(clinic)
    assert (found.state, found.fix) == ("fail", ON) and str(program) in found.says and says in found.says
    mend(clinic, found)


def test_what_is_left_of_the_bound(clinic: Clinic) -> None:
    """It is this agent's, by the limit that its sessions have: that of the settings before that of the shell."""
    folder = clinic.world.inbox("project-a") / ".wakes"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}.json {number}").touch()
    (folder / "refused.json 9").write_text("refused\n")
    assert wakes(clinic)[1].says == "3 of 6 wakes in 10 minutes are used up"
    assert wakes(clinic, env={"A2A_WAKES": "9/1h"})[1].says == "3 of 9 wakes in 60 minutes are used up"
    found = bad(clinic, env={"A2A_WAKES": "3/1h"})
    assert found == Found(
        "wake", "warn", "3 of 3 wakes in 60 minutes are used up; mail waits for the next prompt",
        "export A2A_WAKES=20/10m",
    )  # fmt: skip
    clinic.edit(env={"A2A_WAKES": "2/5m"})
    found = bad(clinic, env={"A2A_WAKES": "9/1h"})
    assert found.says.startswith("3 of 2 wakes in 5 minutes") and found.fix == f"$EDITOR {clinic.settings}"
    assert wakes(clinic, at="project-b", env={"CLAUDE_CODE_SESSION_ATTENDED": "0"})[1].says.startswith("0 of 2 ")


@pytest.mark.parametrize("limit", ["6", "x/10m", "6/10", "6/0m", "6/10m; id", "-1/10m", "123456/1m"])
def test_a_limit_that_is_none(clinic: Clinic, limit: str) -> None:
    """Then nothing wakes, which is said."""
    for place in ("shell", "settings"):
        if place == "settings":
            clinic.edit(env={"A2A_WAKES": limit})
        found = bad(clinic, env={"A2A_WAKES": limit})
        assert (found.state, found.says) == ("fail", "A2A_WAKES is nothing like 6/10m or 20/1h, so no mail wakes")
        assert found.fix == {"shell": "export A2A_WAKES=6/10m", "settings": f"$EDITOR {clinic.settings}"}[place]


def test_a_project_of_a_strangers_is_not_run(clinic: Clinic) -> None:
    """A wake that only a repository's settings call is named and not run."""
    ran = clinic.world.base / "ran"
    program = script(clinic.world.base / "x" / "hooks" / "wake", f": >{ran}")
    place = clinic.world.base / "project-a" / ".claude" / "settings.json"
    place.parent.mkdir(exist_ok=True)
    handler = {"type": "command", "command": f"{program} SessionStart"}
    place.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [handler]}]}}))
    found = bad(clinic)
    assert found.state == "warn" and str(program) in found.says and not ran.exists()


def test_from_the_plugin(world: World) -> None:
    """Its handlers are tried when the switch is on; off, the line says how to switch it on."""
    clinic = Clinic(world)
    clinic.edit(hooks=None, enabledPlugins={"a2a-watch@a2a-watch": True})
    clinic.client("a2a-watch@a2a-watch")
    switch = world.root / ".wake"
    (off,) = wakes(clinic)
    assert off.says == f"off, so mail waits for the next prompt (touch {switch})"
    assert clinic.run("/bin/sh", "-c", off.says.partition("(")[2].rstrip(")")).returncode == 0
    assert Path(switch).exists()
    assert wakes(clinic)[0].says.startswith("mail wakes once: ")
    assert clinic.complaints() == []


def test_without_a2a_send_no_wake_is_tried(clinic: Clinic) -> None:
    """What is wrong with the PATH is said, and no more."""
    (clinic.bin / "a2a-send").unlink()
    assert [one.link for one in clinic.complaints()] == ["PATH"]
