"""`a2a-send`: where the body comes from, whom it goes to, what it answers, what it says."""

from __future__ import annotations

import json
import os
import pty
import re
from pathlib import Path
from typing import Any

import pytest

from tests.kit import SEND, World

HOSTILE = """It's "quoted", `id`, $(id), $HOME, ${X:-y}, \\n \\\\ \\ and a \ttab,
a "double" 'single', !history, %s %d, ~ * ? [x], caf\u00e9 \u6f22\u5b57 \N{PARTY POPPER}, \u0001\u001b[2J

  EOF
EOF_
> quoted
{"id": "forged"}
"""
LONG = "".join(f'line {number}: it\'s "$HOME" \\{number} `id` \u00e9\n' for number in range(6500))
IDS = ["hostile", "200 KB", "one letter", "a BOM and CRLF", "a NUL", "blanks"]
SENT = r"sent: project-a -> (\S+) \(([0-9a-f-]{36})\)\n"


def waiting(world: World, agent: str = "project-b") -> list[dict[str, Any]]:
    """Return the messages that wait in an inbox, as any JSON reader has them."""
    return [json.loads((world.inbox(agent) / name).read_bytes()) for name in world.names(agent)]


def only(world: World, agent: str = "project-b") -> dict[str, Any]:
    (message,) = waiting(world, agent)
    return message


def sentence(done: Any, status: int) -> str:
    """Return the one sentence with which a command ended without success."""
    assert (done.returncode, done.stdout) == (status, b""), done
    said: str = done.stderr.decode()
    assert said.startswith("a2a-send: ") and said.count("\n") == 1, said
    assert re.search(r"; try: \S.*\n$", said), said
    return said


