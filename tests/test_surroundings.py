"""Surroundings: whatever home, locale, mask or folder the hook finds, it ends with 0 and loses no mail."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tests.hostile import GOOD, GOOD_NAME, another_user, put_good, start
from tests.kit import HOOK, ID, PYTHON, SEND, World, parse, said
from tests.test_streams import START, client, hook


def test_without_a_home_a_root_that_is_named_is_enough(world: World) -> None:
    """HOME unset: the mail of a root given by A2A_INBOX is shown."""
    put_good(world)
    env = {**client(world), "A2A_INBOX": str(world.root)}
    done = world.run("env", "-u", "HOME", HOOK, "--receipts", at="project-b", env=env, input=START)
    assert (done.returncode, done.stderr) == (0, b"")
    assert parse(said(done).text) == [GOOD]


@pytest.mark.skipif(os.getuid() != 0, reason="without HOME this user's real home is found")
def test_without_any_home_the_person_is_told() -> None:
    """HOME unset and no home known of this user: one sentence for the person, exit 0."""
    with another_user() as world:
        put_good(world)
        done = world.run("env", "-u", "HOME", HOOK, "--receipts", at="project-b", env=client(world), input=START)
        told = said(done)
        assert (told.status, told.error, told.text) == (0, "", "")
        assert "there is no HOME" in told.person
        assert world.names() == [GOOD_NAME]


@pytest.mark.parametrize(
    "name", ["two  blanks", " edges ", 'it\'s "quoted" $(id) `id` \\', "a\nline", "*?[a]", "ünïcödé"]
)
def test_a_home_of_any_name_holds_mail(tmp_path: Path, name: str) -> None:
    """HOME and the projects may lie below folders with blanks, quotes, line breaks and letters of any alphabet."""
    (tmp_path / name).mkdir()
    world = World(tmp_path / name)
    put_good(world)
    assert parse(start(world).text) == [GOOD]
    world.send("project-b", "sent")
    assert [shown.body for shown in parse(world.drain().text)] == ["sent"]
    exported = world.run("sh", "-c", '. "$1"; printf %s "$A2A_PROJECT_DIR"', "sh", world.base / "env-file").stdout
    assert exported.decode() == str(world.base / "project-b")


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"LANG": "C"}, {"LC_ALL": "xx_XX.nothing"}])
def test_in_a_c_locale_all_text_comes_through(world: World, locale: dict[str, str]) -> None:
    """Names, subjects and bodies of any alphabet are sent and shown byte for byte in a C locale."""
    world.repo("projekt-ü")
    body = "grüße \N{GRINNING FACE}"
    done = world.run(SEND, "projekt-ü", "--subject", "漢字", "-", env=locale, input=body.encode())
    assert (done.returncode, done.stdout.decode()[:31]) == (0, "sent: project-a -> projekt-ü (0")
    shown = world.hook(at="projekt-ü", env=locale)
    assert (shown.status, shown.error) == (0, "")
    (message,) = parse(shown.text)
    assert (message.subject, message.body) == ("漢字", body)
    done = world.run(ID, at="projekt-ü", env=locale)
    assert (done.returncode, done.stdout.decode()) == (0, "projekt-ü\n")
    world.send("projekt-ü", body)
    by_hand = world.drain("projekt-ü", env=locale)
    assert [message.body for message in parse(by_hand.text)] == [body]


def modes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): oct(stat.S_IMODE(path.lstat().st_mode))
        for path in folder.rglob("*")
        if stat.S_IMODE(path.lstat().st_mode) != (0o700 if path.is_dir() else 0o600)
    }


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_no_mask_opens_mail_to_others(world: World, umask: int) -> None:
    """Whatever the umask, every file of ours is 0600 and every folder 0700."""
    for to in ("project-b", "project-b,project-a"):
        done = world.run(SEND, to, "body", umask=umask)
        assert done.returncode == 0, done.stderr
    assert modes(world.home) == {}
    world.put("project-b", "bad.json", b"null").chmod(0o600)
    assert len(parse(said(hook(world, umask=umask)).text)) == 2
    assert modes(world.home) == {}
    assert (world.inbox() / ".bad" / "bad.json").exists()
    assert list((world.inbox() / ".shown").iterdir()) != []
    hook(world, json.dumps({"hook_event_name": "SessionEnd", "session_id": "s1"}).encode(), umask=umask)
    assert len(world.names()) == 2
    assert modes(world.home) == {}


@pytest.mark.parametrize("used", [False, True], ids=["a new inbox", "an inbox in use"])
def test_mail_in_a_root_that_is_read_only_stays(used: bool) -> None:
    """What cannot be archived is not shown; the person is told at the start, and the mail comes when it can."""
    with another_user() as world:
        world.put("project-b", "old.json", body="old")
        if used:
            assert len(parse(start(world).text)) == 1
        else:
            (world.inbox() / "old.json").unlink()
        put_good(world)
        folders = [world.root, *(path for path in world.root.rglob("*") if path.is_dir())]
        for folder in folders:
            folder.chmod(0o555)
        told = world.hook(session="s2")
        assert (told.status, told.error, told.text) == (0, "", "")
        assert "the inbox cannot be used" in told.person
        assert "\n" not in told.person
        assert world.names() == [GOOD_NAME]
        by_hand = world.drain()
        assert (by_hand.status, by_hand.text, by_hand.error.count("\n")) == (0, "", 1)
        for folder in folders:
            folder.chmod(0o700)
        assert parse(world.hook(session="s3").text) == [GOOD]


GONE = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@"'


def test_a_hook_in_a_deleted_folder_has_its_project_from_the_client(world: World) -> None:
    """The working directory may be gone: the client names the project."""
    put_good(world)
    done = world.run("sh", "-c", GONE, HOOK, "--receipts", env=client(world), input=START)
    assert done.returncode == 0
    assert parse(said(done).text) == [GOOD]


@pytest.mark.parametrize("env", [{}, {"A2A_PROJECT_DIR": "."}], ids=["alone", "with a relative start"])
def test_a_drain_in_a_deleted_folder_takes_no_strangers_mail(world: World, env: dict[str, str]) -> None:
    """By hand in a folder that is gone no rule needs it: the last resort answers."""
    put_good(world)
    world.put("unknown", "x.json", body="for nobody")
    done = world.run("sh", "-c", GONE, HOOK, env=env)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert [shown.body for shown in parse(done.stdout.decode())] == ["for nobody"]
    assert world.names() == [GOOD_NAME]


def test_a_deleted_project_is_no_trouble(world: World) -> None:
    """A project folder that was removed while its session ran has no rule that needs it."""
    env = {"CLAUDE_PROJECT_DIR": str(world.base / "removed")}
    world.put("unknown", "x.json", body="for nobody")
    assert hook(world, env=env).returncode == 0


TROUBLE: dict[str, dict[str, str]] = {
    "a root that is relative": {"A2A_INBOX": "relative/path"},
    "a root that is a file": {"A2A_INBOX": PYTHON},
    "a name with a slash": {"CLAUDE_AGENT_ID": "../project-b"},
    "a name that is too long": {"CLAUDE_AGENT_ID": "x" * 201},
    "a name with a line break": {"CLAUDE_AGENT_ID": "a\nb"},
}


@pytest.mark.parametrize("env", TROUBLE.values(), ids=TROUBLE)
def test_what_is_set_wrongly_is_said_in_one_line(world: World, env: dict[str, str]) -> None:
    """Where no inbox can be named the person gets one sentence and the next thing to type; exit 0."""
    put_good(world)
    told = said(hook(world, env=env))
    assert (told.text, "\n" in told.person, "; try: " in told.person) == ("", False, True)
    by_hand = world.drain(env=env)
    assert (by_hand.status, by_hand.text, by_hand.error.count("\n")) == (0, "", 1)
    assert world.names() == [GOOD_NAME]


@pytest.mark.parametrize("arguments", [["--recepits"], ["a", "b"], [""], ["--receipts", "--nonsense"]])
def test_an_option_that_is_none_touches_no_mail(world: World, arguments: list[str]) -> None:
    """A misspelt --receipts must not make mail count as read at once: it is named, and the mail stays; exit 0."""
    put_good(world)
    done = world.run(HOOK, *arguments, at="project-b", env=client(world), input=START)
    assert (done.returncode, done.stderr, said(done).text) == (0, b"", "")
    assert "is no option of drain-inbox, and no mail was touched; try: " in said(done).person
    assert world.names() == [GOOD_NAME]
    assert parse(world.drain().text) == [GOOD]
