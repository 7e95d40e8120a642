"""`run --on-mail`: a person's own command, once a burst for an agent, that can harm nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from a2a_watch.watch import onmail
from a2a_watch.watch.board import BURST_SECONDS, QUIET_SECONDS, Mail
from a2a_watch.watch.onmail import AT_ONCE, Call, OnMail
from a2a_watch.watch.post import Options
from tests.desktop import Bus, Desk
from tests.kit import World
from tests.manager import Manager, manager  # noqa: F401
from tests.test_cli import WATCH
from tests.test_notices import TEXTS
from tests.watching import note, until, watching

# Notes each run whole: its arguments, its variables, its input, whether another ran for this agent; then it waits for a
# person, where one holds it, and does what it is told to.
RECORDER = r"""#!/bin/sh
new=$(mktemp -d "$CALLS/.new.XXXXXX")
mkdir "$CALLS/.running-$A2A_AGENT" || : >"$new/overlap"
for word; do printf '%s\n' "$word"; done >"$new/words"
env | grep ^A2A_ | sort >"$new/env"
cat >"$new/input"
mv "$new" "$CALLS/$(date +%s%N)-$$"
until ! [ -e "$CALLS/.hold" ]; do sleep 0.05; done
rmdir "$CALLS/.running-$A2A_AGENT"
[ -z "$DO" ] || eval "$DO"
"""


class Recorder:
    """The command, and what its runs have noted."""

    def __init__(self, world: World) -> None:
        self.folder = world.base / "calls"
        self.folder.mkdir()
        self.program = world.base / "my recorder"
        self.program.write_text(RECORDER)
        self.program.chmod(0o755)
        self.env = {"CALLS": str(self.folder)}
        self.option = f"--on-mail='{self.program}'"

    def runs(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.name[0] != ".")

    def wait(self, number: int) -> list[dict[str, object]]:
        """Wait for so many runs; return what each was given, oldest first."""
        until(lambda: len(self.runs()) >= number, f"{number} runs")
        found = self.runs()
        assert len(found) == number
        assert not [run for run in found if (run / "overlap").exists()]
        return [json.loads((run / "input").read_bytes()) for run in found]

    def env_of(self, number: int) -> dict[str, str]:
        lines = (self.runs()[number] / "env").read_text().splitlines()
        found = dict(line.partition("=")[::2] for line in lines)
        return {name: text for name, text in found.items() if name not in ("A2A_INBOX", "A2A_PYTHON")}


@pytest.fixture
def recorder(world: World) -> Recorder:
    world.root.mkdir(parents=True, mode=0o700)
    return Recorder(world)


def test_a_burst_is_one_run(world: World, recorder: Recorder) -> None:
    """Three notes at once are one run, with all of them on its input, the newest in its variables, and no shell."""
    odd = ["a  b", "$HOME", "$(id)", "`id`", ";", "*", "~", "%s", ""]
    words = " ".join(f"'{word}'" for word in odd)
    with watching(world, f"{recorder.option} {words}", env=recorder.env) as one:
        for number in range(3):
            note(world, name=f"{number}", subject=f"S{number}")
        (given,) = recorder.wait(1)
        one.says(f"ran {recorder.program} for project-b: 3 new")
        assert given == {
            "agent": "project-b", "count": 3, "from": "a-script", "subject": "S2", "messages": [
                {"from": "a-script", "subject": f"S{number}", "excerpt": f"body of {number}"} for number in range(3)]
        }  # fmt: skip
        assert recorder.env_of(0) == {
            "A2A_AGENT": "project-b", "A2A_COUNT": "3", "A2A_FROM": "a-script", "A2A_SUBJECT": "S2"}  # fmt: skip
        assert (recorder.runs()[0] / "words").read_text().split("\n")[:-1] == odd
        assert one.stop() == 0


@pytest.mark.parametrize("kind", TEXTS)
def test_the_text_is_exact(world: World, recorder: Recorder, kind: str) -> None:
    """Whatever a subject holds reaches the command as it is shown on a desktop, and no part of it is run."""
    given, expected = TEXTS[kind]
    with watching(world, recorder.option, env=recorder.env):
        world.put("project-b", "1.json", json.dumps({"from": given, "subject": given, "body": given}).encode())
        (said,) = recorder.wait(1)
        assert said["subject"] == recorder.env_of(0)["A2A_SUBJECT"] == expected
        assert said["from"] == recorder.env_of(0)["A2A_FROM"] == (expected[:99] + "…" if kind == "long" else expected)
        assert (recorder.runs()[0] / "input").read_bytes().isascii()


def test_no_preview_and_quiet_hold_here_too(world: World, recorder: Recorder) -> None:
    """Without previews nothing that was written leaves the inbox; for a quiet agent nothing is run."""
    with watching(world, recorder.option, "--no-preview", "--quiet", "project-c", env=recorder.env) as one:
        note(world, "project-c")
        one.says("project-c: 1 waiting")
        note(world)
        (given,) = recorder.wait(1)
        assert given == {"agent": "project-b", "count": 1, "from": "a-script", "subject": "",
                         "messages": [{"from": "a-script", "subject": "", "excerpt": ""}]}  # fmt: skip
        assert recorder.env_of(0)["A2A_SUBJECT"] == ""
        note(world, name="second")
        recorder.wait(2)


def test_a_flood_is_counted_and_its_newest_given(world: World, recorder: Recorder) -> None:
    """Of mail that waited before it started, all are counted, and the newest come in full."""
    for number in range(300):
        note(world, name=f"{number:03d}", subject="x" * 300)
    with watching(world, recorder.option, env=recorder.env):
        (given,) = recorder.wait(1)
    messages = given["messages"]
    assert isinstance(messages, list) and given["count"] == 300
    assert [one["excerpt"] for one in messages] == [f"body of {number}" for number in range(280, 300)]


def test_what_was_run_for_is_never_run_for_again(world: World, recorder: Recorder) -> None:
    """Not after a restart, not when it was read and given back; new mail is."""
    id_ = world.send("project-b", "x")
    with watching(world, recorder.option, env=recorder.env) as one:
        recorder.wait(1)
        one.stop(signal.SIGKILL)
    with watching(world, recorder.option, env=recorder.env) as one:
        one.says("project-b: 1 waiting")
        world.drain()
        one.says("project-b: 0 waiting")
        assert world.run(WATCH, "restore", id_).returncode == 0
        one.says("project-b: 1 waiting", times=2)
        note(world, name="zzz")
        assert [given["count"] for given in recorder.wait(2)] == [1, 1]


def test_one_at_a_time_for_an_agent(world: World, recorder: Recorder) -> None:
    """While one runs the mail of its agent gathers, that of others does not wait, and the next run has all of it."""
    hold = recorder.folder / ".hold"
    hold.touch()
    with watching(world, recorder.option, env=recorder.env) as one:
        note(world, name="0")
        recorder.wait(1)
        for name in ("1", "2"):
            note(world, name=name)
            one.says("project-b: ", times=int(name) + 1)
        note(world, "project-c")
        assert recorder.wait(2)[1]["agent"] == "project-c"
        hold.unlink()
        assert {"agent": "project-b", "count": 2}.items() <= recorder.wait(3)[2].items()


FAULTS = {
    "status": ("exit 3", "status 3"),
    "signal": ("kill -SEGV $$", "it ended by SIGSEGV"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_is_logged_and_harmless(world: World, recorder: Recorder, fault: str) -> None:
    """It is said once, is not tried again for the same mail, and the next mail's run is as any."""
    does, says = FAULTS[fault]
    with watching(world, recorder.option, env={**recorder.env, "DO": does}) as one:
        note(world)
        one.says(f"--on-mail {recorder.program}: {says}; mail is delivered all the same")
        for number in (2, 3):
            note(world, name=f"note {number}")
            recorder.wait(number)
        assert [given["count"] for given in recorder.wait(3)] == [1, 1, 1]
        assert one.log.count(says) == 1, "the third begins when the second's end is known"
        one.says("project-b: 3 waiting")
    assert "body of note 3" in world.drain().text


