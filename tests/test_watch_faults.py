"""What goes wrong around the watcher: after each fault, within the rescan time, every marker tells the truth."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import World
from tests.rights import AS_PLAIN_USER, assert_that_modes_count
from tests.watching import marked, markers_are_true, note, until, watching

QUICK = ("--rescan", "1")
linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux")


def in_namespace(*settings: str) -> tuple[str, ...]:
    """Return a prefix that runs a command where these limits on inotify are its own."""
    script = "".join(
        f"echo {value} >/proc/sys/user/{name} && " for name, _, value in (one.partition("=") for one in settings)
    )
    return ("unshare", "--user", "--map-root-user", "sh", "-c", f'{script}exec "$@"', "sh")


def with_code(code: str) -> tuple[str, ...]:
    """Return a program that is a2a-watch after `code` was run in it."""
    return (
        sys.executable,
        "-c",
        f"import sys; sys.argv[0] = 'a2a-watch'\n{code}\nfrom a2a_watch.cli import main; main()",
    )


def test_a_root_that_is_missing_at_start_is_waited_for(world: World) -> None:
    """It says once that there is no root, and has its mail marked as soon as somebody makes it."""
    with watching(world, *QUICK, waits_for="No such file") as one:
        note(world)
        markers_are_true(world)
        assert one.log.count("No such file") == 1
        assert one.stop() == 0


@pytest.mark.parametrize("way", ["deleted", "renamed", "replaced"])
def test_a_root_that_goes_and_comes_back(world: World, way: str) -> None:
    """Deleted, renamed or replaced, the root is watched again as soon as it is there; what it was is left alone."""
    note(world)
    with watching(world, *QUICK) as one:
        markers_are_true(world)
        if way == "deleted":
            shutil.rmtree(world.root)
            one.says("No such file")
        else:
            world.root.rename(world.root.with_name("old"))
        if way == "renamed":
            one.says("No such file")
        note(world, "project-c")
        one.says("watching ", times=2)
        markers_are_true(world)
        note(world, "project-d")
        markers_are_true(world)
        assert one.stop() == 0
    assert marked(world) == {"project-c": 1, "project-d": 1}


def test_a_lost_lock_file_is_noticed(world: World) -> None:
    """When somebody deletes the lock, the watcher takes a new one: a second watcher is still refused."""
    note(world)
    with watching(world, *QUICK) as one:
        (world.root / ".lock").unlink()
        one.says("watching ", times=2)
        with watching(world, waits_for="another watcher has"):
            pass
        assert one.stop() == 0


def test_an_unreadable_root_is_told_and_waited_for(world: World) -> None:
    """A root that its user may not read is said once; opened again, its markers are true."""
    note(world)
    assert_that_modes_count(world.base)
    with watching(world, *QUICK, prefix=AS_PLAIN_USER) as one:
        markers_are_true(world)
        world.root.chmod(0)
        one.says("Permission denied")
        world.root.chmod(0o700)
        note(world, "project-c")
        markers_are_true(world)
        assert one.stop() == 0


def test_an_unreadable_or_unwritable_inbox_does_not_blind_it_for_others(world: World) -> None:
    """One inbox that cannot be read or written is named in the log; the others are marked as ever."""
    note(world), note(world, "closed"), note(world, "sealed")
    world.inbox("closed").chmod(0)
    world.inbox("sealed").chmod(0o500)
    with watching(world, *QUICK, prefix=AS_PLAIN_USER) as one:
        one.says(f"{world.inbox('closed')}: Permission denied")
        one.says(f"{world.inbox('sealed')}")
        until(lambda: world.marker("project-b"))
        world.inbox("closed").chmod(0o700)
        world.inbox("sealed").chmod(0o700)
        markers_are_true(world)
        assert one.log.count("Permission denied") == 2
        assert one.stop() == 0


def test_an_agent_folder_that_is_deleted_is_forgotten(world: World) -> None:
    """A folder that goes with its mail, and comes back with other mail, is right each time."""
    world.root.mkdir(parents=True)
    with watching(world, *QUICK) as one:
        for number in range(3):
            note(world, name=f"n{number}")
            markers_are_true(world)
            shutil.rmtree(world.inbox(), ignore_errors=True)
            one.says("project-b: 0 waiting, 1 before", times=number + 1)
        note(world)
        markers_are_true(world)
        assert one.stop() == 0


def test_links_lead_nowhere(world: World) -> None:
    """Links out of the root, to nothing, to themselves and to the root of all are not followed, nor complained of."""
    world.root.mkdir(parents=True)
    outside = world.base / "outside"
    outside.mkdir()
    for name, target in (("out", outside), ("dangling", "nothing"), ("loop", "loop"), ("all", "/"), ("up", "..")):
        world.inbox(name).symlink_to(target)
    with watching(world, *QUICK) as one:
        world.put("out", "x.json", id="1")
        note(world)
        markers_are_true(world)
        assert one.stop() == 0
    assert sorted(path.name for path in outside.iterdir()) == ["x.json"]
    assert len(one.log.splitlines()) == 3, one.log


@linux
def test_a_storm_that_overflows_the_queue(world: World) -> None:
    """20,000 events while it is frozen overflow the kernel's queue; it says so, looks at everything, and is right."""
    world.inbox("other").mkdir(parents=True)
    with watching(world, "--rescan", "3600") as one:
        note(world)
        markers_are_true(world)
        one.process.send_signal(signal.SIGSTOP)
        for number in range(10_000):
            path = world.inbox("other") / f"{number}.json"
            path.touch()
            path.unlink()
        note(world, name="two"), note(world, "new"), note(world, "other")
        one.process.send_signal(signal.SIGCONT)
        one.says("overflow")
        markers_are_true(world)
        note(world, "new", "after"), note(world, "newer")
        markers_are_true(world)
        assert one.stop() == 0


