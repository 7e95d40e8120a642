"""Who am I: five rules, the first that answers; odd folders, odd files, odd names."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from pathlib import Path

import pytest

from a2a_watch.names import Problem, agent_name
from tests.kit import ID, World
from tests.rights import AS_PLAIN_USER, assert_that_modes_count

BOM = b"\xef\xbb\xbf"


def who(world: World, at: str | Path = "project-b", **env: str) -> str:
    """Return what `a2a-id` answers in a folder."""
    done = world.run(ID, at=str(at), env=env)
    assert (done.returncode, done.stderr) == (0, b""), done
    assert done.stdout.endswith(b"\n")
    return done.stdout[:-1].decode()


def refused(world: World, at: str | Path = "project-b", *prefix: str, **env: str) -> str:
    """Return the one sentence with which `a2a-id` says that the rule which answers gives no name."""
    done = world.run(*prefix, ID, at=str(at), env=env)
    assert (done.returncode, done.stdout) == (1, b""), done
    sentence = done.stderr.decode()
    assert sentence.startswith("a2a-id: ") and sentence.endswith("; try: a2a-id --explain\n")
    assert sentence.count("\n") == 1
    return sentence


def bare(world: World, name: str = "bare") -> Path:
    folder = world.base / name
    folder.mkdir()
    return folder


def pin_everywhere(world: World, content: bytes) -> None:
    (world.home / ".claude").mkdir(exist_ok=True)
    (world.home / ".claude" / "agent-id").write_bytes(content)


def test_the_first_of_five_rules_that_answers_wins(world: World) -> None:
    """The variable, the pinned file, the git root's name, the global file, `unknown`: in this order."""
    folder = world.repo("project-b")
    (folder / ".agent-id").write_text("pinned\n")
    pin_everywhere(world, b"everywhere\n")
    assert who(world, CLAUDE_AGENT_ID="mine") == "mine"
    assert who(world, CLAUDE_AGENT_ID="") == "pinned"
    (folder / ".agent-id").unlink()
    assert who(world) == "project-b"
    (folder / ".git").rmdir()
    assert who(world) == "everywhere"
    (world.home / ".claude" / "agent-id").unlink()
    assert who(world) == "unknown"


def test_the_start_is_the_clients_folder_then_the_exported_one_then_the_working_one(world: World) -> None:
    """`$CLAUDE_PROJECT_DIR` wins over `$A2A_PROJECT_DIR`, which wins over the working directory."""
    hook, exported = str(world.repo("hook")), str(world.repo("exported"))
    assert who(world, "project-a", CLAUDE_PROJECT_DIR=hook, A2A_PROJECT_DIR=exported) == "hook"
    assert who(world, "project-a", CLAUDE_PROJECT_DIR="", A2A_PROJECT_DIR=exported) == "exported"
    assert who(world, "project-a", A2A_PROJECT_DIR="") == "project-a"
    assert who(world, "project-a", A2A_PROJECT_DIR="../exported") == "exported"


def test_the_nearest_git_root_upwards_counts(world: World) -> None:
    """From anywhere inside, the nearest folder that holds `.git`, a directory or a file, is the project."""
    deep = world.repo("project-b") / "src" / "deep"
    deep.mkdir(parents=True)
    assert who(world, deep) == "project-b"
    (deep.parent / ".git").write_text("gitdir: elsewhere\n")
    assert who(world, deep) == "src"
    (deep.parent / ".git").unlink()
    (deep.parent / ".git").symlink_to("nothing")
    assert who(world, deep) == "project-b"


def test_a_link_to_a_project_is_that_project(world: World) -> None:
    """A start behind a link gets the name of the folder it leads to, as the working directory would."""
    (world.base / "alias").symlink_to("project-b")
    assert who(world, A2A_PROJECT_DIR=str(world.base / "alias")) == "project-b"
    assert who(world, "alias", PWD=str(world.base / "alias")) == "project-b"


def git(folder: Path, *words: str) -> None:
    given = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    settings = ["user.name=x", "user.email=x@x", "protocol.file.allow=always", "init.defaultBranch=main"]
    options = [word for setting in settings for word in ("-c", setting)]
    subprocess.run(["git", *options, *words], cwd=folder, env=given, check=True, capture_output=True)


