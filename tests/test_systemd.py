"""The service under a real `systemd --user`: installed, ready, restarted, ended, repaired, taken away."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.desktop import Bus, Desk, need
from tests.kit import REPO, World
from tests.manager import Manager
from tests.test_cli import WATCH, could_not
from tests.watching import markers_are_true, note, pace, until, watching

UNIT = REPO / "systemd" / "a2a-watch.service"


def link_program(world: World) -> None:
    """Have the program where an installer for one person puts it."""
    (world.home / ".local" / "bin").mkdir(parents=True)
    (world.home / ".local" / "bin" / "a2a-watch").symlink_to(WATCH)


def installed(manager: Manager, *options: str) -> str:
    done = manager.service("install", "--yes", *options)
    assert (done.returncode, done.stderr) == (0, b""), done
    return str(done.stdout.decode())


def pid(manager: Manager) -> int:
    return int(manager.show("MainPID"))


def program(manager: Manager) -> list[str]:
    """Return the words that the service was really started with, without the interpreter."""
    words = Path(f"/proc/{pid(manager)}/cmdline").read_bytes().decode().rstrip("\0").split("\0")
    return words[next(place for place, word in enumerate(words) if word.endswith("a2a-watch")) :]


def test_the_unit_is_well_formed(world: World) -> None:
    """The shipped unit, where a person copies it, is one about which systemd has nothing to say."""
    need("systemd-analyze")
    link_program(world)
    folder = world.home / ".config" / "systemd" / "user"
    folder.mkdir(parents=True)
    shutil.copy(UNIT, folder)
    env = {"XDG_RUNTIME_DIR": str(world.base)}
    done = world.run("systemd-analyze", "verify", "--user", folder / UNIT.name, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_unit_works_when_it_is_copied_by_hand(world: World, manager: Manager) -> None:
    """Copied as it is and enabled, as its first lines say, it starts, marks, and will start at each login."""
    link_program(world)
    manager.units.mkdir(parents=True)
    shutil.copy(UNIT, manager.units)
    note(world)
    assert manager.run("systemctl", "--user", "enable", "--now", "a2a-watch").returncode == 0
    assert world.marker()
    assert program(manager) == [str(world.home / ".local" / "bin" / "a2a-watch"), "run"]
    assert (manager.units / "default.target.wants" / UNIT.name).is_symlink()


def test_installed_it_is_ready(world: World, manager: Manager) -> None:
    """On return the markers are already true; the unit has this program's path and the options, and is enabled."""
    for number in range(30):
        note(world, f"agent-{number}")
    said = installed(manager, "--no-preview", "--quiet", "a b")
    assert len(list(world.root.glob("*/.pending"))) == 30
    assert f"+ExecStart={WATCH} run --no-preview --quiet" in said
    assert said.endswith("It runs; to see it: a2a-watch status\n")
    assert program(manager) == [str(WATCH), "run", "--no-preview", "--quiet", "a b"]
    assert manager.show("StatusText") == f"watching {world.root}"
    assert manager.ask("is-enabled", "a2a-watch") == "enabled"
    assert manager.run(WATCH, "status").returncode == 0
    assert manager.service("status").returncode == 0
    assert b"active (running)" in manager.service("status").stdout
    assert manager.service("logs").returncode == 0


def test_installed_twice_is_installed_once(world: World, manager: Manager) -> None:
    """The second time nothing is written, and one watcher runs; what somebody edited is put right."""
    installed(manager, "--no-notify")
    unit = manager.units / UNIT.name
    before = unit.read_bytes(), unit.stat().st_ino, pid(manager)
    assert installed(manager, "--no-notify").startswith("Nothing to change.\nIt runs")
    assert (unit.read_bytes(), unit.stat().st_ino) == before[:2]
    assert pid(manager) != before[2], "it is started anew, with the program as it is now"
    unit.write_bytes(before[0].replace(b"ExecStart=/", b"ExecStart=/gone/"))
    installed(manager, "--no-notify")
    assert unit.read_bytes() == before[0]


def test_a_moved_program_is_found_again(world: World, manager: Manager) -> None:
    """When the environment has moved, doctor says that the service starts what is gone, and install repairs it."""
    old, new = world.base / "old" / "a2a-watch", world.base / "new place" / "a2a-watch"
    for path in (old, new):
        path.parent.mkdir()
        shutil.copy(WATCH, path)
    assert manager.run(old, "service", "install", "--yes", "--no-notify", "--quiet", "a b").returncode == 0
    assert program(manager)[0] == str(old)
    old.unlink()
    hint = f"it starts {old}, which is gone; try: a2a-watch service install --no-notify --quiet 'a b'\n"
    assert hint in manager.run(WATCH, "doctor").stdout.decode()
    failed = manager.service("restart")
    assert failed.returncode == 1 and b"; try: " in failed.stderr and failed.stderr.count(b"\n") == 1, failed
    assert manager.run(new, "service", "install", "--yes", "--no-notify").returncode == 0
    assert program(manager)[0] == str(new)


