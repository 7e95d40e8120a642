"""One look at one agent's inbox: what waits there, read once a message. Changes nothing but the marker."""

from __future__ import annotations

import os
import time

from a2a_watch import durable
from a2a_watch.inbox import UNFINISHED_SECONDS, Inbox
from a2a_watch.marker import LOOKS, is_marked
from a2a_watch.message import READ_LIMIT, NotAMessage, decode, one_line
from a2a_watch.names import is_message_name
from a2a_watch.watch.board import Mail

WAKES, REFUSED = ".wakes", ".refused"  # in an inbox; hooks/wake writes them


class Sight:
    """What was seen of `agent`'s inbox under `root`; `look` sees it anew."""

    def __init__(self, root: str, agent: str) -> None:
        self._inbox = Inbox(root, agent)
        self._mail: dict[str, tuple[int, Mail | None]] = {}
        self._fields: dict[str, dict[str, str]] = {}
        self.refused = 0.0  # when no session was woken for the newest message, 0 for never
        self.unfinished = False  # a writer may still be at one of the files; look again soon
        self.locked = False  # the marker is not true, for another program has the lock; look again soon

    def look(self) -> list[Mail]:
        """Return the messages that wait, oldest first, and have the marker say so.

        Raises OSError when the inbox cannot be read or the marker not be written; `mail` is true all the same.
        """
        folder, before = self._inbox.folder, self._mail
        try:
            with os.scandir(folder) as entries:
                found = [(entry.name, entry.inode()) for entry in entries if is_message_name(entry.name)
                         and entry.is_file(follow_symlinks=False)]  # fmt: skip
        except (FileNotFoundError, NotADirectoryError):
            found = []
        found.sort(key=lambda one: os.fsencode(one[0]))
        self._mail, self.unfinished, self.locked = {}, False, False
        unread = [name for name, inode in found if name not in before or before[name][0] != inode]
        newest = set(unread[-LOOKS:])  # of a flood, only so many are read: no notice has room for more
        for name, inode in found:
            seen = before.get(name)
            if seen and seen[0] == inode:
                self._mail[name] = seen
                continue
            self._fields.pop(name, None)
            done, mail = self._read(name, inode) if name in newest else (True, Mail(self._key(name, inode)))
            if done:
                self._mail[name] = (inode, mail)
            self.unfinished |= not done
        for name in self._fields.keys() - self._mail.keys():
            del self._fields[name]
        # hooks/wake: the claim of a message for which it refused to wake is not empty.
        name, inode = found[-1] if found else ("", 0)
        is_refused = durable.size(self._inbox.path(os.path.join(WAKES, f"{name} {inode}"))) > 0
        self.refused = durable.changed(self._inbox.path(os.path.join(WAKES, REFUSED)), 0) if is_refused else 0
        if not is_marked(folder, self._inbox.agent, self._fields):
            # Without a wait: whoever has the lock refreshes the marker, and other agents wait for this look.
            self.locked = not self._inbox.refresh_marker(time.time(), self._fields, 0)
        return self.mail()

    def mail(self) -> list[Mail]:
        """Return the messages of the last look."""
        return [mail for _, mail in self._mail.values() if mail]

    def news(self) -> list[Mail]:
        """Return what a person is told of: the messages, and that nobody is woken for them."""
        unwoken = Mail(f"{self._inbox.agent}/{REFUSED} {self.refused}", unwoken=True)
        return [*self.mail(), *([unwoken] if self.refused else [])]

    @property
    def is_empty(self) -> bool:
        """Tell whether there was nothing at all, and the marker says so."""
        return not (self._mail or self.unfinished or self.locked)

    def _read(self, name: str, inode: int) -> tuple[bool, Mail | None]:
        """Return whether a file is finished, and the message in it."""
        path, file = self._inbox.path(name), None
        try:
            file = durable.read(path, READ_LIMIT)
            if not file:
                return True, None
            fields = decode(file[0]) if file[1] <= READ_LIMIT else {"from": "?", "subject": "", "body": ""}
        except NotAMessage as error:
            young = file is not None and abs(time.time() - file[2]) <= UNFINISHED_SECONDS
            return not (error.early and young), None
        except FileNotFoundError:
            return False, None  # Race: a drain has it
        except OSError:
            return True, None  # a drain says so where a model reads it
        self._fields[name] = {"from": fields["from"], "subject": fields["subject"]}
        mail = Mail(self._key(name, inode), one_line(fields["from"], 100), one_line(fields["subject"], 200),
                    one_line(" ".join(fields["body"][:1000].split()), 200))  # fmt: skip
        return True, mail

    def _key(self, name: str, inode: int) -> str:
        # A foreign tool may use one name again and again, and every message has a file of its own.
        return f"{self._inbox.agent}/{name} {inode}"