def test_worktrees_and_submodules_of_real_git_have_their_own_names(world: World) -> None:
    """A linked worktree and a submodule are named after their own folders, not after the repository they belong to."""
    main, library = bare(world, "main"), bare(world, "library")
    for folder in (main, library):
        git(folder, "init", "-q")
        git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", "../feature-x")
    git(main, "submodule", "add", "-q", str(library), "vendored")
    assert (world.base / "feature-x" / ".git").is_file() and (main / "vendored" / ".git").is_file()
    assert [who(world, at) for at in (main, world.base / "feature-x", main / "vendored")] == [
        "main", "feature-x", "vendored",
    ]  # fmt: skip


def test_a_folder_without_git_is_pinned_or_falls_through(world: World) -> None:
    """Outside git the start folder itself may hold `.agent-id`, those above do not count, and the rest is rule 4."""
    inner = bare(world) / "inner"
    inner.mkdir()
    assert who(world, inner) == "unknown"
    (inner.parent / ".agent-id").write_text("above\n")
    assert who(world, inner) == "unknown"
    assert who(world, inner.parent) == "above"
    (inner / ".agent-id").write_text("here\n")
    assert who(world, inner) == "here"
    git(inner.parent, "init", "-q", "--bare", "store.git")
    assert who(world, inner.parent / "store.git") == "unknown"


NAMES = {
    "CRLF": (b"name\r\nsecond\r\n", "name"),
    "a BOM": (BOM + b"name\n", "name"),
    "a BOM and CRLF": (BOM + b"name\r\n", "name"),
    "blanks around": (b" \tname \t\n", "name"),
    "no newline": (b"name", "name"),
    "blanks inside": (b"two words\n", "two words"),
    "NULs": (b"na\0me\0\n", "name"),
    "an empty file": (b"", "project-b"),
    "an empty first line": (b"\nsecond\n", "project-b"),
    "a blank first line": (b" \t\r\nsecond\n", "project-b"),
    "only a BOM": (BOM, "project-b"),
    "a leading dot": (b".dotfiles\n", ".dotfiles"),
    "an emoji": ("\N{PARTY POPPER}\n".encode(), "\N{PARTY POPPER}"),
    "two code points for one letter": ("e\u0301\n".encode(), "\u00e9"),
    "200 bytes": (b"x" * 200 + b"\n", "x" * 200),
    "a long rest": (b"name\n" + b"x" * 1_000_000, "name"),
}


@pytest.mark.parametrize(("content", "name"), NAMES.values(), ids=NAMES)
def test_a_pinned_name_is_the_first_line_without_what_editors_add(world: World, content: bytes, name: str) -> None:
    """`.agent-id` and `~/.claude/agent-id` are read alike: the first line, without blanks, BOM, CR and NUL."""
    (world.repo("project-b") / ".agent-id").write_bytes(content)
    pin_everywhere(world, content)
    assert who(world) == name
    assert who(world, bare(world)) == (name if name != "project-b" else "unknown")


INVALID = {
    "a dot": b".\n",
    "two dots": b"..\n",
    "a way out": b"../../etc\n",
    "an absolute path": b"/etc\n",
    "a control character": b"a\x1b[2Jb\n",
    "a late control character": "a\x85b\n".encode(),
    "not UTF-8": b"\xff\xfe\n",
    "201 bytes": b"x" * 201 + b"\n",
    "201 bytes of two-byte letters": "\u00e9".encode() * 101 + b"\n",
    "a line without an end": b"x" * 100_000,
}


@pytest.mark.parametrize("content", INVALID.values(), ids=INVALID)
def test_a_pinned_name_that_is_none_is_an_error_of_its_rule(world: World, content: bytes) -> None:
    """What cannot be one directory name is refused with the rule that gave it; no later rule takes over."""
    (world.repo("project-b") / ".agent-id").write_bytes(content)
    assert f"(rule 2: {world.base}/project-b/.agent-id)" in refused(world)
    pin_everywhere(world, content)
    assert f"(rule 4: {world.home}/.claude/agent-id)" in refused(world, bare(world))
    with pytest.raises(Problem):
        agent_name(content.strip().decode("utf-8", "surrogateescape"))


