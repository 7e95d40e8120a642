"""Find agents and messages by name: what people type is the beginning of an id."""

from __future__ import annotations

import os

from a2a_watch import durable
from a2a_watch.inbox import READ, Inbox
from a2a_watch.message import one_line
from a2a_watch.names import Problem, id_in_name, is_message_name


def agents(root: str) -> list[str]:
    """Return the names of all agents that have an inbox under `root`, aliases last."""
    try:
        names = [name for name in durable.listing(root) if os.path.isdir(os.path.join(root, name))]
        return sorted(names, key=lambda name: os.path.islink(os.path.join(root, name)))
    except OSError:
        return []  # a root that may not be listed takes mail all the same


def find(root: str, agents: list[str], prefix: str, folders: tuple[str, str] = ("", READ)) -> tuple[Inbox, str, str]:
    """Return inbox, folder (empty or `.read`) and name of the one message whose id or file name begins so.

    `agent/prefix` names the agent too. A name that stands in both folders is the one in the first of `folders`.
    """
    whose, _, prefix = prefix.rpartition("/")
    found: dict[str, tuple[Inbox, str, str]] = {}
    for agent in [agent for agent in agents if whose in ("", agent)]:
        for folder in folders:
            for name in [name for name in _listing(os.path.join(root, agent, folder)) if _begins(name, prefix)]:
                # An alias shows the same message under another agent's name.
                real = os.path.join(os.path.realpath(os.path.join(root, agent)), name)
                found.setdefault(real, (Inbox(root, agent), folder, name))
    whole = [one for one in found.values() if prefix in (id_in_name(one[2]), one[2])]
    choice = whole or list(found.values())
    if prefix and len(choice) == 1:
        return choice[0]
    if not found or not prefix:
        of = "of %s " % agents[0] if len(agents) == 1 else ""
        raise Problem("no message %sbegins with %s" % (of, ascii(prefix)), "ls " + os.path.join(root, "*/"))
    names = [one_line("%s/%s" % (inbox.agent, name), 150) for inbox, _, name in choice[:3]]
    what = "%d messages begin with %s: %s" % (len(choice), ascii(prefix), ", ".join(names))
    raise Problem(what + (", …" if len(choice) > 3 else ""), "more of one of them")


def _begins(name: str, prefix: str) -> bool:
    return is_message_name(name) and (id_in_name(name).startswith(prefix) or name.startswith(prefix))


def _listing(folder: str) -> list[str]:
    try:
        return durable.listing(folder, regular=True)
    except OSError:
        return []  # what may not be looked into is not ours to search
