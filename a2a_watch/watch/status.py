"""What can be said of the watcher from outside: the lock says whether it runs, the markers say who has mail."""

from __future__ import annotations

import json
import os
from typing import Any

from a2a_watch import durable
from a2a_watch.light.lookup import agents
from a2a_watch.marker import MARKER
from a2a_watch.watch.record import is_running, read


def status(root: str) -> dict[str, Any]:
    """Return whether a watcher runs at `root`, what it has noted of itself, and the markers of all agents."""
    noted = {key: value for key, value in read(root).items() if key != "announced"}
    found = (_marker(os.path.join(root, agent)) for agent in agents(root) if not os.path.islink(f"{root}/{agent}"))
    return {"running": is_running(root), "root": root, "watcher": noted, "agents": [one for one in found if one]}


def _marker(folder: str) -> dict[str, Any] | None:
    try:
        file = durable.read(os.path.join(folder, MARKER), 1 << 16)
        marker = json.loads(file[0]) if file else None
    except (OSError, ValueError):
        return None
    keys = {"agent": str, "count": int, "from": list, "subject": str}
    is_marker = isinstance(marker, dict) and all(isinstance(marker.get(key), kind) for key, kind in keys.items())
    return marker if is_marker else None
