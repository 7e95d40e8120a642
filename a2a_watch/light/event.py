"""What the client says on standard input: which event, of which session. Read with a deadline, never trusted."""

from __future__ import annotations

import os
import select
import time

from a2a_watch.codec import NotJson, load

WAIT_SECONDS = 1.0  # a client that writes does so at once; a pipe that stays silent is nobody
MAX_BYTES = 16 << 20  # a prompt is in there; more than this is no event


class Event:
    """One hook event; every field is text, empty when the client did not give it."""

    def __init__(self, fields: dict[str, object]) -> None:
        def text(key: str) -> str:
            value = fields.get(key)
            return value if type(value) is str else ""

        self.name, self.session, self.source = text("hook_event_name"), text("session_id"), text("source")
        self.subagent, self.prompt = text("agent_id"), text("prompt")

    def runs_skill(self) -> bool:
        """Tell whether the prompt is `/check-inbox` (in a plugin `/<its name>:check-inbox`), which drains by itself."""
        word = self.prompt.split(None, 1)[0] if self.prompt.strip() else ""
        return word == "/check-inbox" or (word.startswith("/") and word.endswith(":check-inbox"))


def read_event(handle: int) -> tuple[Event | None, bool]:
    """Return the event on `handle`, or None, and whether its end was reached before the deadline."""
    raw, end = b"", time.monotonic() + WAIT_SECONDS
    try:
        if os.isatty(handle):
            return None, True
        while len(raw) <= MAX_BYTES:
            ready, _, _ = select.select([handle], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None, False
            more = os.read(handle, 1 << 16)
            if not more:
                return _parse(raw), True
            raw += more
            # The client does not always close: what ends like an object, with nothing behind it, may be the whole.
            if more.rstrip().endswith(b"}") and not select.select([handle], [], [], 0)[0] and (event := _parse(raw)):
                return event, True
    except (OSError, ValueError):
        return None, True  # closed, or not readable: nobody speaks
    return None, False


def _parse(raw: bytes) -> Event | None:
    if not raw.lstrip().startswith(b"{"):
        return None
    try:
        found = load(raw.decode("utf-8", "replace"))
    except NotJson:
        return None
    return Event(found) if isinstance(found, dict) and type(found.get("hook_event_name")) is str else None
