"""The watcher's one file, `<root>/.watcher`: who it is, how it fares, what it has announced and run for.

It is a hint for people and for the next watcher. Whether one runs is told by the lock on the root alone; without the
file, what waits is announced once more.
"""

from __future__ import annotations

import json
import os
from typing import Any

from a2a_watch import durable
from a2a_watch.names import stamp

NAME = ".watcher"


class Record:
    """What stands in the file of `root`; `save` writes it, under the root's lock."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.facts = read(root)

    def keys(self, fact: str) -> list[str]:
        """Return the keys of mail that stand in a fact: of what was announced, or run for; oldest first."""
        keys = self.facts.get(fact)
        return [key for key in keys if isinstance(key, str)] if isinstance(keys, list) else []

    def save(self, **facts: Any) -> None:
        """Have the file say `facts` too; raises OSError with the file as it was."""
        self.facts.update(facts)
        durable.replace(self._root, NAME, (json.dumps(self.facts) + "\n").encode(), lasting=False)


def read(root: str) -> dict[str, Any]:
    """Return what stands in the file, nothing when it is lost or damaged."""
    try:
        found = durable.read(os.path.join(root, NAME), 1 << 24)
        facts = json.loads(found[0]) if found else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def at(now: float, what: str) -> dict[str, str]:
    """Return something that happened, with its time."""
    return {"at": stamp(now), "what": what}


def is_running(root: str) -> bool:
    """Tell whether a watcher has the lock on `root`."""
    return durable.is_locked(root)
