"""One message: into bytes, out of bytes, and as text that shows everything and sends nothing. Pure.

Writing is strict (six string fields); reading is liberal, for any tool may write here.
"""

from __future__ import annotations

FIELDS = ("id", "from", "to", "timestamp", "subject", "body")
MAX_BYTES = 1 << 20  # of one message's file; senders refuse more, readers show the header and the path
READ_LIMIT = 8 << 20  # bytes; of a larger file not even the header is known
ABSENT = "(none)"

_JSON_ESCAPES = {code: "\\u%04x" % code for code in range(32)}
_JSON_ESCAPES.update({ord('"'): '\\"', ord("\\"): "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"})

# Shown as an escape, never sent: terminal control, line breaks of other alphabets, characters that reorder a line
# or cannot be seen at all. Joiners and variation selectors stay: emoji and Persian need them.
_CONTROL = {code: "\\x%02x" % code for code in [*range(32), *range(0x7F, 0xA0)] if code not in (9, 10)}
_HIDDEN = [0xAD, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF, 0xFFF9, 0xFFFA, 0xFFFB]
_HIDDEN += [*range(0x202A, 0x202F), *range(0x2060, 0x2070)]
_VISIBLE = {**_CONTROL, **{code: "\\u%04x" % code for code in _HIDDEN}}
_VISIBLE.update({code: "\\U%08x" % code for code in range(0xE0000, 0xE01F0)})

# Tags with which a host marks its own words in a model's context; a note must not open or close one.
_HOST_TAGS = (
    *("system-reminder", "system_reminder", "system>", "user-prompt-submit-hook", "task-notification"),
    *("local-command-", "command-name", "command-message", "antml:", "function_calls", "function_results"),
)


class NotAMessage(Exception):
    """These bytes are no message; `early` tells that they may be the beginning of one."""

    def __init__(self, early: bool) -> None:
        super().__init__("ends early" if early else "not a JSON object")
        self.early = early


def quote(text: str) -> str:
    """Return `text` as a JSON string."""
    # Not json.dumps: importing json costs a send more than everything else it does.
    return '"%s"' % text.translate(_JSON_ESCAPES)


def encode(fields: dict[str, str]) -> bytes:
    """Return the six fields as one line of JSON in UTF-8; raises UnicodeEncodeError for a lone surrogate."""
    return ("{%s}\n" % ", ".join("%s: %s" % (quote(key), quote(fields[key])) for key in FIELDS)).encode()


def decode(raw: bytes) -> dict[str, str]:
    """Return the six fields as text, odd ones as compact JSON, absent ones as `(none)`; raise NotAMessage."""
    import json

    try:
        text = raw.decode(json.detect_encoding(raw), "surrogatepass").lstrip("\ufeff")
    except UnicodeError:
        text = raw.decode("latin-1")
    try:
        # A number stays text: int() refuses 4,300 digits, and a float would be shown rounded.
        found = json.loads(text, strict=False, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        near_end = len(text.rstrip()) - error.pos <= len("\\uXXXX") or error.msg.startswith("Unterminated")
        raise NotAMessage(not text.strip() or (text.lstrip().startswith("{") and near_end)) from None
    except RecursionError:
        raise NotAMessage(early=False) from None
    if not isinstance(found, dict):
        raise NotAMessage(early=False)
    return {key: _as_text(found.get(key)) for key in FIELDS}


def _as_text(value: object) -> str:
    import json

    if value is None or value == "":
        return ABSENT
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def visible(text: str) -> str:
    """Return `text` with every character that would act instead of being read, and each host tag, defused."""
    text = text.replace("\r\n", "\n").translate(_VISIBLE)
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()  # lone surrogates
    first, *rest = text.split("<")
    for part in rest:
        is_tag = part.lstrip(" \t/\\").lower().startswith(_HOST_TAGS)
        first += "<\\" + part if is_tag else "<" + part
    return first


def one_line(text: str, length: int) -> str:
    """Return `text` visible, on one line and cut to `length` characters."""
    text = visible(text[: length * 2]).replace("\n", "\\n").replace("\t", " ")
    return text if len(text) <= length else text[: length - 1] + "…"


def quoted(text: str) -> str:
    """Return `text` visible, each line behind `> `: nothing in it can then be taken for what stands around it."""
    lines = visible(text).rstrip("\n").split("\n")
    return "\n".join("> " + line if line else ">" for line in lines)
