"""The `sh` guard is sure or silent: whenever it names an agent, the library and the command name the same."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from a2a_watch.light.identity import Identity, Surroundings
from a2a_watch.names import Problem
from tests.kit import ID, PYTHON, REPO, World
from tests.rights import AS_PLAIN_USER, assert_that_modes_count

SHELLS = [[path, *words] for shell, *words in (["dash"], ["bash", "--posix"]) if (path := shutil.which(shell))]
ASK = '. "$1"; printf "%s\\000%s" "$agent" "$inbox"'

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


def guard(shell: list[str], env: dict[str, str]) -> tuple[str, str]:
    """Return the agent and the inbox that the guard names in the working directory, both empty when it is silent."""
    command = [*shell, "-c", ASK, "sh", str(REPO / "hooks" / "agent.sh")]
    # There is nothing on this PATH: the guard must do with what the shell has built in.
    done = subprocess.run(command, env={**env, "PATH": "/nowhere"}, capture_output=True, check=False, timeout=10)
    assert b"not found" not in done.stderr, done.stderr
    agent, _, inbox = os.fsdecode(done.stdout).partition("\0")
    return agent, inbox


def library(env: dict[str, str]) -> tuple[str, str]:
    """Return the agent and the inbox that Python names here, each empty when it is refused with a sentence."""
    agent = inbox = ""
    with mock.patch.dict(os.environ, env, clear=True):
        here = Surroundings()
        try:
            agent = Identity(here).name()
            inbox = os.path.realpath(os.path.join(here.root(), agent))
        except Problem as problem:
            assert str(problem)
    return agent, inbox


def command(env: dict[str, str]) -> str:
    given = {**env, "PATH": os.environ["PATH"], "A2A_PYTHON": PYTHON}
    done = subprocess.run([str(ID)], env=given, capture_output=True, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) in ((0, False), (1, False)), done.stderr
    return done.stdout.decode()[:-1]


def compare(case: Case, seen: Counter[str]) -> None:
    """Build the case in a new folder and ask everybody there."""
    there = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(os.path.realpath(folder))
        env = environment(base, build(base, case), case)
        working = env.pop("working")
        try:
            os.chdir(base)
            if working == "deleted":
                (base / "gone").mkdir()
                os.chdir(base / "gone")
                (base / "gone").rmdir()
            else:
                os.chdir(working)
            agent, inbox = library(env)
            for shell in SHELLS:
                named, folder_of_it = guard(shell, env)
                seen["named" if named else "silent"] += 1
                assert bool(named) == bool(folder_of_it)
                assert named in ("", agent), (shell, env)
                assert not named or os.path.realpath(folder_of_it) == inbox, (shell, env)
            if case.asks_command:
                assert command(env) == agent, env
                seen["command"] += 1
        finally:
            os.chdir(there)


def test_whatever_the_guard_names_identity_names_too() -> None:
    """Over generated trees and environments, dash and bash name the agent and the inbox that Python names, or none."""
    seen: Counter[str] = Counter()

    @settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @example(dataclasses.replace(PLAIN_CASE, levels=[Level("a", False, None, b"na" + b"\0" * 5000 + b"me\n")]))
    @example(dataclasses.replace(PLAIN_CASE, home="@/" + "x" * 300))
    @example(dataclasses.replace(PLAIN_CASE, home="@/loop"))
    @example(dataclasses.replace(PLAIN_CASE, inbox="@/by/../mail"))
    @example(dataclasses.replace(PLAIN_CASE, working="deleted"))
    @example(dataclasses.replace(PLAIN_CASE, exported="relative", working="deleted"))
    @given(CASES)
    def holds(case: Case) -> None:
        compare(case, seen)

    holds()
    print(dict(seen))
    assert seen["named"] >= 25, seen  # a guard that is always silent holds the property too
    assert seen["silent"] and seen["command"], seen


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
def test_in_a_plain_project_the_guard_is_not_silent(
    world: World, shell: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each of the five rules there is a plain case in which the guard answers."""
    monkeypatch.chdir(world.repo("project-b"))
    env = {"HOME": str(world.home)}
    assert guard(shell, env) == ("project-b", str(world.inbox("project-b")))
    assert guard(shell, {**env, "CLAUDE_AGENT_ID": "mine"}) == ("mine", str(world.inbox("mine")))
    (world.base / "project-b" / ".agent-id").write_text("pinned\n")
    assert guard(shell, env) == ("pinned", str(world.inbox("pinned")))
    (world.base / "bare").mkdir()
    started = {**env, "A2A_PROJECT_DIR": str(world.base / "bare"), "A2A_INBOX": str(world.base / "mail")}
    assert guard(shell, started) == ("unknown", str(world.base / "mail" / "unknown"))
    (world.home / ".claude").mkdir()
    (world.home / ".claude" / "agent-id").write_text("everywhere\n")
    assert guard(shell, started) == ("everywhere", str(world.base / "mail" / "everywhere"))


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
def test_a_folder_that_may_not_be_searched_makes_the_guard_silent(
    world: World, shell: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rights hide whether a rule answers, Python decides, for it can say why."""
    assert_that_modes_count(world.base)
    closed = world.base / "closed"
    closed.mkdir()
    (world.home / ".claude").mkdir()
    monkeypatch.chdir(world.base)
    env = {"HOME": str(world.home), "A2A_INBOX": str(world.base / "mail")}
    asked = [*AS_PLAIN_USER, *shell]
    asked[0] = shutil.which(asked[0]) or asked[0]  # the guard is asked with an empty PATH
    assert guard(asked, {**env, "A2A_PROJECT_DIR": str(closed)})[0] == "unknown"
    for hiding, rule in ((closed, b"rule 2 cannot be read"), (world.home / ".claude", b"rule 4 cannot be read")):
        hiding.chmod(0)
        assert guard(asked, {**env, "A2A_PROJECT_DIR": str(closed)}) == ("", "")
        said = world.run(*AS_PLAIN_USER, ID, at=str(world.base), env={"A2A_PROJECT_DIR": str(closed)})
        assert rule in said.stderr, said
        hiding.chmod(0o700)