@pytest.mark.parametrize("name", ["in box", "100%h", 'a"b', "a'b", "$HOME", "back\\slash", "é"])
def test_an_inbox_elsewhere_is_watched(world: World, manager: Manager, name: str) -> None:
    """A root that the person chose is the service's root too, whatever is in its name."""
    root = world.base / name
    done = manager.service("install", "--yes", "--no-notify", env={"A2A_INBOX": str(root)})
    assert done.returncode == 0, (done, manager.log)
    (root / "project-b").mkdir()
    (root / "project-b" / "1.json").write_text('{"id": "1", "from": "x", "subject": "S", "body": ""}')
    until((root / "project-b" / ".pending").exists, "a marker")
    assert not world.root.exists()


def test_killed_it_comes_back(world: World, manager: Manager) -> None:
    """After SIGKILL systemd starts it again, and it marks what came meanwhile."""
    manager.drop_in("RestartSec=100ms")
    installed(manager, "--no-notify")
    os.kill(pid(manager), signal.SIGKILL)
    note(world)
    until(lambda: manager.show("NRestarts") == "1" and manager.show("ActiveState") == "active")
    markers_are_true(world)


def test_a_frozen_one_is_ended_and_started_again(world: World, manager: Manager) -> None:
    """A watcher that lives keeps the watchdog quiet beyond its time; one that is stopped is killed and replaced."""
    manager.drop_in("WatchdogSec=2", "RestartSec=100ms")
    installed(manager, "--no-notify", "--rescan", "3600")
    pace(time.monotonic() + 5)
    assert manager.show("NRestarts") == "0", manager.log
    first = pid(manager)
    os.kill(first, signal.SIGSTOP)
    until(lambda: manager.show("NRestarts") == "1" and manager.show("ActiveState") == "active")
    assert pid(manager) != first
    note(world)
    markers_are_true(world)


@pytest.mark.parametrize("is_frozen", [False, True], ids=["", "the desktop frozen"])
def test_it_ends_within_a_second(world: World, manager: Manager, bus: Bus, desk: Desk, is_frozen: bool) -> None:
    """Told to stop, it ends by itself before systemd would kill it, also while a notification is on its way."""
    manager.drop_in("TimeoutStopSec=1", f"Environment=DBUS_SESSION_BUS_ADDRESS={bus.env['DBUS_SESSION_BUS_ADDRESS']}")
    installed(manager)
    until(lambda: "notifications: by desktop" in manager.log)
    if is_frozen:
        desk.freeze()
    note(world)
    until(lambda: "1 waiting" in manager.log)
    if not is_frozen:
        desk.has_shown(1)
    manager.ask("stop", "a2a-watch")
    assert (manager.show("Result"), manager.show("ExecMainStatus")) == ("success", "0"), manager.log
    assert "stopped by SIGTERM" in manager.log
    desk.thaw()


def test_hardened_it_works(world: World, manager: Manager, bus: Bus, desk: Desk) -> None:
    """With no new privileges and a filter on its system calls it marks, and shows notifications."""
    manager.drop_in(f"Environment=DBUS_SESSION_BUS_ADDRESS={bus.env['DBUS_SESSION_BUS_ADDRESS']}")
    installed(manager)
    status = Path(f"/proc/{pid(manager)}/status").read_text().split()
    assert status[status.index("NoNewPrivs:") + 1] == "1"
    assert status[status.index("Seccomp:") + 1] == "2"
    note(world, subject="hello")
    assert desk.has_shown(1)[0][0] == "a-script → project-b: hello"
    markers_are_true(world)
    until(lambda: "shown: a-script → project-b: hello" in manager.run(WATCH, "status").stdout.decode())
    facts = manager.run(WATCH, "status").stdout.decode()
    assert "running since" in facts and "notices:    desktop" in facts


def test_uninstall_leaves_nothing(world: World, manager: Manager) -> None:
    """Nothing of the service is left, the mail and its markers stay, and a second uninstall has nothing to do."""
    installed(manager, "--no-notify")
    note(world)
    markers_are_true(world)
    said = manager.run(WATCH, "uninstall", "--yes").stdout.decode()
    assert "still installed; to take it out: a2a-watch service uninstall" in said
    done = manager.service("uninstall", "--dry-run")
    assert done.returncode == 0 and manager.show("ActiveState") == "active"
    assert manager.service("uninstall", "--yes").returncode == 0
    assert not [path for path in manager.units.rglob("*") if path.is_symlink()]
    assert not (manager.units / UNIT.name).exists()
    assert manager.show("LoadState") == "not-found"
    assert world.marker() and world.names() == ["note.json"]
    assert manager.run(WATCH, "status").returncode == 1
    assert b"service uninstall" not in manager.run(WATCH, "uninstall", "--yes").stdout
    again = manager.service("uninstall", "--yes")
    assert (again.returncode, again.stdout, again.stderr) == (0, b"Nothing to change.\n", b"")
    assert "a2a-watch service install" in could_not(manager.service("restart"))