@linux
@pytest.mark.parametrize("limit", ["max_inotify_watches=9", "max_inotify_watches=0", "max_inotify_instances=0"])
def test_exhausted_limits_are_told_and_made_up_for(world: World, limit: str) -> None:
    """Where inotify has no more watches or instances it says so, and looks by itself."""
    if subprocess.run([*in_namespace(limit), "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    for number in range(12):
        note(world, f"agent-{number:02}")
    with watching(world, *QUICK, prefix=in_namespace(limit)) as one:
        markers_are_true(world)
        for number in range(12):
            note(world, f"agent-{number:02}", "second")
        markers_are_true(world)
        one.says("sysctl fs.inotify")
        note(world, "agent-11", "third")
        markers_are_true(world)
        assert one.stop() == 0


@linux
@pytest.mark.parametrize("victim", ["handler", "emitter", "reader", "dispatcher"])
def test_a_thread_that_dies_is_replaced(world: World, victim: str) -> None:
    """When the handler raises, or a thread of watchdog ends, the next rescan notices and starts it anew."""
    target = {
        "handler": "a2a_watch.watch.wakeups:Wakeups.dispatch",
        "emitter": "watchdog.observers.inotify:InotifyEmitter.queue_events",
        "reader": "watchdog.observers.inotify_c:InotifyFD._read_event_buffer",
        "dispatcher": "watchdog.observers.inotify_c:InotifyFD.handle_event",
    }[victim]
    module, _, name = target.partition(":")
    owner, _, method = name.partition(".")
    code = (
        f"import threading; threading.excepthook = lambda *_: None\nfrom {module} import {owner} as owner\n"
        f"real, dies = owner.{method}, [True]\ndef fails(*a, **k):\n    done = real(*a, **k)\n"
        f"    if dies and not dies.clear(): raise RuntimeError('a fault')\n    return done\nowner.{method} = fails"
    )
    with watching(world, *QUICK, program=with_code(code), waits_for="") as one:
        world.root.mkdir(parents=True)
        note(world)
        one.says("has died; starting it again")
        markers_are_true(world)
        note(world, "after")
        markers_are_true(world)
        assert one.stop() == 0


def test_an_error_in_a_turn_does_not_end_the_watch(world: World) -> None:
    """An exception nobody thought of is said in one line, and the next rescan puts things right."""
    code = (
        "from a2a_watch.watch.sight import Sight as owner\nreal, dies = owner.look, [True]\ndef fails(self):\n"
        "    if dies and not dies.clear(): raise RuntimeError('a fault')\n    return real(self)\nowner.look = fails"
    )
    note(world)
    with watching(world, *QUICK, program=with_code(code), waits_for="RuntimeError: a fault; going on") as one:
        markers_are_true(world)
        assert one.stop() == 0


def test_stopped_for_a_while_it_catches_up(world: World) -> None:
    """What happened while the process was frozen is right soon after it goes on."""
    note(world)
    with watching(world, "--rescan", "3600") as one:
        one.process.send_signal(signal.SIGSTOP)
        (world.inbox() / "note.json").unlink()
        note(world, "project-c")
        one.process.send_signal(signal.SIGCONT)
        markers_are_true(world)
        assert one.stop() == 0


@pytest.mark.parametrize("jump", [-400 * 86_400, 400 * 86_400], ids=["back", "forth"])
def test_a_clock_that_jumps_changes_nothing(world: World, jump: int) -> None:
    """With the clock a year off, from the start or on the way, marks are made and taken as ever."""
    code = (
        f"import time\nreal, calls = time.time, []\ndef jumping():\n    calls.append(1)\n"
        f"    return real() + (len(calls) > 2) * {jump}\ntime.time = jumping"
    )
    world.root.mkdir(parents=True)
    with watching(world, *QUICK, program=with_code(code)) as one:
        for number in range(5):
            note(world, name=f"n{number}")
            markers_are_true(world)
        for number in range(5):
            (world.inbox() / f"n{number}.json").unlink()
            markers_are_true(world)
        assert one.stop() == 0


def test_a_full_disk_is_told_and_made_good(world: World) -> None:
    """When the marker cannot be written the log says why, nothing half-written stays, and later it is true."""
    note(world)
    code = (
        "import os\nreal, full = os.write, os.environ['FULL']\ndef write(handle, data):\n"
        "    if handle > 2 and os.path.exists(full) and b'count' in bytes(data): raise OSError(28, os.strerror(28))\n"
        "    return real(handle, data)\nos.write = write"
    )
    full = world.base / "full"
    full.touch()
    with watching(world, *QUICK, program=with_code(code), waits_for="No space left", env={"FULL": str(full)}) as one:
        assert world.marker() is None
        assert [path.name for path in world.inbox().glob(".*")] == [".lock"]
        full.unlink()
        markers_are_true(world)
        assert one.stop() == 0
    assert one.log.count("No space left") == 1


def test_a_real_full_disk(world: World) -> None:
    """On a file system without room for a byte the watcher lives, says why, and marks when there is room."""
    script = 'mount -t tmpfs -o size=64k,mode=700 none "$1" && shift && exec "$@"'
    prefix = ("unshare", "--mount", "sh", "-c", script, "sh", str(world.root))
    world.root.mkdir(parents=True)
    if os.getuid() or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs root that may mount")
    with watching(world, *QUICK, prefix=prefix) as one:
        inside = Path(f"/proc/{one.process.pid}/root{world.root}")
        (inside / "project-b").mkdir()
        (inside / "project-b" / "n.json").write_text('{"from": "x", "subject": "s"}')
        until((inside / "project-b" / ".pending").exists)
        with open(inside / "filler", "wb", buffering=0) as file:
            while True:
                try:
                    file.write(b"x" * 512)
                except OSError:
                    break
        os.link(inside / "project-b" / "n.json", inside / "project-b" / "m.json")
        one.says("No space left")
        (inside / "filler").unlink()
        until(lambda: '"count": 2' in (inside / "project-b" / ".pending").read_text())
        assert one.stop() == 0


def test_bad_files_of_every_kind(world: World) -> None:
    """Folders, pipes, sockets, links, empty, huge and unreadable files, odd bytes: nothing stops it."""
    inbox = world.inbox()
    (inbox / "folder.json").mkdir(parents=True)
    os.mkfifo(inbox / "pipe.json")
    with socket.socket(socket.AF_UNIX) as one_socket:
        os.chdir(inbox)
        one_socket.bind("socket.json")
    os.chdir("/")
    (inbox / "link.json").symlink_to("/etc/passwd")
    (inbox / "dangling.json").symlink_to("nothing")
    world.put("project-b", "empty.json", b"")
    world.put("project-b", "zeros.json", b"\0" * 4096)
    world.put("project-b", "list.json", b"[1, 2]")
    world.put("project-b", "deep.json", b"[" * 100_000)
    world.put("project-b", "huge.json", b'{"from": "' + b"x" * (9 << 20) + b'"}')
    world.put("project-b", "types.json", b'{"from": {"a": 1}, "subject": null, "body": 7}')
    world.put("project-b", "closed.json", b"{}").chmod(0)
    (Path(os.fsdecode(os.fsencode(inbox) + b"/\xff\xfe\x1b[2J.json"))).write_bytes(b"{}")
    world.put("project-b", "control\x1b[2J\n.json", b'{"from": "\\u001b[2J", "subject": "a\\nb"}')
    with watching(world, *QUICK, prefix=AS_PLAIN_USER) as one:
        markers_are_true(world)
        note(world, name="~last", subject="the last")
        until(lambda: (marker := world.marker()) and marker["count"] == 10)
        assert one.stop() == 0
    assert "\x1b" not in one.log


def test_descriptors_do_not_run_out(world: World) -> None:
    """With room for few open files it goes on marking a thousand changes: nothing leaks."""
    limit = (40, 40)
    world.root.mkdir(parents=True)
    with watching(world, *QUICK) as one:
        if sys.platform == "linux":
            resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, limit)
        for number in range(300):
            path = note(world, name=f"n{number}")
            if number % 3:
                path.unlink()
        markers_are_true(world)
        assert one.stop() == 0


def test_what_is_known_to_be_empty_costs_no_look_and_is_still_found(world: World) -> None:
    """Without a single event: a rescan leaves an empty inbox alone that has not changed, and looks when it has."""
    code = (
        "import sys\nfrom a2a_watch.watch.sight import Sight\nfrom a2a_watch.watch.wakeups import Wakeups\n"
        "Wakeups.dispatch = lambda *_: None\nreal = Sight.look\n"
        "def look(self):\n    print('look', self._inbox.agent, file=sys.stderr)\n    return real(self)\n"
        "Sight.look = look"
    )
    note(world, "busy")
    world.inbox("empty").mkdir()
    os.utime(world.inbox("empty"), (1, 1))
    with watching(world, "--rescan", "0.5", program=with_code(code)) as one:
        one.says("look busy", times=4)
        assert one.log.count("look empty") == 1
        note(world, "empty")
        markers_are_true(world)
        (world.inbox("empty") / "note.json").unlink()
        markers_are_true(world)
        shutil.rmtree(world.inbox("empty"))
        note(world, "empty")
        markers_are_true(world)
        assert one.stop() == 0
