"""Whatever stands in a settings file, only our own entries come and go: generated files in generated layouts."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import example, given
from hypothesis import settings as limits
from hypothesis import strategies as st

from a2a_watch.install.plan import Plan
from a2a_watch.install.settings import Entries
from a2a_watch.light.identity import Surroundings
from tests.kit import HOOK

OURS, ROOT = "A2A_PYTHON='/a b/python3' '/it'\"'\"'s $here/hooks/drain-inbox' --receipts", "/home/Zoë/.claude/inbox"
ENTRIES = Entries(OURS, ROOT, "/it/hooks/wake", None)
LIMITS = {"SessionStart": 10, "UserPromptSubmit": 10, "Stop": 10, "SessionEnd": 2}
WORDS = {
    ("permissions", "allow"): ["Bash(a2a-send:*)", "Bash(a2a-watch show:*)", "Skill(check-inbox)"],
    ("sandbox", "filesystem", "allowWrite"): [ROOT],
}
OLDER = (
    "/old/hooks/drain-inbox",
    "'/o l d/hooks/drain-inbox' --receipts",
    '"$HOME"/a2a/hooks/drain-inbox',
    "A2A_PYTHON=/old/python3 /old/hooks/drain-inbox --receipts",
)
THEIRS = (
    "say done",
    "",
    "it's",
    "echo drain-inbox",
    "/x/drain-inbox.sh",
    "~/drain-inbox-2",
    "A=drain-inbox /bin/true",
    "/x/hooks/drain-inbox --receipts && say done",
    "/opt/acme/bin/drain-inbox --mbox",
    "CLAUDE_AGENT_ID=bob /x/hooks/drain-inbox --receipts",
)


class Obj(list[tuple[str, Any]]):
    """An object as it is written: its members in order, a key perhaps twice."""


class Raw(str):
    """A number as it is written."""


class Layout:
    """How one person's editor writes JSON: a step of indentation, or None for one line."""

    def __init__(self, step: str | None, comma: str, colon: str, line_end: str, last: str) -> None:
        self.step, self.comma, self.colon, self.line_end = step, comma, colon, line_end
        self.last = last.replace("\n", line_end)

    def text(self, value: Any, at: str | None = "") -> str:
        if not isinstance(value, list):
            return value if isinstance(value, Raw) else _written(value)
        inner = None if at is None or self.step is None else at + self.step
        items = [self.text(item, inner) for item in (value if not isinstance(value, Obj) else [v for _, v in value])]
        if isinstance(value, Obj):
            keys = [_written(key) for key, _ in value]
            items = [key + self.colon + item for key, item in zip(keys, items, strict=True)]
        left, right = "{}" if isinstance(value, Obj) else "[]"
        if inner is None or not items:
            return left + self.comma.join(items) + right
        between = self.line_end + inner
        return left + between + ("," + between).join(items) + self.line_end + str(at) + right

    def file(self, value: Any) -> str:
        return self.text(value) + self.last


def _written(scalar: Any) -> str:
    # Half of a character can only stand in a file as an escape.
    return json.dumps(
        scalar, ensure_ascii=isinstance(scalar, str) and any("\ud800" <= char < "\ue000" for char in scalar)
    )


def read(text: str) -> Any:
    """Parse JSON and forget nothing: order, keys used twice, how a number is written."""
    return json.loads(text, object_pairs_hook=Obj, parse_float=Raw, parse_int=Raw)


def member(value: Any, key: str) -> Any:
    return next((item for name, item in reversed(value) if name == key), None) if isinstance(value, Obj) else None


def others(settings: Any) -> Any:
    """Return settings without anything of ours, and without the containers that only ours can have needed."""

    def theirs(place: tuple[str, ...], value: Any) -> Any:
        if place in WORDS:
            return [item for item in value if item not in WORDS[place]]
        if place in {("hooks", event) for event in LIMITS} and type(value) is list:
            return [group for old in value if (group := without_ours(old)) is not None]
        if isinstance(value, Obj) and place in (
            (),
            ("hooks",),
            ("permissions",),
            ("sandbox",),
            ("sandbox", "filesystem"),
        ):
            kept = Obj((key, theirs((*place, key), item)) for key, item in value)
            needed = {path[: len(place) + 1] for path in (*WORDS, *(("hooks", event) for event in LIMITS))}
            return Obj((key, item) for key, item in kept if item or (*place, key) not in needed)
        return value

    return theirs((), settings)


