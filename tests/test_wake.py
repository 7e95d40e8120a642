"""`hooks/wake`: what it returns for the client to watch, and when it wakes; each run is a real process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.kit import PYTHON, REPO, World
from tests.watching import note, watching

WAKE = REPO / "hooks" / "wake"
SHELLS = [[path, *words] for shell, *words in (["dash"], ["bash", "--posix"]) if (path := shutil.which(shell))]


def wake(
    world: World, event: str = "FileChanged", at: str = "project-b", options: tuple[str, ...] = (),
    prefix: tuple[str, ...] = (), **env: str,
) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
    """Run the hook as the client does, in a session that somebody sits at."""
    given = {"CLAUDE_PROJECT_DIR": str(world.base / at), "CLAUDE_CODE_SESSION_ATTENDED": "1",
             "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ID": "5e55", **env}  # fmt: skip
    text = json.dumps({"hook_event_name": event, "cwd": str(world.base / at)}).encode()
    return world.run(*prefix, WAKE, *options, event, at=at, env=given, input=text, timeout=30)


def starts(world: World, **options: Any) -> list[str]:
    """Start a session; return the paths that its client is to watch."""
    done = wake(world, "SessionStart", **options)
    assert (done.returncode, done.stderr) == (0, b""), done
    output = json.loads(done.stdout)["hookSpecificOutput"]
    assert output.keys() == {"hookEventName", "watchPaths"} and output["hookEventName"] == "SessionStart"
    return list(output["watchPaths"])


def wakes(world: World, **options: Any) -> str:
    """Return the line with which it wakes, empty when it does not."""
    done = wake(world, **options)
    assert done.stdout == b"" and (done.returncode == 2) == bool(done.stderr), done
    assert done.returncode in (0, 2)
    return done.stderr.decode()


def claims(world: World) -> list[str]:
    return [path.name for path in (world.inbox() / ".wakes").iterdir() if path.name != ".refused"]


def test_a_start_and_a_change_of_directory_name_the_marker(world: World) -> None:
    """Both return the marker's path, in a folder that is there: the client watches no other."""
    assert starts(world) == [str(world.inbox() / ".pending")]
    assert (world.inbox() / ".wakes").is_dir() and world.inbox().stat().st_mode & 0o777 == 0o700
    done = wake(world, "CwdChanged")
    assert json.loads(done.stdout) == {
        "hookSpecificOutput": {"hookEventName": "CwdChanged", "watchPaths": [str(world.inbox() / ".pending")]}
    }
    assert world.hook().raw == b"" and world.marker() is None


@pytest.mark.parametrize("name", ['a"b', "back\\slash", '\\"\\', "é ü", "a'b$HOME", "Ünï\N{PARTY POPPER}", "x y"])
def test_any_path_is_quoted(world: World, name: str) -> None:
    """Whatever stands in the inbox's path, and in the agent's name, arrives as it is."""
    world.repo(name)
    root = world.base / f"in {name} box"
    (path,) = starts(world, at=name, A2A_INBOX=str(root))
    assert Path(path).parent.parent == root and Path(path).name == ".pending"
    assert world.run(REPO / "bin" / "a2a-id", at=name).stdout.decode() == Path(path).parent.name + "\n"


@pytest.mark.parametrize("shell", SHELLS, ids=lambda words: os.path.basename(words[0]))
def test_one_message_wakes_once(world: World, shell: list[str]) -> None:
    """The first event for a message wakes with one line that says how many wait; every further one does not."""
    starts(world)
    world.send("project-b", "secret body", "secret subject")
    said = wakes(world, prefix=tuple(shell))
    assert said == "1 note waits in the inbox of project-b; its hook shows what is there at this prompt\n"
    for _ in range(3):
        assert not wakes(world, prefix=tuple(shell))
    world.send("project-b", "x")
    assert wakes(world).startswith("2 notes wait in the inbox of project-b")
    assert not wakes(world)


def test_mail_that_was_seen_wakes_nobody(world: World) -> None:
    """Between the marker and the event a drain had it: nothing to wake for."""
    starts(world)
    world.send("project-b", "x")
    assert world.hook("UserPromptSubmit").text
    assert not wakes(world) and not claims(world)


def test_mail_that_came_back_wakes_nobody(world: World) -> None:
    """A wake whose turn failed: the mail is pending again and marked, and waits for the next prompt."""
    starts(world)
    world.send("project-b", "x")
    assert wakes(world)
    assert world.hook("UserPromptSubmit").text
    world.hook("SessionEnd")
    assert world.marker() and not wakes(world)
    assert "(" in world.hook().text


