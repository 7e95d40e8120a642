"""One agent's inbox: deliver, drain, confirm, give back, restore, and the marker that says what waits.

A message is always at one place, its name in exactly one folder:

    .<name>.tmp   being written      nobody sees it
    <name>        pending            possibly shown if a receipt or the history names it
    .read/<name>  shown              returns if a receipt names it and its session ends without a Stop
    .bad/<name>   not a message      set aside, never deleted

Whatever changes the folder holds the lock, but for the sender, whose publish is one step.
"""

from __future__ import annotations

import os

from a2a_watch import durable
from a2a_watch.marker import mark
from a2a_watch.message import FIELDS, READ_LIMIT, NotAMessage, decode
from a2a_watch.names import Problem, instant, is_message_name, stamp
from a2a_watch.receipts import BY_HAND, SHOWINGS, Receipts
from a2a_watch.receipts import FOLDER as SHOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    _Known = dict[str, dict[str, str]]
    _Offer = Callable[[str, dict[str, str], int, str, int], bool]
    _Show = Callable[["Outcome"], None]
    _Gone = Callable[[str], bool | None]

READ, BAD = ".read", ".bad"
LOCK_SECONDS = 1.0  # a drain that holds the lock longer is frozen; a session start must not be
MARKER_LOCK_SECONDS = 0.2  # a sender's message is safe without it, and the marker is only a hint
UNFINISHED_SECONDS = 10  # a file that ends early and changed this recently is still being written
STALE_TEMP_SECONDS = 3600  # a sender takes milliseconds; after an hour it is dead
PROJECTS = 20  # so many folders of one agent are remembered, to say once that they share it
HOLD_SECONDS = 86_400  # a receipt whose process cannot be looked up holds mail back no longer than this


class Visit:
    """Who drains, and when: `key` is empty when nobody will confirm; `event` is the hook's, empty by hand."""

    def __init__(self, now: float, key: str = "", process: str = "", event: str = "", project: str = "") -> None:
        self.now, self.key, self.process, self.project = now, key, process, project
        self.outside, self.starts = bool(event), event == "SessionStart"


class Outcome:
    """What one drain did: the names it shows, how many wait; `busy` when it did nothing, for another has the lock."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.busy = False
        self.waiting = 0
        self.bad: list[str] = []
        self.unreadable: list[str] = []
        self.shared_with = ""


class NotShown(OSError):
    """Raised by a drain's `show` when not one byte of the page left the process."""