def without_ours(group: Any) -> Any:
    handlers = member(group, "hooks")
    if not isinstance(handlers, list) or not handlers:
        return group
    kept = [one for one in handlers if member(one, "command") not in (OURS, *OLDER)]
    if not kept:
        return None
    return Obj((key, kept if key == "hooks" else item) for key, item in group)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.text(max_size=8),
    st.sampled_from(["hooks", "}", "//", "\u2028", "\ud800", "\\\"", "é"]),
    st.sampled_from(["1e400", "1.0", "-0", "1E5", "0.10", "123456789012345678901234567890"]).map(Raw),
)  # fmt: skip
KEYS = st.one_of(st.text(max_size=5), st.sampled_from(["$schema", "allow", "Stop", "command", "", "hooks ", "é"]))


def objects(values: st.SearchStrategy[Any], keys: st.SearchStrategy[str] = KEYS) -> st.SearchStrategy[Obj]:
    return st.lists(st.tuples(keys, values), max_size=3).map(Obj)


VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | objects(inner), max_leaves=8)


def handler(command: str) -> st.SearchStrategy[Obj]:
    more = st.lists(st.sampled_from([("timeout", Raw("99")), ("timeout", Raw("1.5")), ("async", True)]), max_size=1)
    return more.map(lambda extra: Obj([("type", "command"), ("command", command), *extra]))


@st.composite
def groups(draw: st.DrawFn, commands: st.SearchStrategy[str]) -> Any:
    odd = st.sampled_from(
        [None, Raw("7"), Obj(), Obj([("hooks", None)]), Obj([("hooks", [])]), Obj([("hooks", [None])])]
    )
    matcher = draw(st.sampled_from([[], [], [("matcher", "")], [("matcher", "*")], [("matcher", "startup")]]))
    inside = draw(st.lists(commands.flatmap(handler), max_size=3))
    return draw(odd if draw(st.integers(0, 3)) == 3 else st.just(Obj([*matcher, ("hooks", inside)])))


@st.composite
def settings_of(draw: st.DrawFn, commands: st.SearchStrategy[str]) -> Obj:
    """Generate settings in which other people's hooks, and words of ours, may be partly there."""
    events = draw(st.lists(st.sampled_from([*LIMITS, "PreToolUse", "Notification"]), unique=True, max_size=5))
    hooks = Obj((event, draw(st.lists(groups(commands), max_size=3))) for event in events)
    words = st.lists(st.sampled_from([*WORDS["permissions", "allow"], "Bash(ls)", "Skill(x)"]), unique=True, max_size=4)
    permissions = Obj(
        draw(st.sampled_from([[], [("allow", draw(words))], [("deny", draw(words)), ("allow", draw(words))]]))
    )
    folder: list[tuple[str, Any]] = draw(
        st.sampled_from([[], [("allowWrite", [])], [("allowWrite", ["/tmp/x", ROOT])], [("denyRead", ["~/.ssh"])]])
    )
    boxed: list[tuple[str, Any]] = [("enabled", True), ("filesystem", Obj(folder))]
    sandbox = draw(st.sampled_from([Obj(), Obj(boxed)]))
    ours: list[tuple[str, Any]] = [("hooks", hooks), ("permissions", permissions), ("sandbox", sandbox)]
    free = draw(objects(VALUES, KEYS.filter(lambda key: key not in ("hooks", "permissions", "sandbox"))))
    chosen = [pair for pair in ours if draw(st.booleans())]
    both: list[tuple[str, Any]] = [*free, *chosen]
    return Obj(draw(st.permutations(both)))


LAYOUTS = st.builds(
    Layout, st.sampled_from([None, "  ", "    ", "\t"]),
    st.sampled_from([", ", ",", " ,  "]), st.sampled_from([": ", ":"]),
    st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\n", "\n\n "]),
)  # fmt: skip
STRANGERS = settings_of(st.sampled_from(THEIRS))
PLAIN = Layout("  ", ", ", ": ", "\n", "\n")

# Of a key used twice the client takes the last.
TWICE = Obj([("hooks", Obj([("Stop", [])])), ("hooks", Obj([("Stop", [Obj([("hooks", [])])])]))])


def assert_ours_are_in(text: str) -> None:
    """Each event calls us exactly once, at every start, and each word is there."""
    data = json.loads(text)
    for event, seconds in LIMITS.items():
        found = []
        for group in data["hooks"][event]:
            inside = group.get("hooks") if isinstance(group, dict) else None
            for one in inside or []:
                if isinstance(one, dict) and one["command"] in (OURS, *OLDER):
                    found.append((one["type"], one["command"], one["timeout"], group.get("matcher", "") in ("", "*")))
        assert found == [("command", OURS, seconds, True)]
    for path, words in WORDS.items():
        place = data
        for key in path:
            place = place[key]
        assert [place.count(word) for word in words] == [1] * len(words)


