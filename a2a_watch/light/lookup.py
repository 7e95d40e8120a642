"""Find agents and messages by name: what people type is the beginning of an id."""

from __future__ import annotations

import os

from a2a_watch import durable
from a2a_watch.inbox import READ, Inbox
from a2a_watch.message import one_line
from a2a_watch.names import Problem, id_in_name, is_message_name


def agents(root: str) -> list[str]:
    """Return the names of all agents that have an inbox under `root`."""
    try:
        return [name for name in durable.listing(root) if os.path.isdir(os.path.join(root, name))]
    except OSError:
        return []  # a root that may not be listed takes mail all the same


def find(root: str, agents: list[str], prefix: str) -> tuple[Inbox, str, str]:
    """Return inbox, folder (empty or `.read`) and name of the one message whose id or file name begins so."""
    found = []
    for agent in agents:
        for folder in ("", READ):
            names = [name for name in _listing(os.path.join(root, agent, folder)) if is_message_name(name)]
            found += [(Inbox(root, agent), folder, name) for name in names if _begins(name, prefix)]
    # An alias shows the same message under another agent's name.
    found = list(
        {os.path.realpath(inbox.path(folder, name)): (inbox, folder, name) for inbox, folder, name in found}.values()
    )
    whole = [one for one in found if prefix in (id_in_name(one[2]), one[2])]
    if prefix and len(whole or found) == 1:
        return (whole or found)[0]
    if not found or not prefix:
        whose = "of %s " % agents[0] if len(agents) == 1 else ""
        raise Problem("no message %sbegins with %s" % (whose, ascii(prefix)), "ls " + os.path.join(root, "*/"))
    ids = ", ".join(one_line(name, 100) for _, _, name in found[:3]) + (", …" if len(found) > 3 else "")
    raise Problem("%d messages begin with %s: %s" % (len(found), ascii(prefix), ids), "a longer beginning of the id")


def _begins(name: str, prefix: str) -> bool:
    return id_in_name(name).startswith(prefix) or name.startswith(prefix)


def _listing(folder: str) -> list[str]:
    try:
        return durable.listing(folder, regular=True)
    except OSError:
        return []  # what may not be looked into is not ours to search
