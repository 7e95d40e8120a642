"""The links by which mail wakes an idle session, for doctor: handlers, a wake that is tried, what the bound leaves."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from shlex import quote

from a2a_watch.install.checks import Checks, Finding
from a2a_watch.install.interpreter import output_of
from a2a_watch.install.plan import share
from a2a_watch.install.settings import SWITCH, WAKE, WAKE_EVENTS, is_plain, own_handlers, value_at
from a2a_watch.install.trial import try_wake
from a2a_watch.light.identity import Surroundings
from a2a_watch.watch.record import is_running

SETUP = "a2a-watch setup --wake"


def waking(here: Surroundings, checks: Checks) -> Iterator[Finding]:
    """Yield what was found, after what `checks` has found."""
    own = [(data, path) for data in checks.settings.values() for path in own_handlers(data, WAKE)]
    commands = list(dict.fromkeys(_base(value_at(data, (*path, "command"))) for data, path in own))
    events = {path[1] for data, path in own if is_plain(data, path)}
    may_run = {_base(command) for command in checks.may_run(WAKE)}
    if checks.plugin and not own and os.path.exists(os.path.join(here.root(), SWITCH)):
        commands, events = [f"{quote(os.path.join(share(), 'hooks', WAKE))} --if-on"], set(WAKE_EVENTS)
        may_run.update(commands)
    if not commands:
        on = f"touch {quote(os.path.join(here.root(), SWITCH))}" if checks.plugin else SETUP
        yield Finding("wake", "ok", f"off, so mail waits for the next prompt ({on})")
        return
    if missing := [event for event in WAKE_EVENTS if event not in events]:
        yield Finding("wake", "fail", f"none at {', '.join(missing)}, so mail does not always wake", SETUP)
    for command in commands:
        if command not in may_run:
            yield Finding("wake", "warn", f"not tried, for a project has it: {command}", f"{SETUP} --project")
        elif checks.send:
            yield from _tried(here, checks, command)
    if is_running(here.root()):
        yield Finding("wake", "ok", "what other tools write wakes too, for the watcher runs")
    else:
        says = "what other tools write wakes nobody without the watcher (a2a-watch service install)"
        yield Finding("wake", "ok", says)


def _tried(here: Surroundings, checks: Checks, command: str) -> Iterator[Finding]:
    try:
        yield Finding("wake", "ok", f"mail wakes once: {try_wake(command, here.root(), checks.send)}")
    except (OSError, ValueError) as error:
        yield Finding("wake", "fail", f"{command}: {error}", SETUP)
        return
    # The client gives its hooks what stands in the settings, before what it was started with.
    limits = [(value_at(data, ("env", "A2A_WAKES")), path) for path, data in checks.settings.items()]
    limit, place = next(((one, path) for one, path in reversed(limits) if one is not None), (None, ""))
    given = [f"CLAUDE_PROJECT_DIR={here.start}", "CLAUDE_CODE_SESSION_ATTENDED=1"]
    given += [] if limit is None else [f"A2A_WAKES={limit}"]
    said = output_of(["env", *given, "sh", "-c", f"{command} bounds"])
    used = re.fullmatch(r"(\d+) of (\d+) in (\d+)\n", said)
    if not used:
        fix = f"$EDITOR {quote(place)}" if place else "export A2A_WAKES=6/10m"
        yield Finding("wake", "fail", "A2A_WAKES is nothing like 6/10m or 20/1h, so no mail wakes", fix)
        return
    says = f"{used[1]} of {used[2]} wakes in {used[3]} minutes are used up"
    if int(used[1]) < int(used[2]):
        yield Finding("wake", "ok", says)
    else:
        fix = f"$EDITOR {quote(place)}" if place else "export A2A_WAKES=20/10m"
        yield Finding("wake", "warn", f"{says}; mail waits for the next prompt", fix)


def _base(command: object) -> str:
    """Return a command of ours without the event at its end."""
    return re.sub(r" \w+$", "", str(command))
