"""The links of the optional watcher, for doctor: the service, the events, the desktop."""

from __future__ import annotations

import asyncio
import glob
import os
import sys
from collections.abc import Iterator
from shlex import join, split

from a2a_watch.install.change import read
from a2a_watch.install.checks import Finding
from a2a_watch.install.service import service
from a2a_watch.light.identity import Surroundings
from a2a_watch.names import Problem
from a2a_watch.watch.board import Notice
from a2a_watch.watch.notices import Unshown, Unsure, find_way
from a2a_watch.watch.status import status

INSTALL = "a2a-watch service install"
LIMITS = "/proc/sys/fs/inotify/"


def watcher(here: Surroundings, notify: bool) -> Iterator[Finding]:
    """Yield what was found; with `notify`, after a notification that the person should see."""
    try:
        found = status(here.root())
    except OSError:
        return  # the root's own link says so
    noted = found["watcher"]
    command = _command(here)
    if found["running"]:
        yield Finding("watcher", "ok", f"running since {noted.get('since')}, {noted.get('observes')}")
    elif command:
        yield Finding("watcher", "warn", "installed as a service, and not running", "a2a-watch service restart")
    else:
        yield Finding("watcher", "ok", f"not running, and delivery does not need it ({INSTALL})")
    if command and not os.access(command[0], os.X_OK):
        yield Finding(
            "service", "warn", f"it starts {command[0]}, which is gone", join([*split(INSTALL), *command[2:]])
        )
    elif command:
        yield Finding("service", "ok", f"it starts {command[0]}")
    last = noted.get("last_notice")
    if found["running"] and isinstance(last, dict) and str(last.get("what")).startswith("failed"):
        yield Finding("notices", "warn", f"the last one {last.get('what')}", "a2a-watch doctor --notify")
    if sys.platform == "linux":
        yield from _events(here.root())
        bus = here.lend_bus()
        if bus:
            yield Finding("bus", "ok", bus)
        else:
            state = "warn" if found["running"] or command else "ok"
            yield Finding("bus", state, "no session bus here; only the watcher's notifications need one",
                          "a2a-watch run --no-notify" if state == "warn" else "")  # fmt: skip
    if notify:
        yield asyncio.run(_notify())


def _command(here: Surroundings) -> list[str]:
    try:
        return service(here).command()
    except Problem:
        return []


def _events(root: str) -> Iterator[Finding]:
    try:
        limits = {name: int(read(LIMITS + name) or b"0") for name in ("max_user_watches", "max_user_instances")}
    except (Problem, ValueError):
        return
    # One watch a folder: the root, each inbox, and what lies in it.
    needed = 1 + sum(map(os.path.isdir, glob.iglob(os.path.join(glob.escape(root), "*")))) * 4
    if needed * 2 > limits["max_user_watches"] or limits["max_user_instances"] < 8:
        what = f"{needed} folders to watch, {limits['max_user_watches']} watches and {limits['max_user_instances']} " \
               "instances for all programs"  # fmt: skip
        yield Finding("events", "warn", what, "sudo sysctl fs.inotify.max_user_watches=524288")
    else:
        yield Finding("events", "ok", f"{limits['max_user_watches']} inotify watches, {needed} needed")


async def _notify() -> Finding:
    notice = Notice(
        "a2a-watch: this is a test", "If you can read this, notifications of mail will be shown.", frozenset()
    )
    try:
        way = await find_way()
        await way.show(notice)
        way.close()
    except (Unshown, Unsure) as error:
        return Finding("notify", "fail", f"no notification can be shown: {error}", "a2a-watch status")
    return Finding(
        "notify", "ok", f"a test notification was shown, by {way.name}; if you did not see it: do not disturb?"
    )
