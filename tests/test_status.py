"""`a2a-watch status` and the watcher's links in doctor: the lock and the markers tell, not a file about a process."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.desktop import Bus, Desk, Dunst
from tests.kit import World
from tests.rights import AS_PLAIN_USER, assert_that_modes_count, tree
from tests.test_cli import WATCH
from tests.watching import markers_are_true, note, until, watching

NOTHING = """watcher:    not running; to start it: a2a-watch service install
root:       ~/.claude/inbox, no such folder
mail:       none waits
"""


def status(world: World, *prefix: str, **options: Any) -> tuple[int, str]:
    done = world.run(*prefix, WATCH, "status", **options)
    assert done.stderr == b"", done
    return done.returncode, done.stdout.decode()


def as_json(world: World) -> dict[str, Any]:
    done = world.run(WATCH, "status", "--json")
    assert done.stderr == b""
    found = json.loads(done.stdout)
    assert isinstance(found, dict) and found["running"] == (done.returncode == 0)
    return found


def test_where_nothing_is_it_says_so_and_makes_nothing(world: World) -> None:
    """Without a root it exits 1, says how to start a watcher, and leaves no folder behind."""
    assert status(world) == (1, NOTHING)
    assert as_json(world) == {"running": False, "root": str(world.root), "watcher": {}, "agents": [], "unreadable": []}
    assert not world.root.exists()


def test_a_watcher_that_runs(world: World) -> None:
    """Since when, which process, how it hears, what it shows, and who has mail; nothing changes by asking."""
    world.root.mkdir(parents=True)
    with watching(world) as one:
        world.send("project-b", "x", "first")
        note(world, "project-c", subject="second \x1b[31m"), note(world, "project-c", "b", sender="other")
        markers_are_true(world)
        before = tree(world.root)
        code, text = status(world)
        assert code == 0
        assert re.fullmatch(rf"running since 20\S+Z, process {one.process.pid}", line(text, "watcher"))
        assert line(text, "root") == "~/.claude/inbox, by events"
        assert line(text, "notices") == "none asked for"
        assert "project-b: 1 from project-a: first" in text
        assert "project-c: 2 from a-script, other: second \\x1b[31m" in text
        found = as_json(world)
        assert found["watcher"]["pid"] == one.process.pid
        assert {one["agent"]: one["count"] for one in found["agents"]} == {"project-b": 1, "project-c": 2}
        assert tree(world.root) == before
        assert one.stop() == 0
    assert status(world)[0] == 1


def test_a_killed_watcher_is_not_alive(world: World) -> None:
    """What it wrote of itself outlives it, and even another process with its number does not make it alive."""
    world.root.mkdir(parents=True)
    with watching(world) as one:
        note(world)
        markers_are_true(world)
        one.process.kill()
        one.process.wait()
    record = json.loads((world.root / ".watcher").read_text())
    (world.root / ".watcher").write_text(json.dumps({**record, "pid": os.getpid()}))
    code, text = status(world)
    assert code == 1
    assert line(text, "watcher") == "not running; to start it: a2a-watch service install"
    assert line(text, "mail") == "project-b: 1 from a-script: S"


GARBAGE = {
    "empty": b"", "no json": b"{", "list": b"[1]", "null": b"null", "deep": b"[" * 100_000, "binary": b"\xff\x00",
    "odd types": b'{"pid": {}, "since": [1], "observes": null, "notices": 1, "error": "x", "last_notice": {"a": 1}}',
    "controls": b'{"observes": "\\u001b[2J", "error": {"at": "\\u001b", "what": "\\n\\n"}}',
}  # fmt: skip


@pytest.mark.parametrize("kind", GARBAGE)
def test_a_damaged_record_is_harmless(world: World, kind: str) -> None:
    """Whatever stands in the watcher's file, the lock tells whether it runs, and nothing reaches the terminal raw."""
    world.root.mkdir(parents=True)
    with watching(world) as one:
        (world.root / ".watcher").write_bytes(GARBAGE[kind])
        code, text = status(world)
        assert code == 0 and line(text, "watcher").startswith("running since ")
        assert "\x1b" not in text and "\n\n" not in text
        assert as_json(world)["running"] is True
        assert world.run(WATCH, "doctor").stderr == b""
        assert one.stop() == 0


