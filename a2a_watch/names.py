"""Names as they stand on disk: agents, message ids, file names, times. Pure; raises `Problem` for a bad name."""

from __future__ import annotations

import time

MAX_NAME_BYTES = 200  # leaves room for a suffix within the 255 bytes most file systems allow a name
SUFFIX = ".json"


class Problem(Exception):
    """Something that could not be done: `str(problem)` is a sentence, `problem.fix` the next thing to type."""

    def __init__(self, sentence: str, fix: str = "") -> None:
        super().__init__(sentence)
        self.fix = fix


def agent_name(text: str) -> str:
    """Return `text` in NFC when it can be one directory name; raise Problem when it cannot."""
    if not text.isascii():
        import unicodedata  # costs 1 ms, and nearly every name is ASCII

        text = unicodedata.normalize("NFC", text)
    if text in ("", ".", ".."):
        why = "it is empty or only dots"
    elif "/" in text:
        why = "it contains a slash"
    elif any(char < " " or "\x7f" <= char < "\xa0" for char in text):
        why = "it contains a control character"
    elif any("\ud800" <= char < "\ue000" for char in text):
        why = "it is not UTF-8"
    elif len(text.encode()) > MAX_NAME_BYTES:
        why = "it is longer than %d bytes" % MAX_NAME_BYTES
    else:
        return text
    raise Problem("%s is not an agent's name: %s" % (ascii(text[:60]), why), "a2a-id --explain")


def stamp(seconds: float, colons: bool = True) -> str:
    """Return Unix `seconds` as UTC text; with dashes instead of `colons` it is the form of file names."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ" if colons else "%Y-%m-%dT%H-%M-%SZ", time.gmtime(seconds))


def instant(seconds: float) -> str:
    """Return Unix `seconds` as UTC text with microseconds, by which two showings of one message can be told apart."""
    return stamp(seconds)[:-1] + ".%06dZ" % (seconds % 1 * 1_000_000)


def is_message_name(name: str) -> bool:
    """Tell whether a file of this name may be a message: `*.json`, and no dot name."""
    return name.endswith(SUFFIX) and not name.startswith(".")


def id_in_name(name: str) -> str:
    """Return the id part of `<timestamp>-<id>.json`, or the whole stem of a name of another form."""
    stem = name[: -len(SUFFIX)] if name.endswith(SUFFIX) else name
    return stem[21:] if len(stem) > 21 and stem[19:21] == "Z-" else stem


def numbered(name: str, number: int) -> str:
    """Return `name` with `-number` before its `.json`, cut so that it stays a legal file name."""
    stem, suffix = (name[: -len(SUFFIX)], SUFFIX) if name.endswith(SUFFIX) else (name, "")
    tail = "-%d%s" % (number, suffix)
    while len(stem.encode("utf-8", "surrogateescape")) + len(tail) > 255:
        stem = stem[:-1]
    return stem + tail