@limits(deadline=None)
@given(settings_of(st.sampled_from([*THEIRS, *OLDER])), LAYOUTS)
@example(Obj([("hooks", Obj([("Stop", [Obj([("matcher", "x"), ("hooks", [Obj([("command", OLDER[0])])])])])]))]), PLAIN)
@example(TWICE, PLAIN)
def test_only_our_entries_come_and_go(settings: Obj, layout: Layout) -> None:
    """Parsed, the new file is the old one but for ours, in order, and no number is written anew; twice is once."""
    old = layout.file(settings)
    new = ENTRIES.add(old)
    assert_ours_are_in(new)
    assert others(read(new)) == others(read(old))
    assert ENTRIES.add(new) == new
    assert others(read(ENTRIES.take_out(new, json.loads(old)))) == others(read(old))
    left = json.loads(ENTRIES.take_out(new, {})).get("hooks", {})
    bare = json.dumps([left.get(event) for event in LIMITS])
    assert not [word for word in (*OLDER, OURS) if json.dumps(word) in re.sub(r'"A=[^"]*"', "", bare)]


@limits(deadline=None)
@given(STRANGERS, LAYOUTS)
def test_every_line_of_the_old_text_is_still_there(settings: Obj, layout: Layout) -> None:
    """Nothing of the text is rewritten: each line stands where it stood, but for commas and opened brackets."""
    old, new = layout.text(settings), ENTRIES.add(layout.file(settings))
    assert new.endswith(layout.last)
    assert ENTRIES.take_out(new, json.loads(old)) == layout.file(settings)
    new = new.removesuffix(layout.last)
    if layout.step is None:
        rest = iter(new)
        assert all(char in rest for char in old), "the old text is not part of the new one"
        assert not settings or "\n" not in new
        return
    # A text without any end of a line says nothing about how they are written.
    lines = new.split(layout.line_end if settings or layout.last else "\n")
    there = iter(lines)
    for line in old.split(layout.line_end):
        plain = line.rstrip(",")
        opened = plain[:-1] if plain.endswith(("{}", "[]")) else line
        assert any(one in (line, line + ",", opened) for one in there), f"{line!r} is not there, or not in order"
    assert not [line for line in lines if "\n" in line], "lines end in two ways"
    if settings:
        indents = {line[: len(line) - len(line.lstrip(" \t"))] for line in lines}
        assert not [one for one in indents if one.replace(layout.step, "")], "two steps of indentation"


@limits(deadline=None)
@given(STRANGERS, LAYOUTS, st.booleans(), st.booleans())
@example(Obj(), Layout(None, ",", ":", "\n", ""), False, False)
@example(TWICE, PLAIN, True, True)
def test_uninstall_gives_the_old_file(settings: Obj, layout: Layout, mark: bool, somebody_else: bool) -> None:
    """Byte for byte, with byte order mark, line ends and end; after somebody else's change as data, with theirs."""
    old = (b"\xef\xbb\xbf" if mark else b"") + layout.file(settings).encode()
    with TemporaryDirectory() as folder:
        here = Surroundings()
        here.home, here.config, here.inbox_root = folder, folder, ROOT
        path = Path(folder, "settings.json")
        path.write_bytes(old)
        for change in Plan(here, False).setup():
            change.write()
        assert path.read_bytes().startswith(b"\xef\xbb\xbf") == mark
        assert shlex.quote(str(HOOK)) in path.read_text("utf-8-sig")
        data = json.loads(old.decode("utf-8-sig"), parse_float=str)
        if somebody_else:
            now = json.loads(path.read_text("utf-8-sig"), parse_float=str)
            for one in (data, now):
                _edit(one)
            path.write_text(json.dumps(now, indent=1))
        for change in Plan(here, False).uninstall():
            change.write()
        if somebody_else:
            assert json.loads(path.read_text()) == data
        else:
            assert path.read_bytes() == old
            assert [one.name for one in Path(folder).iterdir() if one.is_file()] == ["settings.json"]


def _edit(data: Any) -> None:
    """Do what another program would do to settings: a hook more, a permission more, a key more."""
    data.setdefault("hooks", {}).setdefault("Stop", []).append({"hooks": [{"type": "command", "command": "say new"}]})
    data.setdefault("permissions", {}).setdefault("allow", []).append("Bash(make:*)")
    data["theirs"] = {"new": True}