@pytest.mark.parametrize("program", ["/no/such/program", "no-such-program", "/etc/passwd", "/"])
def test_a_program_that_is_not_there(world: World, recorder: Recorder, program: str) -> None:
    """The watch goes on, and what is wrong stands in the log and in `status`."""
    with watching(world, "--on-mail", program) as one:
        note(world)
        one.says(f"--on-mail {program}: ")
        one.says("project-b: 1 waiting")
        until(lambda: f"--on-mail {program}: " in world.run(WATCH, "status").stdout.decode())
        assert one.stop() == 0


def test_one_that_reads_nothing_and_says_much(world: World, recorder: Recorder) -> None:
    """Its output goes where the log goes, and input that it does not want is no failure."""
    with watching(world, "--on-mail", "sh -c 'exec <&-; echo out; echo err >&2'") as one:
        for number in range(30):
            note(world, name=f"{number}", subject="\N{PARTY POPPER}" * 200)
        one.says("ran sh for project-b: 30 new")
        one.says("out\n")
        one.says("err\n")


def test_its_end_comes_with_the_watchers(world: World, recorder: Recorder) -> None:
    """A watcher that stops ends what it has started, and all that this has started."""
    does = 'sleep 1000 & echo $! >"$CALLS/.child"; mv "$CALLS/.child" "$CALLS/child"; wait'
    with watching(world, recorder.option, env={**recorder.env, "DO": does}) as one:
        note(world)
        child = until(lambda: (recorder.folder / "child").exists() and (recorder.folder / "child").read_text())
        assert one.stop() == 0
        until(lambda: is_gone(int(child)))


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] in "ZX"
    except OSError:
        return True


