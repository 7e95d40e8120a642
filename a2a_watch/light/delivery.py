"""One message on its way into one inbox: written whole first, then published in one step, or undone."""

from __future__ import annotations

import errno
import os

from a2a_watch import durable
from a2a_watch.inbox import Inbox
from a2a_watch.message import encode
from a2a_watch.names import stamp

README = """Mail between coding-agent sessions, kept by a2a-watch. One folder an agent; a message is a JSON file.

*.json   waits for the agent's next session      .read/   was shown to one
.bad/    could not be read as a message          .shown/  what was shown and when

Deleting a message here is safe; nothing else holds a copy.
"""


class Ids:
    """UUIDv7 ids (RFC 9562, 6.2 method 3) that only rise within one process, also when the clock steps back."""

    def __init__(self) -> None:
        self._last = 0

    def next(self, now_ns: int, random: bytes) -> tuple[str, str]:
        """Return a new id and its file-name timestamp, from nanoseconds since 1970 and 8 random bytes."""
        # 48 bits of milliseconds, then 12 bits of their fraction: a plain name sort is the order of sending.
        self._last = max((now_ns << 12) // 1_000_000, self._last + 1)
        milliseconds, tail = self._last >> 12, int.from_bytes(random, "big")
        head = "%012x" % milliseconds
        id_ = "%s-%s-7%03x-%04x-%012x" % (
            head[:8], head[8:], self._last & 0xFFF, 0x8000 | tail >> 48 & 0x3FFF, tail & 0xFFFFFFFFFFFF,
        )  # fmt: skip
        return id_, stamp(milliseconds / 1000, colons=False)


class Delivery:
    """A message for `inbox`; `published` once it is there under `name`, `sent` once that is on the disk."""

    def __init__(self, inbox: Inbox, fields: dict[str, str]) -> None:
        self.inbox, self.fields, self.data = inbox, fields, encode(fields)
        self.name = "%s-%s.json" % (fields["timestamp"], fields["id"])
        self.published = self.sent = False
        self._temp = inbox.path(".%s.tmp" % self.name)
        self._made: list[str] = []

    def write(self) -> None:
        """Put the message on the disk under a name that every reader ignores; OSError leaves that to `undo`."""
        self._make_folder(self.inbox.folder)
        durable.write_new(self._temp, self.data)

    def publish(self) -> None:
        """Make the message pending; on return it survives a power cut."""
        durable.publish(self._temp, self.inbox.path(self.name))
        self.published = True
        durable.sync(self.inbox.folder)
        self.sent = True

    def undo(self) -> None:
        """Leave nothing behind of a message that was not published."""
        if not self.published:
            if self._made or durable.exists(self._temp):
                durable.remove(self._temp)
            for folder in reversed(self._made):
                durable.remove_empty(folder)

    def _make_folder(self, folder: str) -> None:
        if not os.path.isdir(folder):
            self._make_folder(os.path.dirname(folder))
            try:
                durable.make_folder(folder)
                self._made.append(folder)
            except FileExistsError:
                if not os.path.isdir(folder):  # Race: else another sender made it
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder) from None

    def explain_root(self) -> None:
        """Have a README in the root that says who owns it; without one, mail works all the same."""
        path = os.path.join(self.inbox.root, "README")
        if not durable.exists(path):
            try:
                # The temporary file lies in the inbox, whose drain clears what a crash leaves.
                temp = self.inbox.path(".README-%s.tmp" % self.fields["id"])
                durable.write_new(temp, README.encode())
                durable.publish(temp, path)
            except FileExistsError:
                durable.remove(temp)  # Race: another first delivery
            except OSError:
                pass  # no room for a courtesy
