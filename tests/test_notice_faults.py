"""No desktop, one that does not answer, one that comes and goes: marking goes on, nothing is shown twice or claimed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from a2a_watch.watch.board import Notice
from a2a_watch.watch.notices import Osascript, Unshown, Unsure
from tests.desktop import Bus, Desk
from tests.kit import World
from tests.test_cli import WATCH
from tests.watching import Watching, markers_are_true, note, pace, until, watching


@pytest.fixture(autouse=True)
def root(world: World) -> Path:
    world.root.mkdir(parents=True, mode=0o700)
    return world.root


def last_notice(world: World) -> str:
    return str(json.loads((world.root / ".watcher").read_text()).get("last_notice", {}).get("what", ""))


def ends_soon(one: Watching) -> None:
    """End it; a notification server that does not answer does not hold that up."""
    start = time.monotonic()
    assert one.stop() == 0
    assert time.monotonic() - start < 10, "a call to the desktop takes 5 s and more"


@pytest.mark.parametrize("env", [{}, {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}, {"XDG_RUNTIME_DIR": "/"}])
def test_without_a_bus_it_says_so_once_and_marks(world: World, env: dict[str, str]) -> None:
    """With no bus the log and the status say that nothing can be shown, and markers are as true as ever."""
    with watching(world, notify=True, env=env) as one:
        one.says("no notification can be shown: there is no session bus; mail is marked all the same")
        for number in range(3):
            note(world, name=f"n{number}")
            markers_are_true(world)
        until(lambda: last_notice(world).startswith("failed: "))
        ends_soon(one)
    assert one.log.count("no session bus") == 1
    assert json.loads((world.root / ".watcher").read_text())["announced"] == []


def test_the_bus_is_found_where_it_always_is(world: World, bus: Bus, desk: Desk) -> None:
    """With no variable for it, the bus in $XDG_RUNTIME_DIR is taken."""
    with watching(world, notify=True, env={"XDG_RUNTIME_DIR": str(bus.socket.parent)}) as one:
        note(world)
        desk.has_shown(1)
        ends_soon(one)


def test_a_notification_server_that_comes_later(world: World, bus: Bus) -> None:
    """What could not be shown is shown in one notice when a server is there; what was read meanwhile is not."""
    from contextlib import ExitStack

    with watching(world, notify=True, env=bus.env) as one, ExitStack() as ends:
        one.says("no notification can be shown")
        note(world, name="read"), note(world, "project-c", "1"), note(world, "project-c", "2")
        until(lambda: last_notice(world).startswith("failed: "))
        (world.inbox() / "read.json").unlink()
        server = Desk(bus, ends)
        server.has_shown(1)
        one.says("shown: 2 new for project-c")
        ends_soon(one)
        assert server.titles == ["2 new for project-c"]


def test_a_server_that_is_killed_and_started_again(world: World, bus: Bus, desk: Desk) -> None:
    """While it is gone notices wait; when it is back they return, each mail once."""
    with watching(world, notify=True, env=bus.env) as one:
        note(world, name="before", subject="before")
        desk.has_shown(1)
        desk.kill()
        note(world, name="between", subject="between")
        one.says("no notification can be shown")
        desk.start()
        desk.has_shown(2)
        note(world, name="after", subject="after")
        desk.has_shown(3)
        ends_soon(one)
    assert [title.rpartition(" ")[2] for title in desk.titles] == ["before", "between", "after"]


def test_a_bus_that_is_killed_and_started_again(world: World, bus: Bus, desk: Desk) -> None:
    """A new bus at the old address is found, and what came meanwhile is announced once."""
    with watching(world, notify=True, env=bus.env) as one:
        note(world, name="before", subject="before")
        desk.has_shown(1)
        bus.kill()
        desk.process.wait()
        note(world, name="between", subject="between")
        one.says("no notification can be shown")
        bus.start()
        desk.start()
        desk.has_shown(2)
        assert world.drain().text
        ends_soon(one)
    assert len(desk.titles) == 2


def test_a_server_that_never_answers_holds_up_nothing(world: World, bus: Bus, desk: Desk) -> None:
    """With a mute server from the start, markers are true at once, the log says so, and it ends when told to."""
    desk.freeze()
    with watching(world, notify=True, env=bus.env) as one:
        note(world)
        markers_are_true(world)
        one.says("gives no answer")
        note(world, name="more")
        markers_are_true(world)
        ends_soon(one)


def test_a_server_that_freezes_shows_nothing_twice(world: World, bus: Bus, desk: Desk) -> None:
    """What a frozen server took without an answer is not sent again: nobody can know, and the log does not claim it."""
    with watching(world, notify=True, env=bus.env) as one:
        note(world, name="before", subject="before")
        desk.has_shown(1)
        desk.freeze()
        note(world, name="doubt", subject="doubt")
        one.says("unsure: a-script → project-b: doubt: the notification server gave no answer")
        assert last_notice(world).startswith("unsure: ")
        desk.thaw()
        note(world, name="after", subject="after")
        until(lambda: any("after" in title for title in desk.titles))
        ends_soon(one)
    assert [title.rpartition(" ")[2] for title in desk.titles] == ["before", "doubt", "after"]


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted in /proc")
def test_failures_leak_nothing(world: World, bus: Bus, desk: Desk) -> None:
    """After many failed notices it has no more descriptors and threads open than after the first."""
    code = (
        "import sys; sys.argv[0] = 'a2a-watch'\nimport a2a_watch.watch.board as board\n"
        "board.RETRY_SECONDS = board.LONGEST_RETRY_SECONDS = 0.1\nfrom a2a_watch.cli import main; main()"
    )

    def count(folder: str) -> int:
        return len(os.listdir(f"/proc/{one.process.pid}/{folder}"))

    def fails(times: int) -> None:
        seen: set[int] = set()

        def has_failed() -> bool:
            seen.add((world.root / ".watcher").stat().st_mtime_ns)
            return len(seen) > times

        until(has_failed)

    with watching(world, notify=True, program=(sys.executable, "-c", code), env=bus.env) as one:
        note(world)
        desk.has_shown(1)
        desk.kill()
        note(world, name="two")
        fails(6)
        before = count("fd"), count("task")
        fails(40)
        assert count("fd") <= before[0] + 1 and count("task") <= before[1]
        bus.kill()
        fails(40)
        assert count("fd") <= before[0] + 1 and count("task") <= before[1]
        ends_soon(one)


def test_the_doctor_shows_a_notification(world: World, bus: Bus, desk: Desk) -> None:
    """`doctor --notify` shows one and says by which way; where it cannot, that link fails with the reason."""
    done = world.run(WATCH, "doctor", "--notify", "--json", env=bus.env)
    (found,) = [one for one in json.loads(done.stdout) if one["link"] == "notify"]
    assert (found["state"], desk.titles) == ("ok", ["a2a-watch: this is a test"])
    desk.kill()
    done = world.run(WATCH, "doctor", "--notify", "--json", env=bus.env)
    (found,) = [one for one in json.loads(done.stdout) if one["link"] == "notify"]
    assert found["state"] == "fail" and "no notification can be shown" in found["says"]


HOSTILE = Notice('"; do shell script "touch hacked" & "', "a\\b 'c' `d` $(e)\n-e\nשלום \N{PARTY POPPER}", frozenset())


def test_osascript_has_the_text_as_arguments(tmp_path: Path) -> None:
    """On macOS the title and the body are arguments of a script that never changes."""
    program = tmp_path / "osascript"
    program.write_text(f'#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done >{tmp_path}/said\n')
    program.chmod(0o755)
    assert asyncio.run(Osascript(str(program)).show(HOSTILE)) == ""
    words = (tmp_path / "said").read_text().split("\0")[:-1]
    assert words[-2:] == [HOSTILE.title, HOSTILE.body]
    assert words[:-2] == ["-e", "on run argv", "-e", words[3], "-e", "end run"]
    assert words[3] == "display notification (item 2 of argv) with title (item 1 of argv)"


def test_osascript_that_fails_or_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is not there or fails has shown nothing; one that hangs is ended, and nobody knows."""
    with pytest.raises(Unshown, match="No such file"):
        asyncio.run(Osascript(str(tmp_path / "none")).show(HOSTILE))
    program = tmp_path / "osascript"
    program.write_text("#!/bin/sh\necho 'not allowed' >&2; exit 1\n")
    program.chmod(0o755)
    with pytest.raises(Unshown, match="not allowed"):
        asyncio.run(Osascript(str(program)).show(HOSTILE))
    program.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid; exec sleep 1000\n")
    monkeypatch.setattr("a2a_watch.watch.notices.LIMIT_SECONDS", 0.5)
    with pytest.raises(Unsure, match="did not end"):
        asyncio.run(Osascript(str(program)).show(HOSTILE))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGCONT)