class Inbox:
    """The inbox of `agent` (a valid name) under `root`; nothing is touched before a method is called."""

    def __init__(self, root: str, agent: str) -> None:
        self.root, self.agent, self.folder = root, agent, os.path.join(root, agent)

    def path(self, *parts: str) -> str:
        """Return a path inside this inbox."""
        return os.path.join(self.folder, *parts)

    def check(self) -> None:
        """Raise Problem when this inbox is something else than a folder under the root, or not there yet."""
        for path in (self.root, self.folder):
            if durable.exists(path) and not os.path.isdir(path):
                raise Problem("%s is not a folder" % path, "ls -ld %s" % path)
        # A link to another name under the root is an alias; one that leads out would scatter mail.
        if os.path.dirname(os.path.realpath(self.folder)) != os.path.realpath(self.root):
            raise Problem("%s is a link out of the inbox root" % self.folder, "ls -ld %s" % self.folder)

    def pending(self) -> list[str]:
        """Return the names of what waits, in order; whether each is a message is known when it is read."""
        return [name for name in durable.listing(self.folder) if is_message_name(name)]

    def drain(self, visit: Visit, offer: _Offer, show: _Show, gone: _Gone) -> Outcome:
        """Offer what waits, oldest first, until one is refused; show what was taken and archive it.

        Whatever stops it: each message is pending or in `.read/`, and what was possibly shown has a receipt.
        Raises NotShown with nothing changed, and OSError when the disk refuses a step. `gone` judges a process.
        """
        outcome = Outcome()
        with durable.Lock(self.folder, LOCK_SECONDS) as held:
            if not held:
                outcome.busy = True
                return outcome
            receipts = self._open(visit.now)
            for key in list(receipts.shown):
                if self._is_over(receipts, key, visit, gone):
                    self._retire(receipts, key)
            before = (dict(receipts.told), receipts.projects)
            self._gather(receipts, visit, offer, outcome)
            if visit.project and visit.project not in receipts.projects:
                # Said once for each folder, and not of folders that are gone.
                others = [project for project in receipts.projects if os.path.isdir(project)]
                outcome.shared_with = others[-1] if others else ""
                receipts.projects = [*others, visit.project][-PROJECTS:]
            if outcome.names:
                self._show(receipts, visit, outcome, show)
            if before != (receipts.told, receipts.projects):
                receipts.save_history(set(self.pending()))
            mark(self.folder, self.agent, visit.now)
        return outcome

    def remember(self, visit: Visit) -> None:
        """Leave a receipt that names the session's process and no message: who drains next may not see processes."""
        with durable.Lock(self.folder, LOCK_SECONDS) as held:
            if held:
                receipts = self._open(visit.now)
                receipts.shown.setdefault(visit.key, {})
                receipts.process[visit.key] = visit.process
                receipts.save(visit.key)

    def confirm(self, key: str, now: float) -> bool:
        """Make what the session `key` was shown read, for its turn ended well; False when another holds the lock."""
        return self._close(key, now, confirmed=True)

    def give_back(self, key: str, now: float) -> bool:
        """Make what the session `key` was shown and never confirmed pending again, marked; False when locked."""
        return self._close(key, now, confirmed=False)

    def _close(self, key: str, now: float, confirmed: bool) -> bool:
        with durable.Lock(self.folder, LOCK_SECONDS) as held:
            if held:
                receipts = self._open(now)
                if key in receipts.shown:
                    self._retire(receipts, key, confirmed)
                mark(self.folder, self.agent, now)
        return held

    def restore(self, name: str, now: float) -> bool:
        """Make the read message `name` pending again, to be shown as restored; False when it is not there."""
        with durable.Lock(self.folder, LOCK_SECONDS) as held:
            if not held:
                raise Problem("%s's inbox is in use by another program" % self.agent, "a2a-watch restore, once more")
            receipts = self._open(now)
            target = durable.free(name, self.folder)
            receipts.restored[target] = stamp(now)
            receipts.history.pop(name, None)
            # Order: what marks it lies on the disk before it is pending.
            receipts.save_history({target, *self.pending()})
            moved = durable.move(self.path(READ, name), self.path(target))
            self._sync()
            receipts.forget({name})
            mark(self.folder, self.agent, now)
        return moved

    def refresh_marker(self, now: float, known: _Known | None = None, seconds: float = MARKER_LOCK_SECONDS) -> bool:
        """Make `.pending` say what waits; False when another holds the lock for `seconds`, and will."""
        with durable.Lock(self.folder, seconds) as held:
            if held:
                mark(self.folder, self.agent, now, known)
        return held

    def _open(self, now: float) -> Receipts:
        for folder in (READ, SHOWN):
            durable.have_folder(self.path(folder))
        for name in durable.listing(self.folder):
            # Order: under the lock nobody writes TEMP; a sender's temporary file has no lock, so age decides.
            age = abs(now - durable.changed(self.path(name), now)) if name.endswith(".tmp") else 0
            if name == durable.TEMP or (name.startswith(".") and age >= STALE_TEMP_SECONDS):
                durable.remove(self.path(name))
        return Receipts(self.folder)

    def _is_over(self, receipts: Receipts, key: str, visit: Visit, gone: _Gone) -> bool:
        process = receipts.process[key]
        if key == BY_HAND:
            return True  # its drain held the lock that is ours now
        if process and process == visit.process:
            # The same client: at a start, its other session is over. Two handlers of one start have one session,
            # and the second gives nothing back.
            return visit.starts and key != visit.key
        over = gone(process)
        if over is None:
            last = max((times[-1] for times in receipts.shown[key].values() if times), default="")
            return not stamp(visit.now - HOLD_SECONDS) <= last <= stamp(visit.now + HOLD_SECONDS)
        return over

    def _retire(self, receipts: Receipts, key: str, confirmed: bool = False) -> None:
        # Order: history, then the moves, then the receipt goes; stopped anywhere, the next run does the rest again.
        pending, returning = set(self.pending()), {}
        changed = False
        for name in receipts.shown[key]:
            times, archived = receipts.times(name), durable.exists(self.path(READ, name))
            if name in pending and not archived:
                target = name  # stopped between showing and archiving: pending, and possibly shown
            elif confirmed or key == BY_HAND or len(times) >= SHOWINGS or not archived:
                changed |= bool(receipts.history.pop(name, None)) | bool(receipts.restored.pop(name, None))
                continue
            else:
                # A name may be pending again: then a foreign tool has used it twice.
                returning[name] = target = durable.free(name, self.folder)
                changed |= target != name and bool(receipts.history.pop(name, None))
            changed |= receipts.history.get(target) != times
            receipts.history[target] = times
        if changed:
            receipts.save_history(pending.union(returning.values()))
        for name, target in returning.items():
            durable.move(self.path(READ, name), self.path(target))
        if returning:
            self._sync()
        shown = receipts.shown.pop(key)
        if confirmed:
            # Another session whose drain died before archiving may name them too; read is read for all.
            receipts.forget({name for name in shown if durable.exists(self.path(READ, name))})
        receipts.drop(key)

    def _gather(self, receipts: Receipts, visit: Visit, offer: _Offer, outcome: Outcome) -> None:
        names = self.pending()
        if names:
            # Before anything is printed: what cannot be archived would be shown again at every drain.
            durable.check_writable(self.path(READ))
        for place, name in enumerate(names):
            if durable.exists(self.path(READ, name)):
                # Both files stay: this one takes a free name while it is still pending.
                other = durable.free(name, self.folder, self.path(READ))
                durable.move(self.path(name), self.path(other))
                name = other  # noqa: PLW2901
            found = self._look(name, receipts, visit, outcome)
            if found and not offer(name, *found, self._mention(receipts, name), len(names)):
                outcome.waiting = len(names) - place
                return
            if found:
                outcome.names.append(name)

    def _look(self, name: str, receipts: Receipts, visit: Visit, outcome: Outcome) -> tuple[dict[str, str], int] | None:
        """Return fields and size of a pending message; None when it is not one, or not yet, or out of reach."""
        try:
            file = durable.read(self.path(name), READ_LIMIT)
            if file:
                fields = decode(file[0]) if file[1] <= READ_LIMIT else dict.fromkeys(FIELDS, "(too large to read)")
                return fields, file[1]
        except FileNotFoundError:
            return None  # Race: a drain without our lock has it
        except OSError as error:
            self._complain(name, error, receipts, outcome)
            return None
        except NotAMessage as error:
            if error.early and file and abs(visit.now - file[2]) <= UNFINISHED_SECONDS:
                return None  # Race: its writer may still be at it
        try:
            durable.have_folder(self.path(BAD))
            durable.move(self.path(name), self.path(BAD, durable.free(name, self.path(BAD))))
            outcome.bad.append(name)
        except OSError as error:
            self._complain(name, error, receipts, outcome)
        return None

    def _complain(self, name: str, error: OSError, receipts: Receipts, outcome: Outcome) -> None:
        why = error.strerror or "cannot be read"
        if receipts.told.get(name) != why:
            outcome.unreadable.append("%s: %s" % (name, why))
            receipts.told[name] = why

    def _mention(self, receipts: Receipts, name: str) -> str:
        times, restored = receipts.times(name), receipts.restored.get(name)
        if restored and not times:
            return "(shown before; restored at %s)" % restored
        last = "; this is the last time" if len(times) >= SHOWINGS - 1 else ""
        return "(may have been shown before, at %sZ%s)" % (times[-1][:19], last) if times else ""

    def _show(self, receipts: Receipts, visit: Visit, outcome: Outcome, show: _Show) -> None:
        # Order: 1 receipt, 2 print, 3 archive, 4 the receipt goes or waits for a Stop.
        key, at = visit.key or BY_HAND, instant(visit.now)
        old, was_there = dict(receipts.shown.get(key, {})), key in receipts.shown
        shown = receipts.shown.setdefault(key, {})
        shown.update({name: [*shown.get(name, []), at] for name in outcome.names})
        # A drain inside a sandbox sees other process numbers than the hook that was here before it.
        known = receipts.process.get(key, "")
        receipts.process[key] = (visit.process or known) if visit.outside else (known or visit.process)
        receipts.save(key)
        try:
            show(outcome)
        except NotShown:
            receipts.shown[key] = old
            receipts.save(key) if was_there else receipts.drop(key)
            raise
        for name in outcome.names:
            durable.move(self.path(name), self.path(READ, name))
        self._sync()
        if key == BY_HAND:
            self._retire(receipts, key)

    def _sync(self) -> None:
        # Order: the new name before the old one is known gone; on file systems with a journal it is one step.
        durable.sync(self.path(READ))
        durable.sync(self.folder)
