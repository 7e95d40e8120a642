"""JSON in and out, for programs that run at every session start.

Importing json costs a third of a drain, all of it for the module `re`; its C scanner alone is enough to read, and
what is written here is strings in lists and objects.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_ESCAPES = {code: "\\u%04x" % code for code in range(32)}
_ESCAPES.update({ord('"'): '\\"', ord("\\"): "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"})
_BLANK = " \t\n\r"


class NotJson(Exception):
    """The text is not JSON; `unfinished` tells that it may be the beginning of some."""

    def __init__(self, unfinished: bool) -> None:
        super().__init__("not JSON")
        self.unfinished = unfinished


class _Settings:
    # What json.JSONDecoder hands to the scanner. Raw line breaks in strings pass, and a number stays text: int()
    # refuses 4,300 digits, and a float would be shown rounded.
    strict = False
    object_hook = object_pairs_hook = None
    parse_int = parse_float = parse_constant = str


def _scanner() -> Callable[[str, int], tuple[object, int]]:
    try:
        from _json import make_scanner

        return make_scanner(_Settings)  # type: ignore[arg-type]
    except ImportError:  # an interpreter without the C module has json all the same
        from json import JSONDecoder

        return JSONDecoder(strict=False, parse_int=str, parse_float=str, parse_constant=str).scan_once  # type: ignore[attr-defined, no-any-return]


def load(text: str) -> object:
    """Return the value of a JSON text, numbers as text; raise NotJson."""
    start = len(text) - len(text.lstrip(_BLANK))
    try:
        value, end = _scanner()(text, start)
    except StopIteration as stop:
        place = stop.value if isinstance(stop.value, int) else start
        raise NotJson(_is_near_end(text, place)) from None
    except ValueError as error:
        unterminated = str(error).startswith("Unterminated")
        raise NotJson(unterminated or _is_near_end(text, getattr(error, "pos", start))) from None
    except RecursionError:
        raise NotJson(unfinished=False) from None
    if text[end:].strip(_BLANK):
        raise NotJson(unfinished=False)
    return value


def _is_near_end(text: str, place: int) -> bool:
    return len(text.rstrip()) - place < len("\\uXXXX")


def dump(value: object) -> str:
    """Return strings, and lists and objects of them, as JSON on one line."""
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (dump(key), dump(item)) for key, item in value.items())
    if isinstance(value, list):
        return "[%s]" % ", ".join(map(dump, value))
    return '"%s"' % str(value).translate(_ESCAPES)