def test_an_invalid_variable_or_folder_name_is_an_error_of_its_rule(world: World) -> None:
    """A name from `$CLAUDE_AGENT_ID` or from the git root that cannot be a directory under the root is refused."""
    assert "(rule 1: $CLAUDE_AGENT_ID)" in refused(world, CLAUDE_AGENT_ID="../project-a")
    assert "(rule 1: $CLAUDE_AGENT_ID)" in refused(world, CLAUDE_AGENT_ID="x\ny")
    for name in (b"two\nlines", b"\xff", b"x" * 201):
        folder = world.base / os.fsdecode(name)
        (folder / ".git").mkdir(parents=True)
        assert "(rule 3: git root " in refused(world, folder)


def test_a_pinned_file_that_cannot_be_read_is_an_error_and_blocks_nobody(world: World) -> None:
    """A FIFO, a folder, a link to itself or a file without rights in that place stops the search: rule 3 would lie."""
    assert_that_modes_count(world.base)
    pinned = world.repo("project-b") / ".agent-id"
    os.mkfifo(pinned)
    assert "rule 2 cannot be read" in refused(world)
    pinned.unlink()
    pinned.mkdir()
    assert "rule 2 cannot be read" in refused(world)
    pinned.rmdir()
    pinned.symlink_to(pinned)
    assert "rule 2 cannot be read" in refused(world)
    pinned.unlink()
    pinned.write_text("pinned\n")
    pinned.chmod(0)
    assert "rule 2 cannot be read" in refused(world, "project-b", *AS_PLAIN_USER)


def test_a_name_is_one_string_for_all_its_spellings() -> None:
    """Both Unicode spellings of a name are one agent."""
    composed = "caf\u00e9"
    assert agent_name(unicodedata.normalize("NFD", composed)) == composed == agent_name(composed)


def test_a_deleted_working_directory_is_no_project(world: World) -> None:
    """With the working directory gone, only the rules that need no folder answer."""
    gone = bare(world, "gone")
    pin_everywhere(world, b"everywhere\n")
    script = 'cd "$1" && rmdir "$1" && exec "$2"'
    done = world.run("sh", "-c", script, "sh", gone, ID)
    assert (done.returncode, done.stdout) == (0, b"everywhere\n")


def test_explain_prints_every_rule_and_which_one_won(world: World) -> None:
    """`--explain` shows five lines: what each rule looked at, what it gave or why not, and an arrow at the winner."""
    (world.repo("project-b") / ".agent-id").write_text("pinned\n")
    done = world.run(ID, "--explain", at="project-b", env={"CLAUDE_AGENT_ID": ""})
    assert done.returncode == 0
    assert done.stdout.decode().splitlines() == [
        "   1  $CLAUDE_AGENT_ID: not set",
        f"-> 2  {world.base}/project-b/.agent-id: pinned",
        f"   3  git root {world.base}/project-b: project-b",
        f"   4  {world.home}/.claude/agent-id: empty or not there",
        "   5  the last resort: unknown",
    ]
    broken = world.run(ID, "--explain", at="project-b", env={"CLAUDE_AGENT_ID": "a/b"}).stdout.decode()
    assert broken.splitlines()[0].startswith(
        "-> 1  $CLAUDE_AGENT_ID: 'a/b' is not an agent's name: it contains a slash"
    )
    folder = bare(world)
    assert f"   3  no git root from {folder} upwards: none\n" in world.run(ID, "--explain", at="bare").stdout.decode()


@pytest.mark.parametrize("word", ["--exlpain", "x", "", "-"])
def test_a_wrong_word_is_misuse(world: World, word: str) -> None:
    """Anything but `--explain` and `--help` is one sentence, exit 2."""
    done = world.run(ID, word)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"a2a-id: ") and done.stderr.count(b"\n") == 1


def test_help_is_printed(world: World) -> None:
    """`--help` says what the command is for, exit 0."""
    done = world.run(ID, "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"usage: a2a-id")
