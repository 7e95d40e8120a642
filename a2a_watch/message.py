"""One message: into bytes, out of bytes, and as text that shows everything and sends nothing. Pure.

Writing is strict (six string fields); reading is liberal, for any tool may write here.
"""

from __future__ import annotations

from a2a_watch.codec import NotJson, dump, load

FIELDS = ("id", "from", "to", "timestamp", "subject", "body")
MAX_BYTES = 1 << 20  # of one message's file; senders refuse more, readers show the header and the path
READ_LIMIT = 8 << 20  # bytes; of a larger file not even the header is known
ABSENT = "(none)"

# Shown as an escape, never sent: terminal control, line breaks of other alphabets, characters that reorder a line
# or cannot be seen at all. Joiners and variation selectors stay: emoji and Persian need them.
_CONTROL = {code: "\\x%02x" % code for code in [*range(32), *range(0x7F, 0xA0)] if code not in (9, 10)}
_HIDDEN = [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0xFE00, 0xFE0E)]
_HIDDEN += [0xAD, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF, *range(0xFFF0, 0xFFFC)]
_HIDDEN += [*range(0x202A, 0x202F), *range(0x2060, 0x2070)]
_VISIBLE = {**_CONTROL, **{code: "\\u%04x" % code for code in _HIDDEN}}
_VISIBLE.update({code: "\\U%08x" % code for code in [*range(0x1D173, 0x1D17B), *range(0xE0000, 0xE01F0)]})

# Tags with which a host marks its own words in a model's context; a note must not open or close one.
_HOST_TAGS = (
    *("system", "user-prompt", "task-", "teammate-", "local-command", "command-", "bash-", "session-start", "ide_"),
    *("new-diagnostics", "antml:", "function_"),
)


class NotAMessage(Exception):
    """These bytes are no message; `early` tells that they may be the beginning of one."""

    def __init__(self, early: bool) -> None:
        super().__init__("ends early" if early else "not a JSON object")
        self.early = early


def encode(fields: dict[str, str]) -> bytes:
    """Return the six fields as one line of JSON in UTF-8; raises UnicodeEncodeError for a lone surrogate."""
    return (dump({key: fields[key] for key in FIELDS}) + "\n").encode()


def decode(raw: bytes) -> dict[str, str]:
    """Return the six fields as text, odd ones as compact JSON, absent ones as `(none)`; raise NotAMessage."""
    try:
        text = raw.decode("utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig", "surrogatepass")
    except UnicodeError:
        # UTF-16 that was cut in the middle of a letter is still UTF-16.
        text = raw.decode("utf-16", "replace") if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else raw.decode("latin-1")
    try:
        found = load(text)
    except NotJson as error:
        begins = text.lstrip().startswith("{") and error.unfinished
        raise NotAMessage(early=begins or not text.strip()) from None
    if not isinstance(found, dict):
        raise NotAMessage(early=False)
    return {key: _as_text(found.get(key)) for key in FIELDS}


def _as_text(value: object) -> str:
    if value is None or value == "":
        return ABSENT
    try:
        return value if isinstance(value, str) else dump(value, blank="")
    except RecursionError:
        return "(nested too deeply to show)"


def visible(text: str) -> str:
    """Return `text` with every character that would act instead of being read, and each host tag, defused."""
    text = text.replace("\r\n", "\n").translate(_VISIBLE)
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()  # lone surrogates
    first, *rest = text.split("<")
    for part in rest:
        probe = "".join(char for char in part[:1000] if "!" <= char <= "~")
        is_tag = probe.lstrip("/\\").lower().startswith(_HOST_TAGS)
        first += "<\\" + part if is_tag else "<" + part
    return first


def unmentioned(text: str) -> str:
    """Return `text` with a backslash before each `@` that the client would take for the name of a file to read."""
    if "@" not in text:
        return text
    # Seen on the client: it looks at one that stands after a blank, or first.
    return "".join(
        "\\@" if char == "@" and not text[place - 1 : place].strip() else char for place, char in enumerate(text)
    )


def one_line(text: str, length: int) -> str:
    """Return `text` visible, on one line and cut to `length` characters."""
    text = visible(text[: length * 2]).replace("\n", "\\n").replace("\t", " ")
    return text if len(text) <= length else text[: length - 1] + "…"


def quoted(text: str) -> str:
    """Return visible `text`, each line behind `> `: nothing in it can then be taken for what stands around it."""
    lines = text.rstrip("\n").split("\n")
    return "\n".join("> " + line if line else ">" for line in lines)
