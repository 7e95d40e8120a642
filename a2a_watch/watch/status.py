"""What can be said of the watcher from outside: the lock says whether it runs, the markers say who has mail."""

from __future__ import annotations

import json
import os
from typing import Any

from a2a_watch import durable
from a2a_watch.marker import MARKER
from a2a_watch.watch.record import is_running, read


def status(root: str) -> dict[str, Any]:
    """Return whether a watcher runs at `root`, what it has noted of itself, and the markers of all agents.

    Raises OSError when the root cannot be read; agents whose inbox cannot be are named beside the others.
    """
    noted = {key: value for key, value in read(root).items() if key != "announced"}
    marked, unreadable = [], []
    for agent in durable.listing(root):
        folder = os.path.join(root, agent)
        if os.path.isdir(folder) and not os.path.islink(folder):
            try:
                marker = _marker(folder)
                marked += [marker] if marker else []
            except OSError:
                unreadable.append(agent)
    return {"running": is_running(root), "root": root, "watcher": noted, "agents": marked, "unreadable": unreadable}


def _marker(folder: str) -> dict[str, Any] | None:
    try:
        file = durable.read(os.path.join(folder, MARKER), 1 << 16)
        marker = json.loads(file[0]) if file else None
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    keys = {"agent": str, "count": int, "from": list, "subject": str}
    is_marker = isinstance(marker, dict) and all(isinstance(marker.get(key), kind) for key, kind in keys.items())
    return marker if is_marker else None
