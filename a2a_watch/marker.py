"""The marker `.pending`: there exactly while mail waits, one line of JSON that says what. A hint, never the truth."""

from __future__ import annotations

import os

from a2a_watch import durable
from a2a_watch.codec import dump
from a2a_watch.message import ABSENT, READ_LIMIT, NotAMessage, decode, one_line
from a2a_watch.names import is_message_name, stamp

MARKER = ".pending"
LOOKS = 50  # so many of the newest messages give the senders


def mark(folder: str, agent: str, now: float, known: dict[str, dict[str, str]] | None = None) -> None:
    """Make the marker say what waits in `folder`, under the agent's lock; `known` spares reading those messages."""
    line = _line(folder, agent, known)
    if not line:
        durable.remove(os.path.join(folder, MARKER))
    elif not _says(folder, line):
        # Whoever watches the file is woken by news only. Not synced: what a power cut loses, the next change repairs.
        durable.replace(folder, MARKER, ('%s"updated": "%s"}\n' % (line, stamp(now))).encode(), lasting=False)


def is_marked(folder: str, agent: str, known: dict[str, dict[str, str]] | None = None) -> bool:
    """Tell whether the marker says what waits in `folder`; needs no lock, and may be out of date on return."""
    line = _line(folder, agent, known)
    return _says(folder, line) if line else not durable.exists(os.path.join(folder, MARKER))


def _line(folder: str, agent: str, known: dict[str, dict[str, str]] | None) -> str:
    """Return the marker as it should be, up to the time; empty when nothing waits."""
    names = [name for name in durable.listing(folder, regular=True) if is_message_name(name)]
    if not names:
        return ""
    found = [(known or {}).get(name) or _peek(os.path.join(folder, name)) for name in reversed(names[-LOOKS:])]
    senders = dict.fromkeys(one_line(fields["from"], 100) for fields in found if fields)
    subject = found[0]["subject"] if found[0] and found[0]["subject"] != ABSENT else ""
    return '{"agent": %s, "count": %d, "oldest": %s, "newest": %s, "from": %s, "subject": %s, ' % (
        *(dump(agent), len(names), dump(one_line(names[0], 300)), dump(one_line(names[-1], 300))),
        *(dump(list(senders)), dump(one_line(subject, 200))),
    )


def _says(folder: str, line: str) -> bool:
    try:
        old = durable.read(os.path.join(folder, MARKER), 1 << 16)
    except OSError:
        return False
    return old is not None and old[0].startswith(line.encode())


def _peek(path: str) -> dict[str, str] | None:
    try:
        file = durable.read(path, READ_LIMIT)
        return decode(file[0]) if file and file[1] <= READ_LIMIT else None
    except (OSError, NotAMessage):
        return None
