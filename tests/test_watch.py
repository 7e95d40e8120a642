"""The watcher's ordinary life: whoever writes or removes mail, the marker is true at once."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit import HOOK, REPO, SEND, World
from tests.test_cli import WATCH
from tests.watching import marked, markers_are_true, note, until, watching


@pytest.fixture(autouse=True)
def root(world: World) -> Path:
    world.root.mkdir(parents=True, mode=0o700)
    return world.root


def by_link(world: World) -> None:
    note(world, name="first")
    os.link(world.inbox() / "first.json", world.inbox() / "second.json")


def by_plain_write(world: World) -> None:
    world.put("project-b", "plain.json", id="1", subject="S")


def by_archiving(world: World) -> None:
    note(world, name="one"), note(world, name="two")
    (world.inbox() / ".read").mkdir()
    (world.inbox() / "one.json").rename(world.inbox() / ".read" / "one.json")


def by_deletion(world: World) -> None:
    note(world, name="one"), note(world, name="two")
    (world.inbox() / "one.json").unlink()


def by_moving_out(world: World) -> None:
    note(world, name="one"), note(world, name="two")
    (world.inbox() / "one.json").rename(world.base / "one.json")


def by_moving_a_folder_in(world: World) -> None:
    for number in range(20):
        note(world, "elsewhere", f"n{number}")
    world.inbox("elsewhere").rename(world.base / "made")
    (world.base / "made").rename(world.inbox("made"))


def by_making_a_folder(world: World) -> None:
    world.inbox("new").mkdir()
    for number in range(20):
        world.put("new", f"n{number:02d}.json", id="1", subject="S")


def by_a_shell_drain(world: World) -> None:
    note(world, name="one")
    done = world.run(REPO / "bench" / "shell" / "drain-inbox.sh", at="project-b")
    assert done.returncode == 0, done


def by_removing_the_marker(world: World) -> None:
    note(world, name="one")
    until(world.marker, "a marker")
    (world.inbox() / ".pending").unlink()
    until(world.marker, "the marker again")


def by_an_odd_name(world: World) -> None:
    note(world, "café \N{PARTY POPPER}", "näme")
    note(world, ".hidden", "x")


WAYS = [
    by_link, by_plain_write, by_archiving, by_deletion, by_moving_out, by_moving_a_folder_in, by_making_a_folder,
    by_a_shell_drain, by_removing_the_marker, by_an_odd_name,
]  # fmt: skip


@pytest.mark.parametrize("options", [(), ("--poll",)], ids=["events", "poll"])
@pytest.mark.parametrize("change", WAYS)
def test_a_marker_is_true_whoever_changes_the_inbox(
    world: World, change: Callable[[World], None], options: tuple[str, ...]
) -> None:
    """After a change by any program each marker says what its folder holds, without a rescan having to heal it."""
    with watching(world, "--rescan", "3600", *options) as one:
        change(world)
        markers_are_true(world)
        note(world, "last")
        markers_are_true(world)
        assert marked(world)["last"] == 1
        assert one.stop() == 0


def test_the_marker_is_the_one_that_a_sender_makes(world: World) -> None:
    """For the same mail the watcher leaves the marker of a send as it is, to the byte, and makes the same one anew."""
    with watching(world) as one:
        world.send("project-b", "x", "S \N{PARTY POPPER}")
        first = (world.inbox() / ".pending").read_bytes()
        one.says("1 waiting, 0 before")
        assert (world.inbox() / ".pending").read_bytes() == first
        (world.inbox() / ".pending").unlink()
        until((world.inbox() / ".pending").exists)
        again = (world.inbox() / ".pending").read_bytes()
        assert again.partition(b'"updated"')[0] == first.partition(b'"updated"')[0]


def test_a_file_that_is_still_written_is_read_when_it_is_whole(world: World) -> None:
    """A writer that opens the final name and takes its time has its subject in the marker when it is done."""
    text = '{"id": "1", "from": "slow", "subject": "whole"}'
    with watching(world) as one:
        world.inbox().mkdir()
        with open(world.inbox() / "slow.json", "w") as file:
            file.write(text[:20])
            file.flush()
            until(world.marker)
            file.write(text[20:])
        until(lambda: (marker := world.marker()) and marker["subject"] == "whole", one.log)
        marker = world.marker()
        assert marker and marker["from"] == ["slow"]


def test_an_alias_has_no_life_of_its_own(world: World) -> None:
    """Mail that came by an alias is marked in the inbox itself, and the log speaks of that alone."""
    world.inbox("real").mkdir()
    world.inbox("nickname").symlink_to("real")
    with watching(world) as one:
        note(world, "nickname")
        until(lambda: world.marker("real"))
        marker = world.marker("real")
        assert marker and marker["agent"] == "real"
        assert one.stop() == 0
    assert "nickname" not in one.log


def test_it_never_touches_mail(world: World) -> None:
    """What waits, was read or is no message lies after a watch just where and as it lay before."""
    note(world, name="one")
    world.put("project-b", "bad.json", b"no json")
    world.put("project-b", ".read/old.json", id="1")
    before = {path: path.read_bytes() for path in world.root.rglob("*.json")}
    with watching(world, "--rescan", "0.5") as one:
        markers_are_true(world)
        note(world, "other")
        one.says("other: 1 waiting")
        assert one.stop() == 0
    after = {path: path.read_bytes() for path in world.root.rglob("*.json")}
    assert before.items() <= after.items() and len(after) == len(before) + 1


def test_a_second_watcher_says_who_has_the_root(world: World) -> None:
    """One watcher a root: the second exits 1 with one sentence that names the first one; the first goes on."""
    with watching(world) as one:
        done = world.run(WATCH, "run", timeout=30)
        assert done.returncode == 1
        assert done.stderr.decode().count("\n") == 1
        assert f"another watcher has {world.root}: process {one.process.pid}, since 20" in done.stderr.decode()
        assert b"try: a2a-watch status" in done.stderr
        note(world)
        markers_are_true(world)
        with watching(world, waits_for="", env={"A2A_INBOX": str(world.base / "other")}) as other:
            other.says("No such file")  # another root is another watcher's
        assert one.stop() == 0
    with watching(world) as next_one:
        assert next_one.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_well(world: World, number: signal.Signals) -> None:
    """SIGTERM, SIGINT and SIGHUP end it with status 0, the markers true and nothing left but its one file."""
    with watching(world) as one:
        note(world)
        markers_are_true(world)
        assert one.stop(number) == 0
    assert f"stopped by {number.name}" in one.log
    assert sorted(path.name for path in world.root.iterdir()) == [".lock", ".watcher", "project-b"]


def test_under_nohup_a_hangup_does_not_end_it(world: World) -> None:
    """Who starts it with SIGHUP ignored keeps it when the terminal goes."""
    with watching(world, prefix=("sh", "-c", "trap '' HUP; exec \"$@\"", "sh")) as one:
        one.process.send_signal(signal.SIGHUP)
        note(world)
        markers_are_true(world)
        assert one.stop() == 0
    assert "SIGHUP" not in one.log


@pytest.mark.parametrize("hangup", ["", "trap '' HUP; "], ids=["hangup", "no hangup"])
def test_a_closed_terminal_leaves_nothing_half_done(world: World, hangup: str) -> None:
    """When its terminal is closed it ends, or goes on in silence; the markers are true and the lock is not stuck."""
    pid, master = pty.fork()
    if pid == 0:
        os.execve("/bin/sh", ["sh", "-c", f"{hangup}exec {WATCH} run --no-notify"], world.env())
    said = b""
    while b"watching" not in said:
        said += os.read(master, 1000)
    os.close(master)
    note(world)
    if hangup:
        markers_are_true(world)
        os.kill(pid, signal.SIGTERM)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    with watching(world):
        markers_are_true(world)


def test_killed_it_takes_nothing_with_it(world: World) -> None:
    """After SIGKILL sends and drains do what they did; the next watcher starts and puts the markers right."""
    with watching(world) as one:
        note(world)
        markers_are_true(world)
        one.process.kill()
        one.process.wait()
    note(world, name="while-nobody-watched")
    with watching(world):
        markers_are_true(world)
    assert world.run(SEND, "project-b", "x").returncode == 0
    assert "3 message(s)" in world.run(HOOK, at="project-b").stdout.decode()
    assert world.marker() is None


def test_verbose_says_more_and_bad_options_are_refused(world: World) -> None:
    """-v adds lines, --rescan has bounds, and what is wrong exits 2 with a usage line."""
    with watching(world, "-v") as one:
        assert one.stop() == 0
    for words in (["--rescan", "0"], ["--rescan", "x"], ["--quiet"], ["nonsense"]):
        done = world.run(WATCH, "run", *words)
        assert (done.returncode, done.stdout) == (2, b""), words
        assert done.stderr and b"Traceback" not in done.stderr


def test_a_sender_is_not_held_up(world: World) -> None:
    """While the watcher is stopped in the middle of its life a send and a drain do what they always do."""
    with watching(world) as one:
        one.process.send_signal(signal.SIGSTOP)
        world.send("project-b", "x", "S")
        assert world.marker()
        assert "x" in world.drain().text
        assert world.marker() is None
        one.process.send_signal(signal.SIGCONT)
        note(world)
        markers_are_true(world)
        assert one.stop() == 0


def test_the_watcher_is_not_needed_to_import_the_light_programs(world: World) -> None:
    """Nothing that runs in a session imports the watcher or its libraries."""
    code = "import sys, a2a_watch.light.send, a2a_watch.light.drain; print([m for m in sys.modules if 'watchdog' in m])"
    done = subprocess.run([str(Path(WATCH).with_name("python")), "-c", code], capture_output=True, check=True, cwd=REPO)
    assert done.stdout == b"[]\n"
