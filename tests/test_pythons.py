"""Any python3 will do: the hook, a2a-send and a2a-id from a checkout, from a copy, from a read-only copy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import REPO, Drained, Shown, World, parse, said
from tests.pythons import interpreters
from tests.rights import AS_PLAIN_USER, tree

ALL = [pytest.param(path, id="%d.%d" % version) for path, version in interpreters().items()]

TOO_OLD = sorted(map(str, Path(os.path.realpath(sys.base_prefix)).parent.glob("3.[678].*/bin/python3")))


def copy_to(folder: Path) -> Path:
    """Copy what the light programs consist of, as somebody does who installs nothing."""
    for name in ("a2a_watch", "hooks", "bin"):
        shutil.copytree(REPO / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def start(world: World, product: Path, *prefix: str, at: str = "project-b", **env: str) -> Drained:
    """Start a session whose hook lies in `product`."""
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1"}
    given = {"CLAUDE_PROJECT_DIR": str(world.base / at), "CLAUDE_CODE_SESSION_ID": "s1", **env}
    drain = product / "hooks" / "drain-inbox"
    return said(world.run(*prefix, drain, "--receipts", at=at, input=json.dumps(event).encode(), env=given, timeout=30))


def do_the_main_job(world: World, product: Path, *prefix: str, **env: str) -> None:
    """Send a note with hostile text and start a session, with the programs in `product`."""
    who = world.run(*prefix, product / "bin" / "a2a-id", env=env)
    assert (who.returncode, who.stdout, who.stderr) == (0, b"project-a\n", b"")
    body = 'it\'s \u00e9 \N{PARTY POPPER} \\ "x" \x1b[2J'
    sent = world.run(*prefix, product / "bin" / "a2a-send", "project-b", "-", input=body.encode(), env=env)
    assert (sent.returncode, sent.stderr.count(b"Traceback")) == (0, 0), sent
    drained = start(world, product, *prefix, **env)
    (message,) = parse(drained.text)
    shown = body.replace("\x1b", "\\x1b")
    assert message == Shown("project-a", message.at, "(none)", "", shown, ""), drained
    assert (drained.status, drained.error) == (0, "")
    assert "1 note: project-a" in drained.person
    assert start(world, product, *prefix, **env).raw == b""


@pytest.mark.parametrize("python", ALL)
def test_a_checkout_works_under_every_python(world: World, python: str) -> None:
    """From the repository as it is, with nothing installed."""
    do_the_main_job(world, REPO, A2A_PYTHON=python)


@pytest.mark.parametrize("python", ALL)
def test_a_copied_folder_works_under_every_python(world: World, python: str) -> None:
    """From a folder with blanks and quotes in its name that holds a2a_watch, hooks and bin."""
    do_the_main_job(world, copy_to(world.base / "it's a copy"), A2A_PYTHON=python)


@pytest.mark.parametrize("python", ALL)
def test_a_read_only_copy_works_and_stays_as_it_is(world: World, python: str) -> None:
    """From a folder in which no byte code can be written: nothing is said about it, nothing is left in it."""
    product = copy_to(world.base / "copy")
    for folder in (product, *product.rglob("*")):
        if folder.is_dir():
            folder.chmod(0o555)
    before = tree(product)
    try:
        do_the_main_job(world, product, *AS_PLAIN_USER, A2A_PYTHON=python)
        assert tree(product) == before
    finally:
        for folder in (product, *product.rglob("*")):
            if folder.is_dir():
                folder.chmod(0o755)


def test_programs_work_through_links_and_from_their_own_folder(world: World) -> None:
    """A link on the PATH, a relative one, a start in the program's folder, `sh drain-inbox`: all find the package."""
    copy_to(world.base / "copy")
    links = world.base / "links"
    links.mkdir()
    for name in ("bin/a2a-id", "bin/a2a-send", "hooks/drain-inbox"):
        (links / Path(name).name).symlink_to(Path("..") / "copy" / name)
    path = f"{links}:{os.environ['PATH']}"
    assert world.run("sh", "-c", "a2a-send project-b x && a2a-id", env={"PATH": path}).stdout.endswith(b"\nproject-a\n")
    assert world.run("sh", "-c", "drain-inbox", at="project-b", env={"PATH": path}).stdout != b""
    for command in (["./a2a-id"], ["sh", "a2a-id"], ["bash", "a2a-id"]):
        done = world.run(*command, at="copy/bin", env={"A2A_PROJECT_DIR": str(world.base / "project-a")})
        assert done.stdout == b"project-a\n", done
    for command in (["./drain-inbox"], ["sh", "drain-inbox"], ["bash", "drain-inbox"]):
        world.send("project-b", "found from here")
        done = world.run(*command, at="copy/hooks", env={"A2A_PROJECT_DIR": str(world.base / "project-b")})
        assert done.returncode == 0, done
        assert b"> found from here" in done.stdout, done


def fake_python(folder: Path, body: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("body", ["exit 127", "exit 126", "exit 9"], ids=["missing", "broken", "too old"])
def test_a_python3_that_does_not_run_here_is_passed_over(world: World, body: str) -> None:
    """A version manager's python3 without a version, or one older than 3.9, is not the last word."""
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no python3 in /usr/bin")
    fake_python(world.base / "fake", body)
    world.send("project-b", "x")
    drained = start(world, REPO, A2A_PYTHON="", PATH=f"{world.base}/fake:/usr/bin:/bin")
    assert [message.body for message in parse(drained.text)] == ["x"]


@pytest.mark.skipif(not TOO_OLD, reason="no Python older than 3.9 here")
def test_a_real_python_that_is_too_old_is_passed_over(world: World) -> None:
    """Python 3.6 to 3.8 are noticed before anything of the package is read."""
    for python in TOO_OLD:
        world.send("project-b", python)
        drained = start(world, REPO, A2A_PYTHON=python)
        assert [message.body for message in parse(drained.text)] == [python]
        assert (drained.status, drained.error) == (0, "")


def test_without_any_python3_the_person_is_told_and_the_mail_waits(world: World) -> None:
    """The hook exits 0 with one line for the person; nothing moves."""
    world.send("project-b", "x")
    product = copy_to(world.base / "copy")
    script = product / "hooks" / "python.sh"
    script.write_text(script.read_text().replace(" /usr/bin/python3;", ";"))
    drained = start(world, product, A2A_PYTHON="", PATH=str(world.base / "nowhere"))
    assert (drained.status, drained.text) == (0, "")
    assert "no python3 (3.9 or newer)" in drained.person and "project-b" in drained.person
    by_hand = subprocess.run(
        [str(product / "hooks" / "drain-inbox")], cwd=world.base / "project-b", capture_output=True, check=False,
        env={"HOME": str(world.home), "PATH": "/nowhere"}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (by_hand.returncode, by_hand.stdout) == (0, b"")
    assert b"no python3 (3.9 or newer)" in by_hand.stderr
    assert len(world.names()) == 1
