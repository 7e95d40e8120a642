"""What was shown and is not known to have been read: one receipt a session, and one history an agent.

A receipt holds the names shown to a session until it has finished a turn. The history holds what must be known of a
message after its receipt is gone: when it was shown, when it was restored, what was said about it.
"""

from __future__ import annotations

import os

from a2a_watch import durable
from a2a_watch.codec import NotJson, dump, load

FOLDER = ".shown"
BY_HAND = ".drain"  # the receipt of a drain that nobody confirms: only there while it runs, or after it crashed
_HISTORY = ".history"
_LIMIT = 64 << 20
SHOWINGS = 3  # after so many without a Stop a message stays read: repeating has an end


def key_of(session: str) -> str:
    """Return the file name of a session's receipt; of a session id that is no plain name its hash."""
    plain = session.replace("-", "").replace("_", "")
    if plain.isascii() and plain.isalnum() and len(session) < 128:
        return session
    from hashlib import sha256  # no client makes such an id

    return sha256(session.encode("utf-8", "surrogatepass")).hexdigest()


class Receipts:
    """All receipts of one agent and its history, as read from disk; only under the agent's lock."""

    def __init__(self, inbox: str) -> None:
        self._inbox = inbox
        self.shown: dict[str, dict[str, list[str]]] = {}
        self.process: dict[str, str] = {}
        folder = os.path.join(inbox, FOLDER)
        past = _load(os.path.join(folder, _HISTORY)) or {}
        self.history = _times(past.get("shown"))
        self.restored, self.told = _texts(past.get("restored")), _texts(past.get("told"))
        self.projects = _times({"": past.get("projects")}).get("", [])
        for key in durable.listing(folder):
            if key.startswith(".") and key != BY_HAND:
                continue
            found = _load(os.path.join(folder, key))
            if found is None:
                try:
                    durable.aside(os.path.join(folder, key))  # not ours: every session start would look at it again
                except OSError:
                    pass  # then they do
            else:
                self.shown[key] = _times(found.get("shown"))
                self.process[key] = _texts(found).get("process", "")

    def times(self, name: str) -> list[str]:
        """Return when `name` was shown, or may have been, without being read since."""
        found = set(self.history.get(name, []))
        for shown in self.shown.values():
            found.update(shown.get(name, []))
        return sorted(found)

    def save(self, key: str) -> None:
        """Put the receipt `key` on the disk."""
        content: dict[str, object] = {"process": self.process.get(key, ""), "shown": self.shown[key]}
        durable.replace(self._inbox, os.path.join(FOLDER, key), _json(content))

    def drop(self, key: str) -> None:
        """Have no receipt `key`, on the disk too."""
        self.shown.pop(key, None)
        self.process.pop(key, None)
        durable.remove(os.path.join(self._inbox, FOLDER, key))
        durable.sync(os.path.join(self._inbox, FOLDER))

    def forget(self, names: set[str]) -> None:
        """Take `names` out of every receipt, on the disk too."""
        for key, shown in self.shown.items():
            if not names.isdisjoint(shown):
                self.shown[key] = {name: times for name, times in shown.items() if name not in names}
                self.save(key)

    def save_history(self, keep: set[str]) -> None:
        """Put the history on the disk, without what is neither in `keep` nor in a receipt."""
        keep = keep.union(*self.shown.values()) if self.shown else keep
        self.history = {name: times for name, times in self.history.items() if name in keep}
        self.restored = {name: time for name, time in self.restored.items() if name in keep}
        self.told = {name: what for name, what in self.told.items() if name in keep}
        content: dict[str, object] = {
            "shown": self.history,
            "restored": self.restored,
            "told": self.told,
            "projects": self.projects,
        }
        durable.replace(self._inbox, os.path.join(FOLDER, _HISTORY), _json(content))


def _json(content: dict[str, object]) -> bytes:
    # Names that are no UTF-8 survive as the escapes of the surrogates that stand for them.
    return dump(content).encode("utf-8", "backslashreplace") + b"\n"


def _load(path: str) -> dict[str, object] | None:
    try:
        file = durable.read(path, _LIMIT)
        found = load(file[0].decode("utf-8", "surrogatepass")) if file else None
    except (OSError, ValueError, NotJson):
        return None
    return found if isinstance(found, dict) else None


def _texts(value: object) -> dict[str, str]:
    # Not isinstance: a number is read as a kind of text.
    return {k: v for k, v in value.items() if type(v) is str} if isinstance(value, dict) else {}


def _times(value: object) -> dict[str, list[str]]:
    if not isinstance(value, dict):
        return {}
    return {k: [time for time in v if type(time) is str] for k, v in value.items() if isinstance(v, list)}
