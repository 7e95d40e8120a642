"""What setup and uninstall would change, and where: the settings and the skills of the user, or of one project."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from hashlib import sha256

from a2a_watch.durable import remove_empty
from a2a_watch.install.change import Change, read
from a2a_watch.install.settings import DRAIN, STATUS, WAKE, WRITE, Entries, own_handlers, parse, status_line, value_at
from a2a_watch.light.identity import Identity, Surroundings
from a2a_watch.names import Problem

BACKUP = ".before-a2a-watch"
NO_FILE = b"there was no such file before a2a-watch setup\n"  # the backup of nothing
SKILLS = ("check-inbox", "send-note")
STAMP = "---\n# a2a-watch setup wrote this: %s\n"  # with the sum of what follows: whoever changes it owns it


def share() -> str:
    """Return the folder that holds `hooks/` and `skills/`: in the installed package, or the checkout around it."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    inside = os.path.join(package, "share")
    return inside if os.path.isdir(inside) else os.path.dirname(package)


def is_stamped(data: bytes | None) -> bool:
    """Tell whether setup wrote a skill's file and nobody has changed it since."""
    head, body = (data or b"")[: len(STAMP) + 14], (data or b"")[len(STAMP) + 14 :]
    return head == (STAMP % sha256(body).hexdigest()[:16]).encode()


class Plan:
    """What is changed for the user, or in one `project` only; `python` is what the hook has to be told of.

    `wake`: whether mail wakes an idle session; None leaves that as it is.
    """

    def __init__(self, here: Surroundings, project: bool, python: str = "", wake: bool | None = None) -> None:
        self.folder, name = here.config, "settings.json"
        if project:
            root = Identity(here).project_root
            if not root:
                raise Problem("this folder is gone, and has no settings", "cd REPOSITORY")
            # Not settings.json, which everybody who works on the repository shares: these paths are this machine's.
            self.folder, name = os.path.join(root, ".claude"), "settings.local.json"
            if os.path.realpath(self.folder) == os.path.realpath(here.config):
                raise Problem(f"{root} is no repository, and its settings are yours for all of them", "a2a-watch setup")
        self.settings, self.root = os.path.join(self.folder, name), here.root()
        self.backup = self.settings + BACKUP
        told = f"A2A_PYTHON={shlex.quote(python)} " if python else ""
        self._drain, self.wake = (told + shlex.quote(os.path.join(share(), "hooks", name)) for name in (DRAIN, WAKE))
        self.command = f"{self._drain} --receipts"
        self._entries = Entries(self.command, self.root, self.wake, wake)

    def setup(self) -> list[Change]:
        """Return what puts everything in, a backup of the settings first."""
        if os.path.lexists(self.root) and not os.path.isdir(self.root):
            raise Problem(f"{self.root} is not a folder", f"ls -ld {shlex.quote(self.root)}")
        old = read(self.settings)
        changes = [Change(self.settings, old, self._edit(old, self._entries.add))]
        before = read(self.backup)
        if old != changes[0].new and (before is None or not own_handlers(parse((old or b"").decode("utf-8-sig")))):
            like = self.settings if old is not None else ""
            changes.insert(0, Change(self.backup, before, NO_FILE if old is None else old, like))
        changes += [Change(path, read(path), self._skill(path)) for path in self._skills()]
        return [change for change in changes if change.old != change.new]

    def uninstall(self) -> list[Change]:
        """Return what takes everything out: settings that nobody else changed are as they were, others without ours."""
        old, backup = read(self.settings), read(self.backup)
        before = None if backup == NO_FILE else backup
        try:
            past = parse((before or b"").decode("utf-8-sig"))
        except (Problem, UnicodeError):
            backup, past = None, {}  # somebody wrote into it: it is left alone
        new = self._edit(old, lambda text: self._entries.take_out(text, past)) if old is not None else None
        changes = []
        if old != new and backup is not None and not own_handlers(past) and self._was_all(before, old or b""):
            new = before
            changes.append(Change(self.backup, backup, None))
        changes.insert(0, Change(self.settings, old, new))
        changes += [Change(path, read(path), None) for path in self._skills() if is_stamped(read(path))]
        return [change for change in changes if change.old != change.new]

    def _was_all(self, before: bytes | None, old: bytes) -> bool:
        """Tell whether `old` is what setup makes of `before`, with the inbox root of today or that of another day."""
        now = parse(old.decode("utf-8-sig"))
        there = value_at(now, WRITE, [])
        for root in [self.root, *(one for one in there if isinstance(one, str))]:
            self._entries = Entries(self.command, root, self.wake, bool(own_handlers(now, WAKE)))
            if self._edit(before, self._entries.add) == self._edit(old, self._entries.add):
                return True
        return False

    def status_line(self) -> dict[str, object]:
        """Return the value of `statusLine` that shows mail and what it shows now; empty when it shows mail already."""
        try:
            settings = parse((read(self.settings) or b"").decode("utf-8-sig"))
        except (Problem, UnicodeError) as error:
            raise Problem(f"{self.settings}: {error}", f"$EDITOR {shlex.quote(self.settings)}") from None
        return status_line(settings, shlex.quote(os.path.join(share(), "hooks", STATUS)))

    def tidy(self) -> None:
        """Remove the folders that the skills were in, where they are empty now."""
        for path in self._skills():
            remove_empty(os.path.dirname(path))
        remove_empty(os.path.join(self.folder, "skills"))

    def _skills(self) -> list[str]:
        return [os.path.join(self.folder, "skills", name, "SKILL.md") for name in SKILLS]

    def _skill(self, path: str) -> bytes:
        old = read(path)
        if old is not None and not is_stamped(old):
            what = f"{path} is another skill by that name, or was changed by somebody"
            raise Problem(what, f"mv {shlex.quote(os.path.dirname(path))} …")
        text = (read(os.path.join(share(), *path.split(os.sep)[-3:])) or b"").decode()
        # The client lets a skill run what its head names in the very same words; JSON is YAML that quotes anything.
        text = text.replace("Bash(drain-inbox *)", json.dumps(f"Bash({self._drain} *)", ensure_ascii=False))
        body = text.replace("`drain-inbox --", f"`{self._drain} --").removeprefix("---\n").encode()
        return (STAMP % sha256(body).hexdigest()[:16]).encode() + body

    def _edit(self, old: bytes | None, edit: Callable[[str], str]) -> bytes:
        """Return the edited settings; raise Problem when they cannot be edited, or more than ours would change."""
        try:
            text = (old or b"").decode()
            mark = "\ufeff" if text.startswith("\ufeff") else ""
            text = text.removeprefix(mark)
            new = edit(text)
            if self._entries.rest(new) != self._entries.rest(text):
                raise Problem("more than our own entries would change")
            return (mark + new).encode()
        except UnicodeError as error:
            why = f"it is no UTF-8 ({error})"
        except (Problem, RecursionError) as problem:
            why = str(problem)
        raise Problem(f"{self.settings} is left alone: {why}", f"$EDITOR {shlex.quote(self.settings)}")