@pytest.mark.parametrize(("command", "says"), [("", "no command"), ("  ", "no command"), ("a 'b", "no closing quot")])
def test_a_command_that_is_none(world: World, recorder: Recorder, command: str, says: str) -> None:
    """It is refused before anything starts."""
    for words in (["run"], ["service", "install", "--yes"]):
        done = world.run(WATCH, *words, "--on-mail", command)
        assert done.returncode == 2 and says in done.stderr.decode() and b"Traceback" not in done.stderr


def test_beside_notices(world: World, recorder: Recorder, bus: Bus, desk: Desk) -> None:
    """Each has a memory of its own: mail that was announced before is run for when a command is first given."""
    with watching(world, notify=True, env=bus.env) as one:
        one.says("notifications: by desktop")
        note(world)
        desk.has_shown(1)
        one.says("shown: ")
        one.stop()
    with watching(world, recorder.option, notify=True, env={**bus.env, **recorder.env}) as one:
        assert recorder.wait(1)[0]["count"] == 1
        note(world, name="second", subject="2")
        assert desk.has_shown(2)[1][0] == "a-script → project-b: 2"
        assert recorder.wait(2)[1]["subject"] == "2"


def test_as_a_service(world: World, recorder: Recorder, manager: Manager) -> None:  # noqa: F811
    """The unit has the program's absolute path, and shuts the command in no more than the person is."""
    folder = world.home / "bin"
    folder.mkdir()
    (folder / "my-recorder").symlink_to(recorder.program)
    path = f"{folder}:{os.environ['PATH']}"
    for option in (["--on-mail", "my-recorder 'a b' %h $HOME"], ["--on-mail=my-recorder 'a b' %h $HOME"]):
        manager.drop_in(f"Environment=CALLS={recorder.folder}")
        done = manager.service("install", "--yes", *option, "--no-notify", env={"PATH": path})
        assert done.returncode == 0, done
    note(world)
    recorder.wait(1)
    assert (recorder.runs()[0] / "words").read_text() == "a b\n%h\n$HOME\n"
    unit = (manager.units / "a2a-watch.service").read_text()
    assert unit.count("--on-mail") == 1 and f"{folder}/my-recorder" in unit
    pid = manager.show("MainPID")
    status = Path(f"/proc/{pid}/status").read_text().split()
    assert [status[status.index(name) + 1] for name in ("NoNewPrivs:", "Seccomp:")] == ["0", "0"]
    done = manager.service("install", "--yes", "--on-mail", "no-such-program x")
    assert done.returncode == 1 and b"no program no-such-program" in done.stderr


