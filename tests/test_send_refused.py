"""A send that cannot be done: one sentence, exit 1, and nothing is different afterwards."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit import SEND, World
from tests.rights import AS_PLAIN_USER, assert_that_modes_count, tree
from tests.test_send import only, sentence

MAX_BYTES = 1 << 20
NOTHING_SENT = "nothing was sent"


def send_in_vain(world: World, *words: str, input: bytes = b"", env: dict[str, str] | None = None) -> str:
    """Send as a user for whom modes count; return the sentence when nothing has changed anywhere."""
    before = tree(world.base)
    done = world.run(*AS_PLAIN_USER, SEND, *words, input=input, env=env or {})
    assert tree(world.base) == before
    return sentence(done, 1)


def link_out(world: World) -> None:
    (world.base / "outside").mkdir()
    world.inbox().symlink_to(world.base / "outside")


def closed(folder: Callable[[World], Path], mode: int) -> Callable[[World], None]:
    def close(world: World) -> None:
        folder(world).mkdir(parents=True, exist_ok=True)
        folder(world).chmod(mode)

    return close


def instead(of: Callable[[World], Path], make: Callable[[Path], None]) -> Callable[[World], None]:
    def put(world: World) -> None:
        if of(world).exists():
            shutil.rmtree(of(world))
        make(of(world))

    return put


def above(world: World) -> Path:
    return world.home / ".claude"


def root(world: World) -> Path:
    return world.root


def inbox(world: World) -> Path:
    return world.inbox()


PLACES: dict[str, tuple[Callable[[World], None], str]] = {
    "a root that is a file": (instead(root, Path.touch), "not a folder"),
    "a root that is a dangling link": (instead(root, lambda path: path.symlink_to("x")), "not a folder"),
    "a file above the root": (instead(above, Path.touch), "Not a directory"),
    "a dangling link above the root": (instead(above, lambda path: path.symlink_to("x")), "directory"),
    "a recipient that is a link out of the root": (link_out, "is a link out of the inbox root"),
    "a recipient that is a link to the root's parent": (
        instead(inbox, lambda path: path.symlink_to("..")),
        "a link out",
    ),
    "a recipient that is a dangling link": (instead(inbox, lambda path: path.symlink_to("x")), "not a folder"),
    "a recipient that is a link to itself": (instead(inbox, lambda path: path.symlink_to(path)), "not a folder"),
    "a recipient that is a file": (instead(inbox, Path.touch), "not a folder"),
    "a root that may not be written": (closed(root, 0o555), NOTHING_SENT),
    "a root that may not be listed": (closed(root, 0o333), "Permission denied"),
    "a root that may not be searched": (closed(root, 0o600), "Permission denied"),
    "a root that may not be made": (instead(root, lambda path: path.parent.chmod(0o555)), NOTHING_SENT),
    "an inbox that may not be written": (closed(inbox, 0o555), NOTHING_SENT),
}


@pytest.mark.parametrize("words", [["project-b"], ["c,project-b"]], ids=["alone", "as the second"])
@pytest.mark.parametrize(("make", "why"), PLACES.values(), ids=PLACES)
def test_a_place_that_takes_no_mail_is_one_sentence(
    world: World, make: Callable[[World], object], why: str, words: list[str]
) -> None:
    """Whatever stands in the way is named, and nobody gets anything: not the others, and no folder, file or rename."""
    assert_that_modes_count(world.base)
    world.root.mkdir(parents=True)
    make(world)
    try:
        assert why in send_in_vain(world, *words, "x")
    finally:
        for path in (world.home / ".claude", world.root, world.inbox()):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)


def test_a_link_to_a_folder_elsewhere_may_be_the_root_and_an_alias_an_inbox(world: World) -> None:
    """The root itself may be a link, and an inbox may be a link to another inbox under the same root."""
    (world.base / "mail" / "project-b").mkdir(parents=True)
    (world.base / "mail" / "alias").symlink_to("project-b")
    world.root.parent.mkdir(parents=True)
    world.root.symlink_to(world.base / "mail")
    assert world.run(SEND, "alias", "x").returncode == 0
    assert only(world)["to"] == "alias"


@pytest.mark.parametrize(
    ("words", "given", "why"),
    [
        (["project-b", "-"], b"fine until \xff here", "not UTF-8 at byte 11"),
        (["project-b", "\udcff"], b"", "not UTF-8 at byte 0"),
        (["project-b", "x", "--subject", "\udcff"], b"", "subject is not UTF-8"),
        (["project-b", "--file", "/nowhere/x"], b"", "No such file"),
        (["project-b", "--file", "."], b"", "directory"),
        (["project-b,c", "--file", ""], b"", "No such file"),
    ],
    ids=["bytes on standard input", "bytes as an argument", "a subject", "no file", "a folder", "an empty file name"],
)
def test_a_body_that_is_no_text_is_one_sentence(world: World, words: list[str], given: bytes, why: str) -> None:
    """What is not UTF-8, or a file that cannot be read, is refused before anything is made."""
    assert why in send_in_vain(world, *words, input=given)


def test_an_identity_or_a_root_that_is_none_is_one_sentence(world: World) -> None:
    """Without a valid name for the sender or an absolute root nothing is sent."""
    assert "rule 1" in send_in_vain(world, "project-b", "x", env={"CLAUDE_AGENT_ID": "a/b"})
    assert "A2A_INBOX is 'mail'" in send_in_vain(world, "project-b", "x", env={"A2A_INBOX": "mail"})


def test_one_mebibyte_is_the_bound_of_a_message(world: World) -> None:
    """A message of exactly 1 MiB on the disk is sent; one byte more is refused, from wherever the body comes."""
    world.send("project-b", "x")
    spare = MAX_BYTES - next(world.inbox().glob("*.json")).stat().st_size + 1
    assert world.run(SEND, "project-b", input=b"y" * spare).returncode == 0
    assert sorted(path.stat().st_size for path in world.inbox().glob("*.json"))[1] == MAX_BYTES
    # A message is what is written: here every character takes six bytes.
    for body in (b"y" * (spare + 1), b"\x01" * (MAX_BYTES // 6), b"y" * 5_000_000, "\u00e9".encode() * MAX_BYTES):
        (world.base / "body").write_bytes(body)
        for words, given in (([], body), (["--file", str(world.base / "body")], b"")):
            said = send_in_vain(world, "project-b,c", *words, input=given)
            assert f"{MAX_BYTES} are allowed" in said and "UTF-8" not in said


@pytest.mark.parametrize("recipients", ["project-b", "project-b,c", "new,project-b"])
def test_a_disk_that_takes_only_half_a_message_is_one_sentence(world: World, recipients: str) -> None:
    """When the disk refuses in the middle of a message, no part of it and of the other ones stays."""
    world.inbox().mkdir(parents=True)

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    before = tree(world.base)
    done = world.run(SEND, recipients, input=b"x" * 20_000, preexec_fn=bound)
    assert tree(world.base) == before
    assert NOTHING_SENT in sentence(done, 1)


# Runs in a mount namespace of its own, where the inbox root is a disk that takes no more than the test says.
ON_A_DISK = """
set -e
mount -t tmpfs -o size=64k,mode=700 none "$A2A_INBOX"
mkdir -m 700 "$A2A_INBOX/project-b"
eval "$1"
shift
(cd "$A2A_INBOX" && find . ! -name filler -printf '%p %m %s %l\\n' | sort) >"$BEFORE"
status=0
"$@" || status=$?
(cd "$A2A_INBOX" && find . ! -name filler -printf '%p %m %s %l\\n' | sort) >"$AFTER"
exit $status
"""
FILL = 'cat /dev/zero >"$A2A_INBOX/filler" 2>/dev/null || :'
ROOM_FOR_ONE_PAGE = FILL + '; truncate -s -4096 "$A2A_INBOX/filler"'
READ_ONLY = 'mount -o remount,ro "$A2A_INBOX"'


def send_on_a_disk(world: World, prepare: str, *words: str) -> tuple[subprocess.CompletedProcess[bytes], str, str]:
    """Send into a root on a small disk of its own; return what was said, and the tree before and after."""
    can = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0
    if not can:
        pytest.skip("only root, and not in every container, may mount")
    (world.base / "mail").mkdir()
    places = {"BEFORE": str(world.base / "before"), "AFTER": str(world.base / "after")}
    env = {**places, "A2A_INBOX": str(world.base / "mail")}
    done = world.run("unshare", "--mount", "sh", "-c", ON_A_DISK, "sh", prepare, SEND, *words, env=env)
    return done, (world.base / "before").read_text(), (world.base / "after").read_text()


@pytest.mark.parametrize("recipients", ["project-b", "new", "project-b,new"])
@pytest.mark.parametrize(("prepare", "why"), [(FILL, "No space left"), (READ_ONLY, "Read-only")], ids=["full", "ro"])
def test_a_full_or_read_only_disk_is_one_sentence(world: World, prepare: str, why: str, recipients: str) -> None:
    """On a disk that takes nothing the message is refused whole, and nothing stays behind."""
    done, before, after = send_on_a_disk(world, prepare, recipients, "x" * 3000)
    said = sentence(done, 1)
    assert why in said and NOTHING_SENT in said
    assert before == after


def test_a_disk_with_room_for_one_of_two_messages_sends_none(world: World) -> None:
    """All or none: the first of two messages is taken back when there is no room for the second."""
    done, before, after = send_on_a_disk(world, ROOM_FOR_ONE_PAGE, "project-b,new", "x" * 3000)
    assert NOTHING_SENT in sentence(done, 1)
    assert before == after


def test_a_disk_with_room_for_the_message_alone_has_sent_it(world: World) -> None:
    """No room for the marker or the README is no failure: the message is there, and it is said so."""
    done, before, after = send_on_a_disk(world, ROOM_FOR_ONE_PAGE, "project-b", "--json", "x" * 3000)
    assert (done.returncode, done.stderr) == (0, b"")
    message = json.loads(done.stdout)
    left = {line.split()[0] for line in after.splitlines()} - {line.split()[0] for line in before.splitlines()}
    left -= {"./project-b/.lock"}
    assert left == {f"./project-b/{message['timestamp']}-{message['id']}.json"}


def test_a_marker_that_cannot_be_written_is_no_failure(world: World) -> None:
    """When the lock or the marker belongs to somebody else, the message is sent all the same."""
    world.inbox().mkdir(parents=True)
    (world.inbox() / ".lock").touch()
    (world.inbox() / ".lock").chmod(0)
    done = world.run(*AS_PLAIN_USER, SEND, "project-b", "x")
    assert (done.returncode, done.stderr) == (0, b"")
    assert only(world)["body"] == "x"


def inject(world: World, what: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Send with one system call made to fail, as strace does it."""
    return world.run("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={what}", SEND, *words)


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is missing: .ci/run installs it")
def test_a_message_that_was_published_is_never_called_unsent(world: World) -> None:
    """A temporary file that cannot be removed afterwards is no failure; a folder that cannot be synced is one."""
    world.inbox().mkdir(parents=True)
    done = inject(world, "unlink:error=EIO:when=1", "project-b", "x")
    assert (done.returncode, done.stdout[:5]) == (0, b"sent:")
    done = inject(world, "fsync:error=EIO:when=2", "project-b", "y")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"it is there, but may not survive a power cut" in done.stderr
    assert len(world.names()) == 2


def test_a_sandbox_that_keeps_the_inbox_closed_is_told_apart_from_a_full_disk(world: World) -> None:
    """Where the file system is read-only, as in a session's sandbox, the sentence says what opens the inbox."""
    sandbox = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev")
    try:
        usable = subprocess.run([*sandbox, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        usable = False
    if not usable:
        pytest.skip("no bubblewrap that works here; try: apt install bubblewrap")
    done = world.run(*sandbox, SEND, "project-b", "body")
    said = done.stderr.decode()
    assert done.returncode == 1 and "Read-only file system; nothing was sent" in said
    assert said.endswith("try: a2a-watch setup, then a new session: a sandbox opens the inbox only when it starts\n")
