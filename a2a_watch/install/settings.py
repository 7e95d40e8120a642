"""What of a Claude Code `settings.json` is ours: put it in, take it out, leave the rest as it is. Pure."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from a2a_watch.install.jsontext import BLANK, Path, append, locate, remove, replace
from a2a_watch.names import Problem

# Seconds. A drain takes milliseconds, and waits one for a lock; at SessionEnd the client gives all hooks 1.5.
TIMEOUTS = {"SessionStart": 10, "UserPromptSubmit": 10, "Stop": 10, "SessionEnd": 2}
WAKE_EVENTS = ("SessionStart", "CwdChanged", "FileChanged")  # a change of directory ends the client's watch
EVENTS = [*TIMEOUTS, *WAKE_EVENTS[1:]]
DRAIN, WAKE, STATUS = "drain-inbox", "wake", "statusline"  # our programs in hooks/
EVERY = ("", "*")  # matchers that are none
MARKER = ".pending"
REWAKES = {"asyncRewake": True}  # that it may run behind an idle session, and wakes it by exiting so:
WOKEN = 2
SWITCH = ".wake"  # in the root: has the plugin's handlers wake
ALLOW, WRITE = ("permissions", "allow"), ("sandbox", "filesystem", "allowWrite")


@dataclass(frozen=True)
class Entries:
    """What we add: the `command` of the hooks, and the inbox `root` that sandboxed sessions must write to.

    `wake` is the command of the hooks that wake an idle session, there when `wakes`; None leaves that as it is.
    """

    command: str
    root: str
    wake: str
    wakes: bool | None

    def add(self, text: str) -> str:
        """Return the settings with our entries, each once; those of an older or a moved installation are repaired."""
        text = text if text.strip(BLANK) else "{}\n"
        for event, seconds in TIMEOUTS.items():
            text = _put(text, DRAIN, event, {"type": "command", "command": self.command, "timeout": seconds})
        there = own_handlers(parse(text), WAKE)
        for path in reversed(there) if self.wakes is False else ():
            text = _take(text, path, {})
        for event in WAKE_EVENTS if self.wakes or (there and self.wakes is None) else ():
            more = REWAKES if event == "FileChanged" else {}
            text = _put(
                text, WAKE, event, {"type": "command", "command": f"{self.wake} {event}", "timeout": 10, **more}
            )
        for path, word in words(self.root):
            text = _have(text, path)
            if word not in value_at(parse(text), path):
                text = append(text, path, word)
        return text

    def take_out(self, text: str, before: object) -> str:
        """Return the settings without our entries; what stood in `before`, the settings before the setup, stays."""
        for path in reversed(own_handlers(parse(text))):
            text = _take(text, path, before)
        for path, word in words(self.root):
            there = value_at(parse(text), path, [])
            if word in there and word not in value_at(before, path, []):
                text = _take(text, (*path, there.index(word)), before)
        return text

    def rest(self, text: str) -> list[tuple[Path, object]]:
        """Return every value in the settings that is not ours, in order, each with its path."""
        return self._rest(parse(text), ())

    def _rest(self, value: object, path: Path) -> list[tuple[Path, object]]:
        if isinstance(value, dict):
            return [leaf for key, item in value.items() for leaf in self._rest(item, (*path, key))]
        if not isinstance(value, list):
            return [(path, value)]
        kept = [item for item in value if (path, item) not in words(self.root) and not _is_ours(path, item)]
        return [leaf for place, item in enumerate(kept) for leaf in self._rest(item, (*path, place))]


def words(root: str) -> list[tuple[Path, str]]:
    """Return our words, each with the list that it belongs to."""
    allowed = ("Bash(a2a-send:*)", "Bash(a2a-watch show:*)", "Skill(check-inbox)")
    return [*((ALLOW, word) for word in allowed), (WRITE, root)]


def parse(text: str) -> Any:
    """Return the settings; raise Problem with line and column when they are no JSON, or a place of ours is taken."""
    try:
        # float: int() refuses very many digits, and no number here is looked at.
        found = json.loads(text if text.strip(BLANK) else "{}", parse_int=float, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise Problem(f"it is no plain JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise Problem("it is nested too deeply") from None
    lists = [ALLOW, WRITE, *(("hooks", event) for event in EVENTS)]
    objects = sorted({path[:depth] for path in lists for depth in range(len(path))})
    for path, shape in [*((path, dict) for path in objects), *((path, list) for path in lists)]:
        if not isinstance(value_at(found, path, shape()), shape):
            raise Problem(f"{'.'.join(path) or 'the whole'} in it is no {'list' if shape is list else 'object'}")
    return found


def _refuse(word: str) -> None:
    raise Problem(f"{word} is no JSON")


def value_at(data: Any, path: Path, otherwise: object = None) -> Any:
    """Return the value at `path` in parsed settings, `otherwise` when there is none."""
    for key in path:
        try:
            data = data[key]
        except (LookupError, TypeError):
            return otherwise
    return data


def status_line(data: object, command: str) -> dict[str, object]:
    """Return `statusLine` with `command` before the person's own; empty when ours is in it already."""
    found = value_at(data, ("statusLine",))
    old = found if isinstance(found, dict) else {}
    theirs = old.get("command")
    if isinstance(theirs, str) and f"/hooks/{STATUS}" in theirs:
        return {}
    whole = f"{command} sh -c {shlex.quote(theirs)}" if isinstance(theirs, str) else command
    more = {key: int(item) if isinstance(item, float) and item.is_integer() else item for key, item in old.items()}
    # 5 s: by itself the client asks only when something happens in the session.
    return {"type": "command", **more, "command": whole, "refreshInterval": more.get("refreshInterval", 5)}