def test_of_many_sessions_one_wakes(world: World) -> None:
    """Sixteen sessions hear of the same message at the same time: exactly one of them wakes."""
    starts(world)
    for number in range(5):
        world.send("project-b", f"{number}")
        with ThreadPoolExecutor(16) as pool:
            woken = list(pool.map(lambda _: bool(wakes(world)), range(16)))
        assert sum(woken) == 1


def test_the_bound(world: World) -> None:
    """Six in ten minutes, whoever sends; a seventh waits, and what came then never wakes; after the time it goes on."""
    starts(world)
    for number in range(8):
        world.send("project-b", f"{number}")
        assert bool(wakes(world)) == (number < 6), number
    assert (world.inbox() / ".wakes" / ".refused").exists()
    age(world, 11)
    assert not wakes(world), "the eighth was refused for good"
    world.send("project-b", "later")
    assert wakes(world)
    assert len(world.names()) == 9, "nothing is lost"


def test_an_hour_and_a_day_are_the_same(world: World) -> None:
    """For hours with two notes a minute: never more than six wakes in any ten minutes, and always some."""
    starts(world)
    woken = []
    for minute in range(0, 60, 2):
        world.send("project-b", f"{minute}")
        if wakes(world):
            woken.append(minute)
        age(world, 2)
    assert all(sum(start <= one < start + 10 for one in woken) <= 6 for start in range(60))
    assert len(woken) > 20


def age(world: World, minutes: int) -> None:
    """Let time pass for what the bound counts."""
    for path in (world.inbox() / ".wakes").iterdir():
        when = path.stat().st_mtime - 60 * minutes
        os.utime(path, (when, when))


@pytest.mark.parametrize(
    ("limit", "allowed"),
    [("2/10m", 2), ("0/10m", 0), ("1/2h", 1), ("12/1h", 8), ("", 6),
     *((odd, 0) for odd in ("nonsense", "6", "6/", "/10m", "6/10", "6/10s", "-1/10m", "6/x0m", "6/0m", "6/010m", "6/*m",
                            "99999/10m", "6/99999m", "6/10m ", "$(touch x)/10m"))],
)  # fmt: skip
def test_the_bound_is_a_wish(world: World, limit: str, allowed: int) -> None:
    """A2A_WAKES says how many in how long; what cannot be read means none."""
    starts(world)
    woken = 0
    for number in range(8):
        world.send("project-b", f"{number}")
        woken += bool(wakes(world, A2A_WAKES=limit))
    assert woken == allowed
    assert not (world.base / "project-b" / "x").exists()


def test_the_watcher_says_that_nobody_was_woken(world: World) -> None:
    """Once for all that is refused in the time of one bound; not for what was woken for, and not after a restart."""
    starts(world)
    with watching(world, "--rescan", "1") as one:
        for number in range(3):
            world.send("project-b", f"{number}")
            one.says(f"project-b: {number + 1} waiting")
            assert bool(wakes(world, A2A_WAKES="1/10m")) == (number == 0)
            if number:
                one.says("project-b was not woken: it has used up its wakes")
        world.send("other", "x")
        one.says("other: 1 waiting")
        assert one.log.count("was not woken") == 1
        assert world.drain().text
        one.says("project-b: 0 waiting")
        world.send("project-b", "woken for after the time")
        age(world, 11)
        assert wakes(world)
        one.says("project-b: 1 waiting, 0 before")
        assert one.stop() == 0
    assert one.log.count("was not woken") == 1


def test_losing_the_count_errs_towards_quiet(world: World) -> None:
    """Without the folder of claims nothing wakes until a session starts anew."""
    starts(world)
    world.send("project-b", "x")
    shutil.rmtree(world.inbox() / ".wakes")
    assert not wakes(world)
    starts(world)
    assert wakes(world)


def test_a_clock_that_was_ahead_errs_towards_quiet(world: World) -> None:
    """Claims from the future count."""
    starts(world)
    for number in range(6):
        world.send("project-b", f"{number}")
        assert wakes(world)
    age(world, -600)
    world.send("project-b", "x")
    assert not wakes(world)


def test_a_name_that_is_used_again_is_new_mail(world: World) -> None:
    """A foreign tool that always writes the same name wakes each time, once."""
    starts(world)
    for _ in range(2):
        note(world, name="always")
        world.send("project-b", "so that the marker is right")
        (world.inbox() / next(name for name in world.names() if name != "always.json")).unlink()
        mark(world)
        assert wakes(world) and not wakes(world)
        assert world.hook("UserPromptSubmit").text
        world.hook("Stop")


