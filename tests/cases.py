"""Folder trees and environments in which somebody asks who he is, plain and odd, drawn by Hypothesis and built."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

ODD = "aB0 ._-~+@=:#%,'\"$`\\\n\t\r*?[]!{}()&;|<>^\u00e9e\u0301\u00df\u6f22\u200b\u00a0\N{PARTY POPPER}\udcff\x1b"
PLAIN = st.sampled_from(["project-a", "b c", ".dotfiles", "-rf", "x" * 200, "~", "#x", "a=b:c", "Project_B+1"])
NAMES = st.one_of(
    PLAIN, PLAIN, PLAIN, PLAIN, st.sampled_from(["x" * 201, "e\u0301", " a", "a "]),
    st.text(ODD, min_size=1, max_size=5).filter(lambda name: name not in (".", "..")),
)  # fmt: skip
LINES = st.one_of(
    *[PLAIN.map(lambda name: name.encode() + b"\n")] * 2,
    st.sampled_from([
        b"", b"\n", b"no-newline", b"crlf\r\n", b"\xef\xbb\xbfbom\n", b"  blanks \n", b"\nsecond\n", b"\r\nx\n",
        b"a\0b\n", b"\0\n", b"\0" * 5000 + b"late\n", b"na" + b"\0" * 4095 + b"me\n", b".\n", b"..\n", b"a/b\n",
        b"back\\slash\n", b"back\\", "\u00e9\n".encode(), b"\xff\n", b"\ttab\t\n", b"\x1cfs\x1f\n", b"x" * 201,
        "\u00a0nbsp\u00a0\n".encode(), b"x" * 5000, b" " * 5000 + b"late\n", b"-n\n", b"-e a\n", b"'q'\n",
    ]),
    st.binary(max_size=6),
)  # fmt: skip
THINGS = st.sampled_from(["folder", "fifo", "dangling", "itself"])


def thing_or(content: st.SearchStrategy[bytes]) -> st.SearchStrategy[object]:
    """Draw what may stand at a name: nothing, a file, a link to a file, something that is no file."""
    return st.one_of(st.none(), st.none(), content, content.map(lambda raw: ("link", raw)), THINGS)


@dataclass(frozen=True)
class Level:
    """One folder of a path: its name, whether it is a link to the real one, and what stands in it."""

    name: str
    is_link: bool
    git: object
    pinned: object


LEVELS = st.lists(
    st.builds(
        Level, NAMES, st.sampled_from([False] * 9 + [True]),
        st.one_of(st.sampled_from([None, "folder", "folder", b"gitdir: x\n"]), thing_or(st.just(b""))),
        st.one_of(st.none(), st.none(), thing_or(LINES)),
    ),
    min_size=1, max_size=3,
)  # fmt: skip
# In a variable `@` stands for the test's folder, `@0` … for the levels; None leaves it unset.
ODD_STARTS = ["", "@0", "@1", "@2/", "@1/.", "@2/..", "@0//", "@/by/../x", "/", "//", ".", "relative", "@/nowhere"]
STARTS = st.sampled_from([None] * 6 + ["@2"] * 6 + ODD_STARTS)
ODD_HOMES = ["", "@/home/", "@/by", "@0", "relative", "/", "@/nowhere", "@/file", "@/loop", "@/half", "@//home"]
HOMES = st.sampled_from(["@/home"] * 16 + [None, *ODD_HOMES, "@/" + "x" * 300])
ODD_INBOXES = ["", "@/mail/", "~/mail", "relative", "@/by/../mail", "@/./mail", "@/mail/..", "/", "@/by", "~"]
INBOXES = st.sampled_from([None] * 9 + ["@/mail"] * 2 + ODD_INBOXES)
OWN_NAMES = st.one_of(st.none(), st.none(), st.none(), st.just(""), PLAIN, NAMES, st.sampled_from(["a/b", ".", ".."]))


@dataclass(frozen=True)
class Case:
    """One tree and one environment."""

    levels: list[Level]
    everywhere: object
    agent_id: str | None
    project: str | None
    exported: str | None
    home: str | None
    inbox: str | None
    working: str
    pwd: str | None
    asks_command: bool


CASES = st.builds(
    Case, LEVELS, st.one_of(st.none(), thing_or(LINES)), OWN_NAMES, STARTS, STARTS, HOMES, INBOXES,
    st.sampled_from(["@2"] * 6 + ["@0", "@1", "deleted", "@"]), st.sampled_from([None, "@2", "/", "@/by", "relative"]),
    st.sampled_from([False] * 7 + [True]),
)  # fmt: skip
PLAIN_CASE = Case([Level("a", False, None, None)], None, None, None, None, "@/home", None, "@2", None, True)


def put(path: Path, thing: object) -> None:
    if isinstance(thing, bytes):
        path.write_bytes(thing)
    elif isinstance(thing, tuple):
        target = path.with_name("target-of-" + path.name)
        target.write_bytes(thing[1])
        path.symlink_to(target.name)
    elif thing:
        make: dict[object, Callable[[], None]] = {
            "folder": path.mkdir, "fifo": lambda: os.mkfifo(path),
            "dangling": lambda: path.symlink_to("nothing"), "itself": lambda: path.symlink_to(path.name),
        }  # fmt: skip
        make[thing]()


def build(base: Path, case: Case) -> list[Path]:
    """Make the tree; return the path of each level as it is written, links and all."""
    for folder in ("home/.claude", "mail", "far/away"):
        (base / folder).mkdir(parents=True)
    for folder in ("loop", "half"):
        (base / folder).mkdir()
    (base / "loop" / ".claude").symlink_to(".claude")
    (base / "half" / ".claude").write_text("no-folder\n")
    (base / "file").touch()
    (base / "by").symlink_to("far/away")
    put(base / "home" / ".claude" / "agent-id", case.everywhere)
    paths: list[Path] = []
    for number, level in enumerate(case.levels):
        path = (paths[-1] if paths else base / "tree") / level.name
        path.parent.mkdir(exist_ok=True)
        if level.is_link:
            (base / "far" / f"real-{number}").mkdir()
            path.symlink_to(base / "far" / f"real-{number}")
        else:
            path.mkdir()
        put(path / ".git", level.git)
        put(path / ".agent-id", level.pinned)
        paths.append(path)
    return paths


def environment(base: Path, paths: list[Path], case: Case) -> dict[str, str]:
    def real(text: str) -> str:
        for number in range(3):
            text = text.replace(f"@{number}", str(paths[min(number, len(paths) - 1)]))
        return text.replace("@", str(base), 1) if text.startswith("@") else text

    chosen = {
        "CLAUDE_AGENT_ID": case.agent_id, "CLAUDE_PROJECT_DIR": case.project and real(case.project),
        "A2A_PROJECT_DIR": case.exported and real(case.exported), "HOME": case.home and real(case.home),
        "A2A_INBOX": case.inbox and real(case.inbox), "PWD": case.pwd and real(case.pwd), "working": real(case.working),
    }  # fmt: skip
    return {name: value for name, value in chosen.items() if value is not None}
