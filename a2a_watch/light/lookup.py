"""Find agents and messages by name: what people type is the beginning of an id."""

from __future__ import annotations

import os

from a2a_watch import durable
from a2a_watch.inbox import READ, Inbox
from a2a_watch.message import one_line
from a2a_watch.names import Problem, id_in_name, is_message_name


def agents(root: str) -> list[str]:
    """Return the names of all agents that have an inbox under `root`."""
    return [
        name for name in durable.listing(root) if not name.startswith(".") and os.path.isdir(os.path.join(root, name))
    ]


def find(root: str, agents: list[str], prefix: str) -> tuple[Inbox, str, str]:
    """Return inbox, folder (empty or `.read`) and name of the one message whose id or file name begins so."""
    found = [
        (Inbox(root, agent), folder, name)
        for agent in agents
        for folder in ("", READ)
        for name in durable.listing(os.path.join(root, agent, folder), regular=True)
        if is_message_name(name) and (id_in_name(name).startswith(prefix) or name.startswith(prefix))
    ]
    if len(found) != 1 or not prefix:
        ids = ", ".join(one_line(id_in_name(name), 60) for _, _, name in found[:4])
        what = "%d messages begin with %s: %s…" % (len(found), ascii(prefix), ids) if found else (
            "no message of %s begins with %s" % (", ".join(agents[:4]) or "anybody", ascii(prefix)))  # fmt: skip
        raise Problem(what, "a longer id" if found else "ls %s" % os.path.join(root, "*", "{,.read/}"))
    return found[0]