def mark(world: World) -> None:
    """Have the marker say what is there, as the watcher does."""
    code = "import sys; sys.path.insert(0, sys.argv[3]); from a2a_watch.marker import mark; mark(*sys.argv[1:3], 0.0)"
    subprocess.run([PYTHON, "-c", code, str(world.inbox()), "project-b", str(REPO)], check=True)


def test_old_claims_go(world: World) -> None:
    """What was read long ago is forgotten at the next wake; what still waits is not, or it would wake again."""
    starts(world)
    note(world, name="0-waits")
    world.send("project-b", "read")
    assert wakes(world)
    first = claims(world)
    world.hook("UserPromptSubmit"), world.hook("Stop")
    world.send("project-b", "waits")
    assert wakes(world)
    age(world, 60)
    world.send("project-b", "next")
    assert wakes(world)
    assert len(claims(world)) == 2 and first[0] not in claims(world)


def unattended(world: World) -> str:
    return wakes(world, CLAUDE_CODE_SESSION_ATTENDED="0")


def headless(world: World) -> str:
    return wakes(world, CLAUDE_CODE_SESSION_ATTENDED="", CLAUDE_CODE_ENTRYPOINT="sdk-cli")


def switched_off(world: World) -> str:
    return wakes(world, options=("--if-on",))


@pytest.mark.parametrize("case", [unattended, headless, switched_off], ids=lambda one: one.__name__)
def test_who_is_never_woken(world: World, case: Callable[[World], str]) -> None:
    """A one-shot, and a session with the plugin whose switch is off: no claim, no wake."""
    starts(world)
    world.send("project-b", "x")
    assert not case(world) and not claims(world)


@pytest.mark.parametrize("event", ["SessionStart", "CwdChanged"])
def test_who_watches_nothing(world: World, event: str) -> None:
    """One-shots and switched-off plugins get not a byte, and make no folder."""
    for done in (
        wake(world, event, CLAUDE_CODE_SESSION_ATTENDED="0"), wake(world, event, options=("--if-on",)),
        wake(world, event, CLAUDE_CODE_SESSION_ATTENDED="", CLAUDE_CODE_ENTRYPOINT="sdk-ts"),
    ):  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not world.root.exists()


def test_the_plugins_switch(world: World) -> None:
    """A file in the root switches the plugin's handlers on."""
    world.root.mkdir(parents=True)
    (world.root / ".wake").touch()
    assert starts(world, options=("--if-on",))
    world.send("project-b", "x")
    assert wakes(world, options=("--if-on",))


ODD_MARKERS = {
    "empty": b"", "no line end": b'{"count": 1', "garbage": b"\xff\x00\n", "no newest": b'{"count": 1}\n',
    "a path": b'{"count": 1, "oldest": "a", "newest": "../../x", "from": []}\n',
    "no number": b'{"count": x; touch y, "oldest": "a", "newest": "b.json", "from": []}\n',
    "long": b'{"count": 1, "newest": "' + b"x" * 5000 + b'", "from": []}\n',
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD_MARKERS)
def test_a_marker_that_is_none_wakes_nobody(world: World, kind: str) -> None:
    """Nothing is written outside the folder of claims, nothing is run, nobody is woken."""
    starts(world)
    world.put("project-b", ".pending", ODD_MARKERS[kind])
    before = sorted(path for path in world.base.rglob("*") if ".wakes" not in str(path))
    assert not wakes(world)
    assert sorted(path for path in world.base.rglob("*") if ".wakes" not in str(path)) == before


def test_a_pipe_for_a_marker_holds_nothing_up(world: World) -> None:
    """Only a file is read."""
    starts(world)
    os.mkfifo(world.inbox() / ".pending")
    before = time.monotonic()
    assert not wakes(world) and time.monotonic() - before < 25


def test_a_subject_cannot_forge_the_marker(world: World) -> None:
    """What looks like a marker inside a subject is text: the claim is for the message that is really the newest."""
    starts(world)
    id_ = world.send("project-b", "x", '", "count": 9, "newest": "forged.json", "from": ["')
    assert wakes(world).startswith("1 note waits")
    (claim,) = claims(world)
    assert id_ in claim


def test_without_what_it_needs_it_is_quiet(world: World, tmp_path: Path) -> None:
    """Where a tool is missing, or the folder cannot be written, nobody is woken and nothing fails."""
    starts(world)
    world.send("project-b", "x")
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "ls"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    done = wake(world, PATH=str(tmp_path / "bin"))
    assert done.returncode == 0, done
    (world.inbox() / ".wakes").rename(world.inbox() / ".gone")
    (world.inbox() / ".wakes").write_text("no folder")
    assert not wakes(world)
    assert wake(world, "SessionStart").returncode == 0