class Desktop:
    """An OnMail with a clock that stands still, and no runs."""

    def __init__(self, told: list[str] | None = None) -> None:
        self.ended: list[tuple[Call, str]] = []
        self.calls = OnMail(
            Options(on_mail=("sh", "-c", "sleep 1000 & echo $! >&2; wait")), told or [],
            lambda **more: {**os.environ, **more}, lambda call, why: self.ended.append((call, why)))  # fmt: skip
        self.now = 0.0

    def has(self, agent: str, *names: str) -> None:
        self.calls.saw(agent, [Mail(f"{agent}/{name}", "a", name) for name in names], self.now)

    def begins(self, after: float) -> list[tuple[str, list[str]]]:
        self.now += after
        return [(call.agent, [one.subject for one in call.mail]) for call in self.calls.calls(self.now)]

    def ends(self, agent: str) -> None:
        self.calls.ended(Call(agent, ()))


def test_when_it_is_run() -> None:
    """When a burst is over; the next when the last has ended and not within the time of a burst."""
    desk = Desktop()
    desk.has("b", "1")
    assert desk.calls.due() == QUIET_SECONDS and desk.begins(QUIET_SECONDS / 2) == []
    desk.has("b", "1", "2")
    assert desk.begins(QUIET_SECONDS / 2) == []
    assert desk.begins(QUIET_SECONDS) == [("b", ["1", "2"])]
    desk.has("b", "1", "2", "3")
    assert desk.calls.due() is None and desk.begins(100 * BURST_SECONDS) == [], "the first still runs"
    desk.has("c", "1")
    assert desk.begins(QUIET_SECONDS) == [("c", ["1"])]
    desk.ends("b")
    assert desk.begins(0) == [("b", ["3"])]
    desk.ends("b")
    desk.has("b", "1", "2", "3", "4")
    assert desk.begins(BURST_SECONDS * 0.9) == [] and desk.begins(BURST_SECONDS) == [("b", ["4"])]
    assert sorted(desk.calls.told()) == ["b/1", "b/2", "b/3", "b/4", "c/1"]
    desk.has("b")
    desk.has("b", "4", "5")
    desk.ends("b")
    assert desk.begins(BURST_SECONDS) == [("b", ["5"])]


def test_read_before_its_run_it_is_run_for_no_more() -> None:
    """Mail that a drain had first is no news, here and after a restart."""
    desk = Desktop(["b/0"])
    desk.has("b", "0", "1")
    desk.has("b")
    assert desk.begins(BURST_SECONDS) == [] and desk.calls.due() is None
    desk.has("b", "0", "1")
    assert desk.begins(BURST_SECONDS) == [("b", ["1"])]


def test_so_many_at_once() -> None:
    """The ninth agent's waits for an end."""
    desk = Desktop()
    agents = [f"agent-{number}" for number in range(AT_ONCE + 2)]
    for agent in agents:
        desk.has(agent, "1")
    assert [agent for agent, _ in desk.begins(QUIET_SECONDS)] == agents[:AT_ONCE]
    assert desk.begins(100) == [] and desk.calls.due() is None
    desk.ends(agents[3])
    assert [agent for agent, _ in desk.begins(0)] == [agents[AT_ONCE]]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Half a second stands for the thirty."""
    monkeypatch.setattr(onmail, "LIMIT_SECONDS", 0.5)
    yield


def test_it_ends_after_its_time(short: None, capfd: pytest.CaptureFixture[str]) -> None:
    """One that does not end is killed with all that it has started, and that is said."""
    desk = Desktop()
    call = Call("b", (Mail("b/1"),))
    begun = time.monotonic()
    desk.calls.run(call)
    until(lambda: desk.ended)
    assert desk.ended == [(call, "it did not end within 0.5 s, and was killed")]
    assert time.monotonic() - begun >= 0.5
    until(lambda: is_gone(int(capfd.readouterr().err)))


def test_stopped_while_it_starts(short: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that starts just as the watcher stops is ended too."""
    desk = Desktop()
    real: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen
    started: list[subprocess.Popen[bytes]] = []

    def slow(*words: object, **more: object) -> subprocess.Popen[bytes]:
        started.append(real(*words, **more))
        desk.calls.stop()
        return started[0]

    monkeypatch.setattr(onmail, "Popen", slow)
    monkeypatch.setattr(onmail, "LIMIT_SECONDS", 1000.0)
    desk.calls.run(Call("b", (Mail("b/1"),)))
    until(lambda: desk.ended)
    assert started[0].returncode == -signal.SIGKILL