@pytest.mark.parametrize("kind", GARBAGE)
def test_a_damaged_marker_is_no_mail(world: World, kind: str) -> None:
    """A marker that is none is left out, the others are shown."""
    note(world, "project-c")
    with watching(world):
        markers_are_true(world)
    world.put("project-b", ".pending", GARBAGE[kind])
    code, text = status(world)
    assert code == 1 and text.count("mail:") == 1
    assert line(text, "mail") == "project-c: 1 from a-script: S"


def test_what_went_wrong_is_shown(world: World, bus: Bus, desk: Desk) -> None:
    """When the notification server is gone the last notice and the last error say so; doctor names the same."""
    world.root.mkdir(parents=True)
    with watching(world, notify=True, env=bus.env) as one:
        one.says("notifications: by desktop")
        desk.kill()
        note(world)
        one.says("no notification can be shown")
        until(lambda: "last one" in status(world)[1])
        code, text = status(world)
        assert code == 0
        assert re.match(r"20\S+Z no notification can be shown: ", line(text, "last error"))
        assert re.match(r"20\S+Z failed: a-script → project-b: S", line(text, "last one"))
        doctor = world.run(WATCH, "doctor").stdout.decode()
        assert re.search(r"^warn  notices: the last one failed: .*; try: a2a-watch doctor --notify$", doctor, re.M)
        assert one.stop() == 0


def test_a_root_that_is_not_ours(world: World) -> None:
    """Where the root cannot be read there is one sentence, and no claim that nobody has mail."""
    note(world)
    assert_that_modes_count(world.base)
    world.root.chmod(0)
    done = world.run(*AS_PLAIN_USER, WATCH, "status")
    world.root.chmod(0o700)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1, done
    assert b"none waits" not in done.stdout and b"denied" in done.stderr
    world.root.chmod(0)
    doctor = world.run(*AS_PLAIN_USER, WATCH, "doctor")
    world.root.chmod(0o700)
    assert doctor.stderr == b"" and b"fail  root: " in doctor.stdout, doctor
    world.inbox().chmod(0)
    done = world.run(*AS_PLAIN_USER, WATCH, "status")
    world.inbox().chmod(0o700)
    assert done.stdout.endswith(b"mail:       project-b: its inbox cannot be read\n")


def test_doctor_shows_a_notification(world: World, bus: Bus, desk: Desk) -> None:
    """`doctor --notify` shows one that says what it is for, and says by which way; the watcher need not run."""
    done = world.run(WATCH, "doctor", "--notify", env=bus.env)
    assert desk.titles == ["a2a-watch: this is a test"]
    assert b"ok    notify: a test notification was shown, by desktop" in done.stdout
    assert f"ok    bus: {bus.env['DBUS_SESSION_BUS_ADDRESS']}".encode() in done.stdout


def test_a_person_sees_doctors_notification(world: World, bus: Bus, dunst: Dunst) -> None:
    """It stays on the screen after doctor has ended."""
    world.run(WATCH, "doctor", "--notify", env=bus.env)
    until(lambda: dunst.displayed() == 1, "something on the screen")


@pytest.mark.parametrize("has_bus", [False, True], ids=["no bus", "no server"])
def test_doctor_says_why_it_cannot(world: World, bus: Bus, has_bus: bool) -> None:
    """Without a bus or without a server on it the test notification fails in one line, with the reason."""
    done = world.run(WATCH, "doctor", "--notify", env=bus.env if has_bus else {})
    assert done.returncode == 1 and done.stderr == b""
    assert b"fail  notify: no notification can be shown: " in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux")
@pytest.mark.parametrize(("watches", "state"), [(10, "warn"), (100_000, "ok")])
def test_doctor_knows_the_limits_of_events(world: World, tmp_path: Path, watches: int, state: str) -> None:
    """Where the kernel has too few watches for the folders here, doctor says which setting to raise."""
    note(world, "project-c"), note(world)
    fake = tmp_path / "limit"
    fake.write_text(f"{watches}\n")
    script = f'mount --bind {fake} /proc/sys/fs/inotify/max_user_watches && exec "$@"'
    done = world.run("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", WATCH, "doctor")
    (found,) = [one for one in done.stdout.decode().splitlines() if " events: " in one]
    assert found.startswith(state) and ("sysctl fs.inotify.max_user_watches" in found) == (state == "warn"), found


def line(text: str, name: str) -> str:
    return next(line.partition(":")[2].strip() for line in text.splitlines() if line.startswith(f"{name}:"))
