"""`hooks/statusline`: what the status line of a session says of its mail, before what the person's own says."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tests.kit import REPO, SEND, World
from tests.real_settings import TYPICAL, Household
from tests.test_no_python import Bare

STATUS = REPO / "hooks" / "statusline"
SHELLS = [[path, *words] for shell, *words in (["dash"], ["bash", "--posix"]) if (path := shutil.which(shell))]


def line(
    world: World, *own: str, at: str = "project-b", text: bytes = b"{}", prefix: tuple[str, ...] = (), **env: str
) -> str:
    """Run it as the client does; return what the status line shows."""
    given = {"CLAUDE_PROJECT_DIR": str(world.base / at), "CLAUDE_CODE_SESSION_ID": "5e55", **env}
    done = world.run(*prefix, STATUS, *own, at=at, env=given, input=text, timeout=30)
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout.decode()


def letter(sender: str, subject: str = "") -> bytes:
    return json.dumps({"from": sender, "to": "project-b", "subject": subject, "body": "x"}).encode()


def send(world: World, *senders: str) -> None:
    for sender in senders:
        assert world.run(SEND, "project-b", "secret body", env={"CLAUDE_AGENT_ID": sender}).returncode == 0


@pytest.mark.parametrize("shell", SHELLS, ids=lambda words: os.path.basename(words[0]))
def test_how_many_and_from_whom(world: World, shell: list[str]) -> None:
    """It says nothing without mail, then the count and the senders, the newest first, three at most; then nothing."""
    assert line(world, prefix=tuple(shell)) == ""
    for sender, expected in [
        ("project-a", "✉ 1 project-a"),
        ("caf\u00e9", "✉ 2 caf\u00e9, project-a"),
        ("project-a", "✉ 3 project-a, caf\u00e9"),
        ("third", "✉ 4 third, project-a, caf\u00e9"),
        ("fourth one", "✉ 5 fourth one, third, project-a, …"),
    ]:
        send(world, sender)
        assert line(world, prefix=tuple(shell)) == expected + "\n"
    assert len(world.names()) == 5, "it reads and moves nothing"
    world.hook()
    assert line(world, prefix=tuple(shell)) == ""


@pytest.mark.parametrize("shell", SHELLS, ids=lambda words: os.path.basename(words[0]))
@pytest.mark.parametrize("sender", [
    'say "hi"', "back\\slash", '\\", "', "end\\", "a', b", "$HOME `id` $(id)", "*", "%s%n", "-n", "~", "[", "é, ü",
    '", "from": ["x"], "subject": "', "\N{PARTY POPPER}",
])  # fmt: skip
def test_a_sender_is_shown_as_it_is(world: World, shell: list[str], sender: str) -> None:
    """Whatever a foreign tool wrote as its name, no part of it is run, expanded or taken for something else."""
    world.put("project-b", "1.json", letter(sender, 'a", "from": ["b'))
    world.put("project-b", "0.json", letter("project-a"))
    assert world.run(REPO / "bin" / "a2a-send", "project-b", "x", env={"CLAUDE_AGENT_ID": "third"}).returncode == 0
    assert line(world, prefix=tuple(shell)) == f"✉ 3 third, {sender}, project-a\n"


def test_escape_sequences_reach_no_terminal(world: World) -> None:
    """A name that would steer the terminal is shown without that, and so is a marker that some other tool wrote."""
    world.put("project-b", "1.json", letter("\x1b[31mred\x07\u202e\u009b"))
    send(world, "project-a")
    said = line(world)
    assert said.startswith("✉ 2 project-a, ") and said.rstrip("\n").isprintable()
    raw = b'{"agent": "project-b", "count": 2, "newest": "x", "from": ["\x1b[31mred"], "subject": "", "updated": "x"}\n'
    (world.inbox() / ".pending").write_bytes(raw)
    assert line(world) == "✉ 2\n"


@pytest.mark.parametrize(
    "marker", [None, b"", b"{", b'{"from": ["gone"]}\n', b'{"count": 7}', b"\xff\xfe\n", b"x" * 70_000]
)
def test_the_directory_counts(world: World, marker: bytes | None) -> None:
    """The number is that of the messages there, whatever the marker says or does not; then nobody is named."""
    world.put("project-b", "1.json", letter("project-a"))
    (world.inbox() / "folder.json").mkdir()
    (world.inbox() / "link.json").symlink_to("1.json")
    (world.inbox() / ".hidden.json").write_bytes(b"{}")
    if marker is not None:
        (world.inbox() / ".pending").write_bytes(marker)
    assert line(world) == "✉ 1\n"


def test_a_marker_that_was_left_says_nothing(world: World) -> None:
    """Without mail there is no line, though a marker stands there."""
    send(world, "project-a")
    (message,) = world.names()
    (world.inbox() / message).unlink()
    assert world.marker() and line(world) == ""


@pytest.mark.parametrize("mail", [True, False])
def test_with_the_persons_own(world: World, mail: bool) -> None:
    """Their command has the same input, folder, locale and status as without ours; its lines come below ours."""
    if mail:
        send(world, "project-a")
    (world.base / "project-b" / "sub").mkdir()
    event = {"session_id": "5e55", "model": {"display_name": "Opus é"}, "cwd": "/"}
    own = 'cat; printf "\\n%s|%s|%s|%s\\n" "$PWD" "$LC_ALL" "$1" "$#"; cat /proc/self/fd/2 2>/dev/null'
    given = {"at": "project-b/sub", "text": json.dumps(event).encode(), "LC_ALL": "C.UTF-8",
             "CLAUDE_PROJECT_DIR": str(world.base / "project-b")}  # fmt: skip
    said = line(world, "sh", "-c", own, "own name", "a  b", **given)  # type: ignore[arg-type]
    theirs = f"{json.dumps(event)}\n{world.base}/project-b/sub|C.UTF-8|a  b|1\n"
    assert said == ("✉ 1 project-a\n" if mail else "") + theirs
    done = world.run(STATUS, "sh", "-c", "echo broken >&2; exit 3", at="project-b")
    assert (done.returncode, done.stderr) == (3, b"broken\n")


def test_it_may_be_called_by_any_path(world: World) -> None:
    """By a link, by a relative path and through PATH it finds what it needs."""
    send(world, "project-a")
    links = world.base / "links"
    links.mkdir()
    (links / "mail-line").symlink_to(STATUS)
    relative = os.path.relpath(STATUS, world.base / "project-b")
    for words in ([links / "mail-line"], [relative], ["/bin/sh", STATUS]):
        assert world.run(*words, at="project-b").stdout.decode() == "✉ 1 project-a\n"


@pytest.mark.parametrize("at", ["x y\N{PARTY POPPER}", "caf\u00e9", "  blanks  "])
def test_an_odd_folder(world: World, at: str) -> None:
    """Where the shell is not sure of the agent's name Python is asked."""
    world.repo(at)
    assert world.run(SEND, at, "x").returncode == 0
    assert line(world, at=at) == "✉ 1 project-a\n"


