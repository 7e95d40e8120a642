"""A real `systemd --user` for tests, where PID 1 is anything: in a mount namespace and in control groups of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.desktop import need, running, short_folder
from tests.kit import World
from tests.test_cli import WATCH
from tests.watching import until

SYSTEMD = Path("/lib/systemd/systemd")
GROUPS = Path("/sys/fs/cgroup")
# Started in a group that it shares, a manager would move every process of that group.
START = """set -e
mount -t tmpfs tmpfs /run/systemd
mkdir /run/systemd/system
for group do echo $$ > "$group/cgroup.procs"; done
exec env -i PATH=/usr/bin:/bin HOME="$HOME" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" "$MANAGER" --user
"""


class Manager:
    """A user manager for the home of `world`; `run` is the client's view of it."""

    def __init__(self, world: World, ends: ExitStack) -> None:
        need("systemctl", "unshare", "nsenter")
        self._world = world
        self.runtime = Path(ends.enter_context(short_folder()))
        groups = ends.enter_context(own_groups(self.runtime.name))
        self.env = {"XDG_RUNTIME_DIR": str(self.runtime)}
        Path("/run/systemd").mkdir(exist_ok=True)
        env = {**world.env(), **self.env, "MANAGER": str(SYSTEMD)}
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", START, "sh", *groups]
        self.process = ends.enter_context(running(*words, env=env))
        ends.callback(kill_all, groups)
        until(lambda: self.ask("is-system-running") in ("running", "degraded") or self.process.poll() is not None)
        assert self.process.poll() is None, "the manager has ended"

    def run(self, *words: str | Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Run a program that finds this manager."""
        env = {**self.env, **options.pop("env", {})}
        inside = ["nsenter", "-t", str(self.process.pid), "-m", "sh", "-c", 'cd "$0" && exec "$@"']
        return self._world.run(*inside, self._world.base / "project-a", *words, env=env, timeout=120, **options)

    def ask(self, *words: str) -> str:
        """Return what `systemctl --user` prints."""
        return self.run("systemctl", "--user", *words).stdout.decode().strip()

    def show(self, what: str) -> str:
        """Return a property of the service."""
        return self.ask("show", "a2a-watch", "-p", what, "--value")

    @property
    def units(self) -> Path:
        return self._world.home / ".config" / "systemd" / "user"

    def drop_in(self, *lines: str) -> None:
        """Change the service as a person would who edits it; what it says on standard error is in `log`."""
        folder = self.units / "a2a-watch.service.d"
        folder.mkdir(parents=True, exist_ok=True)
        log = f"StandardError=append:{self.runtime / 'log'}"
        (folder / "test.conf").write_text("\n".join(["[Service]", log, *lines, ""]))

    @property
    def log(self) -> str:
        path = self.runtime / "log"
        return path.read_text() if path.exists() else ""

    def service(self, *words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Run `a2a-watch service`."""
        return self.run(WATCH, "service", *words, **options)


@contextmanager
def own_groups(name: str) -> Iterator[list[str]]:
    """Make a control group in each hierarchy, below the one that we are in; skip where that is not ours to do."""
    made: list[Path] = []
    try:
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            kinds = [controllers.removeprefix("name="), "unified", "."] if controllers else ["unified", "."]
            place = next((GROUPS / kind for kind in kinds if (GROUPS / kind / "cgroup.procs").exists()), None)
            if not place:
                continue  # a hierarchy that is mounted nowhere
            parent = place / path.lstrip("/") if (place / path.lstrip("/")).is_dir() else place
            group = parent / name
            group.mkdir()
            made.append(group)
            for limit in ("cpuset.cpus", "cpuset.mems"):  # version 1: a new group of it may run nowhere
                if (group / limit).exists() and (parent / limit).read_text().strip():
                    (group / limit).write_text((parent / limit).read_text())
    except OSError as error:
        remove(made)
        pytest.skip(f"needs control groups of its own for systemd --user: {error}; try as root in a container")
    try:
        yield [str(group) for group in made]
    finally:
        remove(made)


def members(group: Path) -> list[int]:
    return [int(pid) for path in group.rglob("cgroup.procs") for pid in path.read_text().split()]


def kill_all(groups: list[str]) -> None:
    """End every process in the groups."""

    def is_empty() -> bool:
        pids = {pid for group in groups for pid in members(Path(group))}
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not pids

    until(is_empty, "an empty group")


def remove(groups: list[Path]) -> None:
    for group in groups:
        for folder, _, _ in os.walk(group, topdown=False):
            until(lambda folder=folder: gone(folder), f"{folder} can be removed")  # type: ignore[misc]


def gone(folder: str) -> bool:
    try:
        os.rmdir(folder)
    except OSError:
        return not os.path.isdir(folder)
    return True


@pytest.fixture
def manager(world: World) -> Iterator[Manager]:
    if not SYSTEMD.exists() or not shutil.which("systemctl"):
        need("systemctl")
    if os.geteuid():
        pytest.skip("needs root, for a systemd --user of its own in a container")
    with ExitStack() as ends:
        yield Manager(world, ends)
