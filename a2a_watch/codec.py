"""JSON in and out, for programs that run at every session start.

Importing json costs a third of a drain, nearly all of it for the module `re`. Its C scanner alone reads what is JSON;
json itself is asked only about what is not.
"""

from __future__ import annotations

_ESCAPES = {code: "\\u%04x" % code for code in range(32)}
_ESCAPES.update({ord('"'): '\\"', ord("\\"): "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"})
_BLANK = " \t\n\r"
_WORDS = {None: "null", True: "true", False: "false"}


class NotJson(Exception):
    """The text is not JSON; `unfinished` tells that it may be the beginning of some."""

    def __init__(self, unfinished: bool) -> None:
        super().__init__("not JSON")
        self.unfinished = unfinished


class Number(str):
    """A number as it was written: int() refuses 4,300 digits, and a float would be shown rounded."""

    __slots__ = ()


class _Settings:
    # What json.JSONDecoder hands to the scanner. Raw line breaks in strings pass.
    strict = False
    object_hook = object_pairs_hook = None
    parse_int = parse_float = parse_constant = Number


def load(text: str) -> object:
    """Return the value of a JSON text, its numbers as Number; raise NotJson."""
    try:
        from _json import make_scanner

        value, end = make_scanner(_Settings)(text, len(text) - len(text.lstrip(_BLANK)))  # type: ignore[arg-type]
        if not text[end:].strip(_BLANK):
            return value
    except (ImportError, StopIteration, SystemError, ValueError):
        pass  # SystemError: up to 3.11 the scanner cannot name its error while json is not imported
    except RecursionError:
        raise NotJson(unfinished=False) from None
    import json

    try:
        return json.loads(text, strict=False, parse_int=Number, parse_float=Number, parse_constant=Number)
    except RecursionError:
        raise NotJson(unfinished=False) from None
    except json.JSONDecodeError as error:
        near_end = len(text.rstrip()) - error.pos < len("\\uXXXX")
        raise NotJson(near_end or error.msg.startswith("Unterminated")) from None


def dump(value: object, blank: str = " ") -> str:
    """Return strings, numbers as `load` gives them, words, and lists and objects of them as JSON on one line."""
    if isinstance(value, dict):
        items = [dump(key) + ":" + blank + dump(item, blank) for key, item in value.items()]
        return "{%s}" % ("," + blank).join(items)
    if isinstance(value, list):
        return "[%s]" % ("," + blank).join([dump(item, blank) for item in value])
    if isinstance(value, Number):
        return str(value)
    return '"%s"' % value.translate(_ESCAPES) if isinstance(value, str) else _WORDS[value]  # type: ignore[index]