def test_no_python(world: World) -> None:
    """Without any Python an odd folder's mail is not shown, an ordinary one's is, and the person's own runs."""
    bare = Bare(world)
    world.repo("caf\u00e9")
    send(world, "project-a")
    assert world.run(SEND, "caf\u00e9", "x").returncode == 0
    program, env = bare.hook.with_name("statusline"), {"PATH": str(bare.bin), "A2A_PYTHON": ""}
    for at, expected in (("caf\u00e9", ""), ("project-b", "✉ 1 project-a\n")):
        done = world.run(program, "/bin/echo", "own", at=at, env=env)
        assert (done.returncode, done.stdout.decode(), done.stderr) == (0, expected + "own\n", b"")


def test_no_home(world: World) -> None:
    """Without a HOME, or with a folder that went away, it is silent and the person's own still runs."""
    assert line(world, "echo", "own", HOME="") == "own\n"
    assert line(world, "echo", "own", CLAUDE_PROJECT_DIR="/no/such/folder") == "own\n"


OWN: dict[str, object] = {
    "none": None,
    "a command": {"type": "command", "command": "~/bin/my-line --model 'x y'"},
    "with more keys": {"type": "command", "command": "my-line", "padding": 0, "refreshInterval": 1},
    "no command in it": {"type": "command"},
}


@pytest.mark.parametrize("own", OWN.values(), ids=list(OWN))
def test_setup_shows_how(world: World, own: object) -> None:
    """`setup --statusline` prints what to put in, changes nothing, and what it prints shows mail and their own."""
    house = Household(world)
    settings = json.loads(TYPICAL)
    settings.pop("statusLine", None)
    house.put(json.dumps({**settings, "statusLine": own} if own else settings, indent=2))
    before = house.settings.read_bytes()
    said = house.done("setup", "--statusline")
    assert house.settings.read_bytes() == before and str(house.settings) in said
    entry = json.loads("{" + said[said.index('  "statusLine"') : said.rindex("}") + 1] + "}")["statusLine"]
    kept = {key: value for key, value in (own or {}).items() if key != "command"}  # type: ignore[attr-defined]
    assert {**entry, **kept} == entry and entry.keys() <= {"type", "command", "refreshInterval", "padding"}
    send(world, "project-a")
    (house.bin / "my-line").write_text("#!/bin/sh\necho own $#\n")
    (house.bin / "my-line").chmod(0o755)
    (world.home / "bin").mkdir()
    (world.home / "bin" / "my-line").symlink_to(house.bin / "my-line")
    shown = house.run("sh", "-c", entry["command"], at="project-b").stdout.decode()
    theirs = {"a command": "own 2\n", "with more keys": "own 0\n"}
    assert shown == "✉ 1 project-a\n" + next((text for name, text in theirs.items() if OWN[name] is own), "")
    house.put(json.dumps({**settings, "statusLine": entry}))
    assert house.done("setup", "--statusline") == "Your status line shows mail.\n"
    house.done("setup", "--yes")
    left = f"Your status line still shows mail; before the program goes, take it out of {house.settings}\n"
    assert left in house.done("uninstall", "--yes")
    assert house.data()["statusLine"] == entry, "it is the person's, who put it there"


def test_setup_refuses_settings_that_it_cannot_read(world: World) -> None:
    """Settings that are no JSON are named in one sentence; without any there is nothing to keep."""
    house = Household(world)
    assert '"statusLine"' in house.done("setup", "--statusline")
    assert not house.settings.exists()
    house.put("{ // mine\n}")
    assert str(house.settings) in house.refused("setup", "--statusline")
