"""The launchd agent without a Mac: a real plist parser, its line in a real shell, a `launchctl` that records."""

from __future__ import annotations

import os
import plistlib
import threading
from pathlib import Path

import pytest

from a2a_watch import durable
from a2a_watch.install import service as module
from a2a_watch.install.service import Launchd, start
from a2a_watch.light.identity import Surroundings
from a2a_watch.names import Problem
from tests.desktop import running
from tests.kit import REPO, World
from tests.test_cli import WATCH
from tests.watching import markers_are_true, note

AGENT = REPO / "launchd" / "a2a-watch.plist"


def test_the_agent_is_one_that_launchd_takes() -> None:
    """A plist parser reads it; it starts at login, stays up, is quiet about it, and lives where a screen is."""
    data = plistlib.loads(AGENT.read_bytes(), fmt=plistlib.FMT_XML)
    assert set(data) == {
        "Label", "ProgramArguments", "LimitLoadToSessionType", "ProcessType", "RunAtLoad", "KeepAlive",
        "ThrottleInterval",
    }  # fmt: skip
    assert data["Label"] == AGENT.stem, "launchctl knows it by the name of its file"
    assert (data["RunAtLoad"], data["KeepAlive"], data["LimitLoadToSessionType"]) == (
        True, {"SuccessfulExit": False}, "Aqua",
    )  # fmt: skip
    assert all(isinstance(word, str) for word in data["ProgramArguments"])
    assert Path(data["ProgramArguments"][0]).is_absolute(), "launchd has no PATH of the person's"


def test_the_agent_works_when_it_is_copied_by_hand(world: World) -> None:
    """Its line, with no more in the environment than launchd gives, starts the watcher and logs where Console looks."""
    (world.home / ".local" / "bin").mkdir(parents=True)
    (world.home / ".local" / "bin" / "a2a-watch").symlink_to(WATCH)
    (world.home / "Library" / "Logs").mkdir(parents=True)
    note(world)
    words = plistlib.loads(AGENT.read_bytes())["ProgramArguments"]
    with running(*words, env={"HOME": str(world.home), "PATH": "/usr/bin:/bin"}) as process:
        markers_are_true(world)
        process.terminate()
        assert process.wait(30) == 0
    assert "project-b: 1 waiting" in (world.home / "Library" / "Logs" / "a2a-watch.log").read_text()


class Mac:
    """`launchctl` that records what it is asked, and starts and ends a watcher as it is told."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world, self.fails = world, ""
        self.asked: list[list[str]] = []
        monkeypatch.setattr(module, "_ask", self._ask)
        monkeypatch.setattr(module, "READY_SECONDS", 0.5)
        self.one = Launchd(Surroundings())
        self._lock: durable.Lock | None = None

    def _ask(self, *command: str) -> tuple[int, str]:
        self.asked.append(list(command))
        if command[1] == "bootstrap":
            if self.fails:
                return 5, self.fails
            self._lock = durable.Lock(str(self.world.root), 0)
            assert self._lock.__enter__()
        elif command[1] == "bootout":
            # As the real one: it returns before the program has ended.
            lock, self._lock = self._lock, None
            if lock:
                threading.Timer(0.2, lock.__exit__).start()
        return 0, ""


@pytest.fixture
def mac(world: World, monkeypatch: pytest.MonkeyPatch) -> Mac:
    world.root.mkdir(parents=True)
    return Mac(world, monkeypatch)


def test_it_is_loaded_anew_and_waited_for(mac: Mac) -> None:
    """The old one is unloaded, its end waited for, the new one loaded; a second time is the same."""
    domain = f"gui/{os.getuid()}"
    for _ in range(2):
        assert start(mac.one, str(mac.world.root)) == []
    once = [
        ["launchctl", "bootout", f"{domain}/a2a-watch"],
        ["launchctl", "bootstrap", domain, str(mac.world.home / "Library" / "LaunchAgents" / "a2a-watch.plist")],
    ]
    assert mac.asked == once * 2


def test_what_launchctl_says_is_told(mac: Mac) -> None:
    """A refusal is one sentence with launchctl's words, and what to do."""
    mac.fails = "Bootstrap failed: 125: Domain does not support specified action"
    with pytest.raises(Problem, match="125: Domain") as error:
        start(mac.one, str(mac.world.root))
    assert "log in at the screen" in error.value.fix


def test_the_file_has_this_program_and_the_options(mac: Mac, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the shipped agent with an absolute program, the options, a log, and the inbox that the person chose."""
    monkeypatch.setenv("A2A_INBOX", "/in & box")
    one = Launchd(Surroundings())
    change = one.change(["--quiet", "a b"])
    assert change.path == str(mac.world.home / "Library" / "LaunchAgents" / "a2a-watch.plist") and change.new
    data, shipped = plistlib.loads(change.new), plistlib.loads(AGENT.read_bytes())
    assert data["ProgramArguments"][1:] == ["run", "--quiet", "a b"]
    assert os.path.isabs(data["ProgramArguments"][0])
    assert data["EnvironmentVariables"] == {"A2A_INBOX": "/in & box"}
    assert data["StandardErrorPath"] == str(mac.world.home / "Library" / "Logs" / "a2a-watch.log")
    assert {key: data[key] for key in shipped if key != "ProgramArguments"} == {
        key: value for key, value in shipped.items() if key != "ProgramArguments"
    }
    assert one.command() == [], "not there yet"
    Path(change.path).parent.mkdir(parents=True)
    Path(change.path).write_bytes(change.new)
    assert one.command() == data["ProgramArguments"]
    assert one.change(["--quiet", "a b"]).new == one.change([]).old, "the second time nothing changes"
    Path(change.path).write_bytes(b"damaged")
    assert one.command() == []


def test_its_log_and_its_state_are_shown_by_the_system(mac: Mac) -> None:
    """`service status` and `service logs` are commands that every Mac has."""
    assert mac.one.show() == ["launchctl", "print", f"gui/{os.getuid()}/a2a-watch"]
    assert mac.one.logs()[0] == "tail" and mac.one.logs()[-1].endswith("/Library/Logs/a2a-watch.log")
