"""The watcher's post at one root: the lock, what hears of changes, what was seen of each inbox."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_watch import durable
from a2a_watch.marker import MARKER
from a2a_watch.message import one_line
from a2a_watch.names import Problem, is_message_name
from a2a_watch.watch.board import UNWOKEN, Board
from a2a_watch.watch.mounts import file_system, is_remote
from a2a_watch.watch.record import Record
from a2a_watch.watch.sight import REFUSED, WAKES, Sight
from a2a_watch.watch.wakeups import Wakeups

if TYPE_CHECKING:
    from a2a_watch.watch.onmail import OnMail

POLL_SECONDS = 2.0  # between two looks where the kernel tells nothing, and at a root that is not there
SOON_SECONDS = 0.3  # until the next look at an inbox that is locked
WRITER_SECONDS = 1.0  # until the next look at a file that is still being written
LOCK_SECONDS = 1.0  # `status` has the lock for a moment
SETTLED_SECONDS = 3.0  # after this a folder that changes again has another time, whatever the file system

log = logging.getLogger("a2a-watch")


@dataclass(frozen=True)
class Options:
    """What the person asked for."""

    notify: bool = True
    preview: bool = True
    quiet: tuple[str, ...] = ()
    rescan: float = 60.0
    poll: bool = False
    on_mail: tuple[str, ...] = ()  # the words of a command


class Post:
    """One root, as long as it is the same folder. Raises OSError when it cannot be had, Problem when another has it."""

    def __init__(self, root: str, options: Options) -> None:
        self._root = os.path.realpath(root)
        facts = os.stat(self._root)
        self._identity = (facts.st_dev, facts.st_ino)
        self._lock = durable.Lock(self._root, LOCK_SECONDS)
        if not self._lock.__enter__():
            self._lock.__exit__()
            has = Record(self._root).facts
            who = f"process {has.get('pid', '?')}, since {has.get('since', '?')}"
            raise Problem(f"another watcher has {root}: {who}", "a2a-watch status")
        self.record = Record(self._root)
        self.board = Board(self.record.keys("announced"), options.quiet, options.preview, options.notify)
        self.on_mail: OnMail | None = None
        self._sights: dict[str, Sight] = {}
        self._changed: dict[str, float] = {}
        self._empty: dict[str, float] = {}  # nothing waits there, and nothing will until this time of change is another
        self._is_scanned = False
        self._woken: set[str] = set()  # since the last look at them
        self._silent: set[str] = set()  # what a rescan found there was told by no event until now
        self._wakeups: Wakeups | None = None
        self._why = f"it is on {file_system(self._root)}" if is_remote(file_system(self._root)) else ""
        self._why = "as asked for" if options.poll else self._why
        self._asked = bool(self._why)
        self.how = ""

    @property
    def hears(self) -> bool:
        """Tell whether each change is heard of."""
        return not self._why

    def is_there(self) -> bool:
        """Tell whether the root is still the folder that it was, with the lock in it."""
        try:
            facts = os.stat(self._root)
        except OSError:
            return False
        return (facts.st_dev, facts.st_ino) == self._identity and self._lock.is_there()

    def hear(self, heard: Callable[[str], None], trouble: Callable[[str], None]) -> None:
        """Have changes heard, anew when what hears them has died; where that cannot be, `hears` is False."""
        if self._wakeups and not self._wakeups.is_alive():
            log.warning("what hears of changes has died; starting it again")
            self._wakeups.stop()
            self._wakeups = None
        if self._wakeups:
            # Linux: a folder for which there were no watches left is silent, and nothing else says so.
            self._why = "some changes come without an event (see: sysctl fs.inotify)" if self._silent else ""
        if not self._wakeups and not self._asked:
            try:
                self._wakeups = Wakeups(heard, trouble)
                self._wakeups.start(self._root)
                self._why = ""
            except OSError as error:
                # Linux: 24 and 28 say that there are no more inotify instances or watches.
                self._why = f"the kernel tells of no changes: {error.strerror} (see: sysctl fs.inotify)"
                if self._wakeups:
                    self._wakeups.stop()
                self._wakeups = None
        self.how = f"looking every {POLL_SECONDS:g} s, for {self._why}" if self._why else "by events"

    def woke(self, path: str) -> bool:
        """Have the agent looked at whose inbox `path` is in; False when it is the root itself."""
        agent, _, rest = os.path.relpath(path, self._root).partition("/")
        if agent == ".":
            return False
        if agent != ".." and (not rest or is_message_name(rest) or rest in (MARKER, f"{WAKES}/{REFUSED}")):
            self._woken.add(agent)
            self._silent.discard(agent)
            self.board.wake(agent, time.monotonic())
        return True

    def wake_all(self, now: float) -> None:
        """Have every agent looked at that is not known to be empty. Raises OSError when the root cannot be read."""
        agents = self._agents()
        for agent in agents.keys() | self._sights.keys():
            if agent in self._sights or self._empty.get(agent) != agents[agent]:
                self.board.wake(agent, now)
        self._is_scanned, self._changed = bool(self._changed or self._sights), agents

    def wake_changed(self, now: float) -> None:
        """Have every agent looked at whose folder has changed. Raises OSError when the root cannot be read."""
        found = self._agents()
        for agent in found.keys() | self._changed.keys():
            if found.get(agent) != self._changed.get(agent):
                self.board.wake(agent, now)
        self._changed = found

    def look(self, agent: str) -> tuple[int, int]:
        """Look at an inbox; return how many messages waited before, and do now; OSError when it cannot be seen."""
        folder = os.path.join(self._root, agent)
        # An alias is looked at by its own name.
        is_there = os.path.isdir(folder) and not os.path.islink(folder)
        if not is_there and agent not in self._sights:
            return 0, 0
        sight = self._sights.setdefault(agent, Sight(self._root, agent))
        # Order: the time, then the look. What comes between makes it another time.
        before, refused, changed = sight.mail(), sight.refused, durable.changed(folder, 0)
        self._empty.pop(agent, None)
        try:
            sight.look()
        finally:
            now = time.monotonic()
            self.board.saw(agent, sight.news(), now)
            if self.on_mail:
                self.on_mail.saw(agent, sight.mail(), now)
            if sight.refused and sight.refused != refused:
                log.info("%s was not woken: %s", one_line(agent, 100), UNWOKEN)
            if sight.locked:
                self.board.look_at(agent, now + SOON_SECONDS)
            if sight.unfinished:
                self.board.look_at(agent, now + WRITER_SECONDS)
        if sight.mail() != before and agent not in self._woken and self._is_scanned:
            self._silent.add(agent)
        self._woken.discard(agent)
        if not is_there or sight.is_empty:
            del self._sights[agent]
        if sight.is_empty and time.time() - changed > SETTLED_SECONDS:
            self._empty[agent] = changed
        return len(before), len(sight.mail())

    def close(self) -> None:
        """Hear nothing more, run nothing more and let go of the lock."""
        if self.on_mail:
            self.on_mail.stop()
        if self._wakeups:
            self._wakeups.stop()
        self._lock.__exit__()

    def _agents(self) -> dict[str, float]:
        """Return every agent's name, and when its folder changed."""
        with os.scandir(self._root) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        return {name: durable.changed(os.path.join(self._root, name), 0) for name in names}
