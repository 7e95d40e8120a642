"""What one drain prints: as many whole messages as fit, inside a frame that no message can forge. Pure.

Everything a sender chose stands in a one-line header or behind `> `; everything else is the frame.
"""

from __future__ import annotations

from a2a_watch.message import ABSENT, MAX_BYTES, one_line, quoted, unmentioned, visible
from a2a_watch.names import id_in_name, stamp

HEADER_CHARS = {"from": 200, "timestamp": 60, "subject": 300}
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def utf16_units(text: str) -> int:
    """Return the length of `text` as JavaScript counts it."""
    return len(text.encode("utf-16-le")) // 2


def utf8_bytes(text: str) -> int:
    """Return the length of `text` in bytes of UTF-8."""
    return len(text.encode())


class Page:
    """Collects messages for one drain of `agent`; `budget` is in UTF-16 units, or bytes, 0 for no bound.

    `more` says what shows the rest. `in_skill`: the client reads the files that the text of a skill mentions.
    """

    def __init__(
        self, agent: str, archive: str, now: float, budget: int, bytes_count: bool = False,
        more: str = "the next drain", in_skill: bool = False,
    ) -> None:  # fmt: skip
        self._agent, self._archive, self._now, self._more = one_line(agent, 200), one_line(archive, 4096), now, more
        self._budget, self._measure = budget, utf8_bytes if bytes_count else utf16_units
        self._in_skill, self._blocks = in_skill, list[str]()
        self._used = 0
        self.fields: list[dict[str, str]] = []

    def add(self, name: str, fields: dict[str, str], size: int, mark: str, total: int) -> bool:
        """Take one message of `size` bytes if it fits beside what is there; cut the first one if even it does not."""
        if self._in_skill:
            fields = {key: unmentioned(value) for key, value in fields.items()}
        head = "".join(
            "**%s:** %s\n" % (title, one_line(fields[key], HEADER_CHARS[key]))
            for title, key in (("From", "from"), ("At", "timestamp"), ("Subject", "subject"))
        ) + (mark and mark + "\n")
        if size <= MAX_BYTES:
            block = "%s\n%s\n" % (head, quoted(visible(fields["body"])))
            # The frame is measured with its largest numbers in it.
            room = self._room(total) - self._used
            if not self._budget or self._measure(block) + 1 <= room:
                return self._take(fields, block)
            if self._blocks:
                return False
            block = self._cut(head, name, fields["body"], size, room)
        elif self._blocks:
            return False
        else:
            block = "%s\n%s\n" % (head, self._whole(name, size))
        return self._take(fields, block)

    def _take(self, fields: dict[str, str], block: str) -> bool:
        self._blocks.append(block)
        self._used += self._measure(block) + 1
        self.fields.append(fields)
        return True

    def _room(self, total: int) -> int:
        return self._budget - self._measure(self._header(total, total) + "\n" + self._footer(total))

    def _cut(self, head: str, name: str, body: str, size: int, room: int) -> str:
        tail = self._whole(name, size)
        # Made visible before it is cut: half a tag or half a line end would be taken for something else.
        body = visible(body[: self._budget])
        low, high = 0, len(body)
        while low < high:
            middle = (low + high + 1) // 2
            text = "%s\n%s\n\n%s\n" % (head, quoted(body[:middle]), tail)
            low, high = (middle, high) if self._measure(text) + 1 <= room else (low, middle - 1)
        return "%s\n%s\n\n%s\n" % (head, quoted(body[:low]), tail)

    def _whole(self, name: str, size: int) -> str:
        command = "`a2a-watch show %s`, or the file " % id_in_name(name) if _PLAIN.issuperset(name) else "the file "
        return "_Not shown whole: %d bytes. The whole of it: %s`%s%s`_" % (
            size, command, self._archive, one_line(name, 300),
        )  # fmt: skip

    def _header(self, shown: int, total: int) -> str:
        part = ", the oldest %d of them here" % shown if shown < total or (total > 1 and not self.fields) else ""
        return (
            "## A2A inbox (%s) — %d message(s) pending%s\n\n"
            "_Notes from other sessions of this user, not the user's own words; what they wrote stands behind `> `. "
            "Answer: `a2a-send FROM --subject '…' '…'`._\n" % (self._agent, total, part)
        )

    def _footer(self, waiting: int) -> str:
        more = " %d more wait: %s shows them." % (waiting, self._more) if waiting else ""
        return "_Drained at %s. Archived to `%s`.%s_\n" % (stamp(self._now), self._archive, more)

    def text(self, waiting: int) -> str:
        """Return the whole page; `waiting` messages are left for the next drain."""
        header = self._header(len(self.fields), len(self.fields) + waiting)
        return "\n".join([header, *self._blocks, self._footer(waiting)])


def summary(fields: list[dict[str, str]], waiting: int, columns: int) -> str:
    """Return one line for the person: how many notes, from whom, about what, cut to `columns`."""
    count = "%d note%s" % (len(fields), "" if len(fields) == 1 else "s")
    more = ", %d more wait" % waiting if waiting else ""
    each = ("%s (%s)" % (field["from"], field["subject"]) if field["subject"] != ABSENT else field["from"]
            for field in fields)  # fmt: skip
    return fit("✉ %s%s: %s" % (count, more, ", ".join(each)), columns)


def fit(text: str, columns: int) -> str:
    """Return `text` on one line, visible, and cut to `columns` of a terminal, where some characters take two."""
    text = one_line(text, columns * 4)
    if text.isascii():
        return text if len(text) <= columns else text[: columns - 1] + "…"
    from unicodedata import combining, east_asian_width

    used, kept = 0, ""
    for char in text:
        used += 0 if combining(char) or char in "\u200c\u200d\ufe0f" else 1 + (east_asian_width(char) in "WF")
        if used > columns - 1:
            break
        kept += char
    return text if kept == text else kept + "…"
