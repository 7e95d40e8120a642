"""Change a JSON text at one place and leave every other character as it is. Pure; the text must be valid JSON."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

Path = tuple[str | int, ...]
BLANK = " \t\r\n"
_BLANK = re.compile(f"[{BLANK}]*")
_VALUE = json.JSONDecoder(parse_int=float)


@dataclass(frozen=True)
class Child:
    """One member of an object, or one item of a list: where its text begins, and its value in it, and where it ends."""

    key: str | int
    first: int
    start: int
    end: int


def children(text: str, start: int) -> tuple[list[Child], int]:
    """Return what the object or list at `start` holds, and where its closing bracket is."""
    found: list[Child] = []
    place = _skip(text, start + 1)
    while text[place] not in "}]":
        first, key = place, len(found)
        if text[start] == "{":
            key, place = _VALUE.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        end = _VALUE.raw_decode(text, place)[1]
        found.append(Child(key, first, place, end))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return found, place


def _skip(text: str, place: int) -> int:
    return _BLANK.match(text, place).end()  # type: ignore[union-attr]


def locate(text: str, path: Path) -> Child | None:
    """Return where the value at `path` stands, None when there is none; of a key used twice it is the last."""
    child = Child("", 0, _skip(text, 0), len(text.rstrip(BLANK)))
    for key in path:
        inside = children(text, child.start)[0] if text[child.start] in "{[" else []
        named = [one for one in inside if one.key == key and type(one.key) is type(key)]
        if not named:
            return None
        child = named[-1]
    return child


def append(text: str, path: Path, value: object, key: str | None = None) -> str:
    """Return `text` with `value` last in the list, or under `key` in the object, at `path`, laid out like the rest."""
    holder = locate(text, path)
    assert holder
    inside, close = children(text, holder.start)
    name = "" if key is None else _dump(key) + ": "
    line_end = "\r\n" if "\r\n" in text else "\n"
    base = re.match(r"[ \t]*", text[text.rfind("\n", 0, holder.start) + 1 :])[0]  # type: ignore[index]
    if inside:
        before = text[holder.start + 1 : inside[0].first]
        broken, indent = "\n" in before, before.rpartition("\n")[2]
    else:
        whole = children(text, _skip(text, 0))[0]
        broken, indent = not whole or "\n" in text.strip(), base + _unit(text)
    if not broken:
        item = name + _dump(value)
    else:
        item = line_end + indent + name + _dump(value, _unit(text)).replace("\n", line_end + indent)
    if inside:
        place = inside[-1].end
        return text[:place] + ("," if broken else ", ") + item + text[place:]
    return text[: holder.start + 1] + item + (line_end + base if broken else "") + text[close:]


def replace(text: str, path: Path, value: object) -> str:
    """Return `text` with `value`, on one line, in place of what stands at `path`."""
    child = locate(text, path)
    assert child
    return text[: child.start] + _dump(value) + text[child.end :]


def remove(text: str, path: Path) -> str:
    """Return `text` without what stands at `path`; its neighbours keep their layout."""
    holder, gone = locate(text, path[:-1]), locate(text, path)
    assert holder and gone
    inside, close = children(text, holder.start)
    place = inside.index(gone)
    if len(inside) == 1:
        return text[: holder.start + 1] + text[close:]
    if place == len(inside) - 1:
        return text[: inside[place - 1].end] + text[gone.end :]
    return text[: gone.first] + text[inside[place + 1].first :]


def _unit(text: str) -> str:
    """Return one step of indentation: that of the first member of the whole."""
    found = re.match(r"\s*\{[ \t]*\r?\n(?:[ \t]*\r?\n)*([ \t]+)\"", text)
    return found[1] if found else "  "


def _dump(value: object, unit: str | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=unit)