def test_a_dry_run_starts_nothing(world: World, manager: Manager) -> None:
    """It shows the whole file, and neither writes nor starts anything."""
    done = manager.service("install", "--dry-run", "--no-notify")
    assert done.returncode == 0 and f"+ExecStart={WATCH} run --no-notify".encode() in done.stdout
    assert not manager.units.exists() and not world.root.exists()
    assert manager.show("LoadState") == "not-found"


def test_options_of_the_watcher_are_checked_first(world: World, manager: Manager) -> None:
    """An option that `run` does not have is refused before anything is written."""
    done = manager.service("install", "--yes", "--no-such-option")
    assert done.returncode == 2 and b"--no-such-option" in done.stderr
    assert not manager.units.exists()


def test_another_watcher_keeps_the_root(world: World, manager: Manager) -> None:
    """A watcher in a terminal is not driven out: one sentence says which process it is and how to end it."""
    world.root.mkdir(parents=True)
    with watching(world) as one:
        said = manager.service("install", "--yes", "--no-notify")
        assert said.returncode == 1
        assert f"another watcher has {world.root}, process {one.process.pid}" in said.stderr.decode()
        assert f"try: kill {one.process.pid}" in said.stderr.decode()
        assert manager.show("ActiveState") == "inactive"
        assert one.stop() == 0
    installed(manager, "--no-notify")


def test_without_a_user_manager_it_says_so(world: World, tmp_path: Path) -> None:
    """Where no user manager answers, nothing claims that it runs, and the sentence says how to come by one."""
    need("systemctl")
    said = world.run(WATCH, "service", "install", "--yes", env={"XDG_RUNTIME_DIR": str(tmp_path)})
    assert said.returncode == 1 and said.stderr.count(b"\n") == 1, said
    assert b"no user manager of systemd answers" in said.stderr and b"loginctl enable-linger" in said.stderr
    assert b"It runs" not in said.stdout
    assert not (world.home / ".config").exists() and not world.root.exists(), "nothing is half done"
    unit = world.home / ".config" / "systemd" / "user" / UNIT.name
    unit.parent.mkdir(parents=True)
    shutil.copy(UNIT, unit)
    gone = world.run(WATCH, "service", "uninstall", "--yes", env={"XDG_RUNTIME_DIR": str(tmp_path)})
    assert (gone.returncode, gone.stderr, unit.exists()) == (0, b"", False)


def test_without_systemd_it_says_so(world: World, tmp_path: Path) -> None:
    """On a Linux without systemd it names the way without it."""
    (tmp_path / "bin").mkdir()
    said = world.run(WATCH, "service", "install", "--yes", env={"PATH": str(tmp_path / "bin")})
    assert "a2a-watch run" in could_not(said)
    assert not (world.home / ".config").exists()


@pytest.mark.parametrize(("linger", "is_told"), [("no", True), ("yes", False)])
def test_lingering_is_told_where_it_is_missing(
    world: World, manager: Manager, tmp_path: Path, linger: str, is_told: bool
) -> None:
    """Whose services end with the logout is told so once, with what would keep them."""
    fake = tmp_path / "bin" / "loginctl"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho Linger={linger}\n")
    fake.chmod(0o755)
    done = manager.service("install", "--yes", "--no-notify", env={"PATH": f"{fake.parent}:{os.environ['PATH']}"})
    assert done.returncode == 0
    assert (b"loginctl enable-linger" in done.stdout) == is_told


def test_doctor_knows_the_service(world: World, manager: Manager) -> None:
    """Doctor tells the service that runs from the one that is stopped, and from none."""

    def says(name: str) -> str:
        lines = manager.run(WATCH, "doctor").stdout.decode().splitlines()
        return next(line for line in lines if line.split()[1:2] == [f"{name}:"])

    assert says("watcher").startswith("ok")
    installed(manager, "--no-notify")
    assert "running since" in says("watcher") and str(WATCH) in says("service")
    manager.ask("stop", "a2a-watch")
    assert says("watcher").startswith("warn") and "a2a-watch service restart" in says("watcher")
    done = manager.service("restart")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "running since" in says("watcher")


def test_a_crash_at_start_is_told(world: World, manager: Manager) -> None:
    """When the program cannot start, install says so in one sentence, leaves no half, and names where to look."""
    broken = world.base / "bin" / "a2a-watch"
    broken.parent.mkdir()
    text = WATCH.read_text().splitlines(keepends=True)
    broken.write_text(text[0] + "import sys\nif 'run' in sys.argv: sys.exit('broken')\n" + "".join(text[1:]))
    broken.chmod(0o755)
    said = manager.run(broken, "service", "install", "--yes", "--no-notify")
    assert said.returncode == 1 and b"; try: " in said.stderr and said.stderr.count(b"\n") == 1, said
    assert isinstance(said, subprocess.CompletedProcess) and b"It runs" not in said.stdout
    installed(manager, "--no-notify")