def test_sixty_messages_in_a_burst(world: World, bus: Bus, desk: Desk) -> None:
    """60 messages in about a second are one or two notices, the first within the two seconds that a burst may last."""
    world.inbox().mkdir()
    with watching(world, notify=True, env=bus.env) as one:
        one.says("notifications: by desktop")
        start = time.monotonic()
        for number in range(60):
            note(world, name=f"n{number:02}", subject=f"S{number}")
            pace(start + number * 0.02)
        until(lambda: sum(int(title.split()[0]) if "new for" in title else 1 for title in desk.titles) == 60)
        ends_soon(one)
    assert len(desk.shown) <= 2 and desk.times[0] - start < 4


def test_a_steady_stream(world: World, bus: Bus, desk: Desk) -> None:
    """A message every 0.4 s makes a notice about every two seconds, and never one each."""
    world.inbox().mkdir()
    with watching(world, notify=True, env=bus.env) as one:
        one.says("notifications: by desktop")
        start = time.monotonic()
        for number in range(30):
            note(world, name=f"n{number:02}", subject=f"S{number}")
            pace(start + number * 0.4)
        until(lambda: sum(int(title.split()[0]) if "new for" in title else 1 for title in desk.titles) == 30)
        ends_soon(one)
    gaps = [after - before for before, after in zip(desk.times, desk.times[1:], strict=False)]
    assert 3 <= len(desk.shown) <= 10 and max(gaps) < 5 and min(gaps) > 1.5, gaps
