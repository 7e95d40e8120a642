"""One change of one file of the user's: shown before, written in one step, never over somebody else's change."""

from __future__ import annotations

import difflib
import os
import tempfile
from dataclasses import dataclass
from shlex import quote

from a2a_watch.durable import sync
from a2a_watch.message import visible
from a2a_watch.names import Problem


@dataclass(frozen=True)
class Change:
    """At `path`, followed if it is a link, `new` in place of `old` (None: no file); `like` lends a new one its mode."""

    path: str
    old: bytes | None
    new: bytes | None
    like: str = ""

    def diff(self) -> str:
        """Return a unified diff, its control characters shown as escapes."""
        before, after = ((data or b"").decode("utf-8", "replace").splitlines() for data in (self.old, self.new))
        name, other = (os.devnull if data is None else self.path for data in (self.old, self.new))
        return visible("\n".join(difflib.unified_diff(before, after, name, other, lineterm="")))

    def check(self) -> None:
        """Raise Problem unless the file can be written and is still what it was."""
        real = os.path.realpath(self.path)
        if (read(real) if self.old is not None or os.path.lexists(real) else None) != self.old:
            raise Problem(f"{self.path} was changed by another program meanwhile, and is left as it is", "once more")
        folder = os.path.dirname(real)
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        for path in (real, folder):
            if os.path.lexists(path) and not os.access(path, os.W_OK):
                raise Problem(f"{path} is read-only, and nothing was changed", f"ls -ld {quote(path)}")

    def write(self) -> None:
        """Carry it out: afterwards the file is as it was or whole and new, on the disk; a link stays a link."""
        real = os.path.realpath(self.path)
        folder = os.path.dirname(real)
        if self.new is None:
            self.check()
            os.unlink(real)
            sync(folder)
            return
        os.makedirs(folder, exist_ok=True)
        handle, temp = tempfile.mkstemp(prefix=".a2a-watch-", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self.new)
                if self.old is not None or self.like:
                    facts = os.stat(self.like or real)
                    self._give(file.fileno(), facts)
                    os.fchmod(file.fileno(), facts.st_mode & 0o7777)
                file.flush()
                os.fsync(file.fileno())
            # Race: the client writes this file too; what is left is the time between this look and the rename.
            self.check()
            os.replace(temp, real)
        except BaseException:
            os.unlink(temp)
            raise
        sync(folder)

    def _give(self, handle: int, facts: os.stat_result) -> None:
        mine = os.fstat(handle)
        if (mine.st_uid, mine.st_gid) != (facts.st_uid, facts.st_gid):
            try:
                os.fchown(handle, facts.st_uid, facts.st_gid)
            except PermissionError:
                what = f"{self.path} belongs to user {facts.st_uid} and group {facts.st_gid}, and is left as it is"
                raise Problem(what, f"ls -ln {quote(self.path)}") from None


def read(path: str) -> bytes | None:
    """Return what is in a file, None when there is none; raise Problem when it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        if os.path.islink(path):
            raise Problem(f"{path} is a link to nothing", f"ls -l {quote(path)}") from None
        return None
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}", f"ls -ld {quote(path)}") from None