def is_plain(data: object, path: Path) -> bool:
    """Tell whether the handler at `path` runs at all of its event, and has no keys that could change what it does."""
    keys = {"type", "command", "timeout"} | (REWAKES.keys() if path[1] == "FileChanged" else set())
    matchers = [MARKER] if path[1] == "FileChanged" else EVERY
    return value_at(data, (*path[:3], "matcher"), "") in matchers and set(value_at(data, path)) <= keys


def own_handlers(data: object, program: str = "") -> list[Path]:
    """Return the paths of the handlers, of any event, that call our `program`, or any of ours, in order."""
    found: list[Path] = []
    for event, groups in value_at(data, ("hooks",), {}).items():
        for place, group in enumerate(groups if isinstance(groups, list) else []):
            path = ("hooks", event, place, "hooks")
            handlers = value_at(group, ("hooks",))
            for number, handler in enumerate(handlers if isinstance(handlers, list) else []):
                if _is_ours(path, handler, program):
                    found.append((*path, number))
    return found


def _is_ours(path: Path, item: object, program: str = "") -> bool:
    """Tell whether `item` of the list at `path` is a handler of ours, or a group that holds nothing else."""
    if path[:1] == ("hooks",) and len(path) == 2:
        inside = value_at(item, ("hooks",))
        return isinstance(inside, list) and inside != [] and all(_is_ours((*path, 0, "hooks"), one) for one in inside)
    command = value_at(item, ("command",))
    if path[:1] != ("hooks",) or path[1] not in EVENTS or path[3:] != ("hooks",) or not isinstance(command, str):
        return False
    try:
        parts = shlex.split(command)
    except ValueError:
        return False
    if parts and parts[0].startswith("A2A_PYTHON="):
        del parts[0]
    # With anything else in it, it is somebody's own command, whatever it calls.
    folder, _, name = parts[0].rpartition("/") if parts else ("", "", "")
    arguments = {DRAIN: ([], ["--receipts"]), WAKE: ([path[1]], ["--if-on", path[1]])}.get(name, ())
    return folder.endswith("/hooks") and program in ("", name) and parts[1:] in arguments


def _put(text: str, program: str, event: str, handler: dict[str, object]) -> str:
    """Return the settings with one handler of `program` at `event`, which is `handler`."""
    own = [path for path in own_handlers(parse(text), program) if path[1] == event]
    if len(own) == 1 and is_plain(parse(text), own[0]):
        return _repair(text, own[0], handler)
    for path in reversed(own):
        text = _take(text, path, parse(text))
    group = {"matcher": MARKER} if event == "FileChanged" else {}
    return append(_have(text, ("hooks", event)), ("hooks", event), {**group, "hooks": [handler]})


def _have(text: str, path: Path) -> str:
    for depth, key in enumerate(path):
        if not locate(text, path[: depth + 1]):
            text = append(text, path[:depth], [] if depth == len(path) - 1 else {}, str(key))
    return text


def _repair(text: str, path: Path, wanted: dict[str, object]) -> str:
    for key, value in wanted.items():
        if not locate(text, (*path, key)):
            text = append(text, path, value, key)
        elif value_at(parse(text), (*path, key)) != value:
            text = replace(text, (*path, key), value)
    return text


def _take(text: str, path: Path, before: object) -> str:
    """Take out what is at `path`, and then what that left empty, unless `before` had it."""
    if path[0] == "hooks" and len(value_at(parse(text), path[:-1])) == 1:
        path = path[:3]  # a group without handlers is nothing
    text = remove(text, path)
    while len(path := path[:-1]) > 0 and not value_at(parse(text), path) and value_at(before, path) is None:
        text = remove(text, path)
    return text