def test_a_message_is_six_flat_text_fields_in_a_private_file(world: World) -> None:
    """What is written: six string fields and no more, a name of time and id, modes 0600 and 0700 under any umask."""
    done = world.run("sh", "-c", 'umask 000; exec "$0" "$@"', SEND, "project-b", "--subject", "S", "B")
    matched = re.fullmatch(SENT, done.stdout.decode())
    assert matched and done.returncode == 0
    message = only(world)
    assert list(message) == ["id", "from", "to", "timestamp", "subject", "body"]
    assert {**message, "timestamp": ""} == {
        "id": matched[2], "from": "project-a", "to": matched[1], "timestamp": "", "subject": "S", "body": "B",
    }  # fmt: skip
    assert world.names() == [f"{message['timestamp']}-{message['id']}.json"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ", message["timestamp"])
    modes = {path.name: path.stat().st_mode & 0o777 for path in [world.root, *world.root.rglob("*")]}
    assert {mode for name, mode in modes.items() if name in ("inbox", "project-b")} == {0o700}
    assert {mode for name, mode in modes.items() if name not in ("inbox", "project-b")} == {0o600}, modes


@pytest.mark.parametrize("body", [HOSTILE, LONG, "x", "\ufeffBOM\r\n", "a\0b", " \n x \n\n"], ids=IDS)
@pytest.mark.parametrize("way", ["--file", "stdin", "-", "--file="])
def test_a_body_arrives_byte_for_byte(world: World, body: str, way: str) -> None:
    """From a file, from standard input with and without `-`: nothing is added, lost or interpreted."""
    path = world.base / "it's a body"
    path.write_bytes(body.encode())
    ways = {"--file": ["--file", str(path)], "stdin": [], "-": ["-"], "--file=": [f"--file={path}"]}
    words = ways[way]
    given = b"" if "file" in way else body.encode()
    assert world.run(SEND, "project-b", *words, input=given).returncode == 0
    assert only(world)["body"] == body


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_an_argument_arrives_byte_for_byte(world: World, locale: str) -> None:
    """A body and a subject on the command line arrive as they are, in a C locale too."""
    done = world.run(SEND, "project-b", HOSTILE, "--subject", "caf\u00e9 'x' $y", env={"LC_ALL": locale})
    assert done.returncode == 0, done.stderr
    assert (only(world)["body"], only(world)["subject"]) == (HOSTILE, "caf\u00e9 'x' $y")


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("body", [HOSTILE, LONG], ids=["hostile", "200 KB"])
def test_a_heredoc_arrives_byte_for_byte(world: World, body: str, shell: str) -> None:
    """The form a model uses, `a2a-send project-b <<'EOF'`, takes quotes, `$`, backslashes and 200 KB unchanged."""
    script = world.base / "script"
    script.write_text(f"\"$1\" project-b --subject 'Long one' <<'EOF'\n{body}EOF\n")
    assert len(LONG.encode()) > 200_000
    assert world.run(shell, script, SEND).returncode == 0
    assert (only(world)["body"], only(world)["subject"]) == (body, "Long one")


@pytest.mark.parametrize(
    ("words", "body", "subject"),
    [
        (["- one\n- two"], "- one\n- two", ""),
        (["--", "-x"], "-x", ""),
        (["--subject=two words", "b"], "b", "two words"),
        (["--subject", "-s", "b"], "b", "-s"),
        (["b", "--subject", ""], "b", ""),
        (["--subject is what it says"], "--subject is what it says", ""),
        (["--", "--help"], "--help", ""),
        (["--subject=S"], "from standard input\n", "S"),
        (["--subject=two words"], "from standard input\n", "two words"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_words_that_begin_with_a_dash(world: World, words: list[str], body: str, subject: str) -> None:
    """A body may begin with a dash and an option's value may hold blanks; `--` ends the options."""
    done = world.run(SEND, "project-b", *words, input=b"from standard input\n")
    assert done.returncode == 0, done.stderr
    assert (only(world)["body"], only(world)["subject"]) == (body, subject)


@pytest.mark.parametrize("given", [b"", b" \n\t\n"])
@pytest.mark.parametrize("words", [[], ["-"], ["--file", "/dev/null"], ["--subject", "S"], [""], ["  "]])
def test_nothing_to_send_is_misuse(world: World, words: list[str], given: bytes) -> None:
    """An empty or blank body is a sentence, exit 2, and not even a folder is made."""
    assert "nothing to send" in sentence(world.run(SEND, "project-b", *words, input=given), 2)
    assert "nothing to send" in sentence(world.run("sh", "-c", '"$0" "$@" <&-', SEND, "project-b", *words), 2)
    assert not world.root.exists()


def test_a_terminal_without_a_body_is_misuse(world: World) -> None:
    """At a terminal `a2a-send project-b` does not wait for lines that nobody knows to type."""
    ours, theirs = pty.openpty()
    try:
        done = world.run(SEND, "project-b", input=None, stdin=theirs, timeout=20)
    finally:
        os.close(ours)
        os.close(theirs)
    assert "nothing to send" in sentence(done, 2)
    assert not world.root.exists()


@pytest.mark.parametrize(
    "words",
    [
        [], [""], [","], ["project-b,", "x"], ["project-b,,c", "x"], ["../x", "x"], ["project-b,../x", "x"],
        ["a/b", "x"], [".", "x"], ["..", "x"], ["x" * 201, "x"], ["x\ny", "x"], ["\udcff", "x"], ["--subject"],
        ["project-b", "--file"], ["project-b", "--nonsense", "x"], ["project-b", "-x"], ["project-b", "two", "bodies"],
        ["--reply"], ["project-b", "x", "--file", "/dev/null"], ["--json"],
    ],
)  # fmt: skip
def test_a_wrong_command_line_sends_nothing(world: World, words: list[Any]) -> None:
    """Wrong options and names that are none: one sentence, exit 2, nothing written for anybody."""
    sentence(world.run(SEND, *words, input=b"a body\n"), 2)
    assert not world.root.exists()


def test_help_says_how(world: World) -> None:
    """`--help` shows the forms, exit 0, and sends nothing."""
    done = world.run(SEND, "project-b", "--help", "x")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"usage: a2a-send TO") and b"<<'EOF'" in done.stdout
    assert not world.root.exists()


def test_several_recipients_get_a_message_and_a_line_each(world: World) -> None:
    """Recipients with commas each get their own message under its own id, once, in the order given."""
    done = world.run(SEND, "project-b,c d,\N{PARTY POPPER},project-b", "for all", "--subject", "S")
    lines = done.stdout.decode().splitlines()
    assert [line.rpartition(" (")[0] for line in lines] == [
        f"sent: project-a -> {agent}" for agent in ("project-b", "c d", "\N{PARTY POPPER}")
    ]
    sent = [only(world, agent) for agent in ("project-b", "c d", "\N{PARTY POPPER}")]
    assert [message["to"] for message in sent] == ["project-b", "c d", "\N{PARTY POPPER}"]
    assert {(message["subject"], message["body"]) for message in sent} == {("S", "for all")}
    assert [f"({message['id']})" for message in sent] == [line.split()[-1] for line in lines]


def test_blanks_around_a_name_belong_to_it(world: World) -> None:
    """A folder may be named so; around the names of a list they do not count."""
    assert world.run(SEND, "  blanks  ", "x").returncode == 0
    assert world.run(SEND, " listed ,project-b", "x").returncode == 0
    assert {"  blanks  ", "listed", "project-b"} <= {path.name for path in world.root.iterdir()}
    assert len(world.names("  blanks  ")) == len(world.names("listed")) == 1


def test_an_inbox_whose_name_holds_a_comma_is_meant_when_it_is_there(world: World) -> None:
    """`a2a-send a,b` goes to the inbox `a,b` when there is one."""
    (world.root / "a,b").mkdir(parents=True)
    assert world.run(SEND, "a,b", "x").returncode == 0
    assert (len(world.names("a,b")), (world.root / "a").exists()) == (1, False)


def test_json_prints_what_was_written(world: World) -> None:
    """`--json` prints, one line a recipient, exactly the bytes of the file."""
    done = world.run(SEND, "project-b,c", "--json", HOSTILE)
    files = [next(world.inbox(agent).glob("*.json")) for agent in ("project-b", "c")]
    assert done.stdout == b"".join(path.read_bytes() for path in files)
    assert done.stdout.count(b"\n") == 2


def test_the_first_mail_for_a_name_names_the_nearest(world: World) -> None:
    """A name without an inbox is said on standard error, with the nearest existing ones; a known name is not."""
    (world.root / "project-b").mkdir(parents=True)
    (world.root / "payments").mkdir()
    (world.root / "project-\x1b[2Jx").mkdir()
    (world.root / "projekt-notes.txt").touch()
    assert world.run(SEND, "project-b", "x").stderr == b""
    said = world.run(SEND, "projekt-b", "x").stderr.decode()
    assert re.fullmatch(
        r"a2a-send: this is the first mail for projekt-b; did you mean project-b[^\n]*\? to take it back: rm [^\n]+\n",
        said,
    ), said
    assert "\x1b" not in said and ".txt" not in said
    assert world.run(SEND, "projekt-b", "x").stderr == b""
    assert world.run(SEND, "zzz", "x").stderr == b"a2a-send: this is the first mail for zzz\n"
    assert world.run(SEND, ".dotfiles", "x").stderr.startswith(b"a2a-send: this is the first mail for .dotfiles")
    assert world.run(SEND, ".dotfiles", "x").stderr == b""


def test_the_first_delivery_explains_the_root(world: World) -> None:
    """The root says who owns it; a text that is there already stays."""
    world.send("project-b", "x")
    assert "a2a-watch" in (world.root / "README").read_text()
    (world.root / "README").write_text("mine")
    world.send("c", "x")
    assert (world.root / "README").read_text() == "mine"


def test_a_closed_standard_output_does_not_unsend(world: World) -> None:
    """When nobody reads what it says, the message is sent all the same, exit 0."""
    done = world.run("sh", "-c", '"$0" "$@" >&- 2>&-', SEND, "project-b", "x")
    assert done.returncode == 0
    assert only(world)["body"] == "x"
    assert not [path for path in Path(world.inbox()).iterdir() if path.name.endswith(".tmp")]
