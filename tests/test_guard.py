"""The `sh` guard is sure or silent: whenever it names an agent, the library and the command name the same."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, example, given, settings

from a2a_watch.light.identity import Identity, Surroundings
from a2a_watch.names import Problem
from tests.cases import CASES, PLAIN_CASE, Case, Level, build, environment
from tests.kit import HOOK, ID, PYTHON, REPO, World
from tests.rights import AS_PLAIN_USER, assert_that_modes_count

SHELLS = [[path, *words] for shell, *words in (["dash"], ["bash", "--posix"]) if (path := shutil.which(shell))]
ASK = '. "$1"; printf "%s\\000%s" "$agent" "$inbox"'


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
    (world.home / ".claude").mkdir()
    started = {**env, "A2A_PROJECT_DIR": str(world.base / "bare"), "A2A_INBOX": str(world.base / "mail")}
    assert guard(shell, started) == ("unknown", str(world.base / "mail" / "unknown"))
    (world.home / ".claude" / "agent-id").write_text("everywhere\n")
    assert guard(shell, started) == ("everywhere", str(world.base / "mail" / "everywhere"))


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
def test_a_folder_that_may_not_be_searched_makes_the_guard_silent(
    world: World, shell: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rights hide whether a rule answers, Python decides, for it can say why."""
    assert_that_modes_count(world.base)
    closed, home = world.base / "closed", world.base / "above" / "home"
    closed.mkdir()
    (home / ".claude").mkdir(parents=True)
    monkeypatch.chdir(world.base)
    env = {"HOME": str(home), "A2A_INBOX": str(world.base / "mail"), "A2A_PROJECT_DIR": str(closed)}
    asked = [*AS_PLAIN_USER, *shell]
    asked[0] = shutil.which(asked[0]) or asked[0]  # the guard is asked with an empty PATH
    assert guard(asked, env)[0] == "unknown"
    for hiding, rule in (
        (closed, b"rule 2"),
        (home / ".claude", b"rule 4"),
        (home, b"rule 4"),
        (home.parent, b"rule 4"),
    ):
        hiding.chmod(0)
        assert guard(asked, env) == ("", ""), hiding
        said = world.run(*AS_PLAIN_USER, ID, at=str(world.base), env=env)
        hiding.chmod(0o700)
        assert rule + b" cannot be read" in said.stderr, said


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
@pytest.mark.parametrize("option", ["noglob", "nounset", "errexit"])
def test_options_that_a_shell_inherits_do_not_hide_mail(world: World, option: str) -> None:
    """Where sh is bash, an exported SHELLOPTS changes neither what the hook finds nor its exit status."""
    world.send("project-b", "shown all the same")
    done = world.run("bash", "--posix", HOOK, at="project-b", env={"SHELLOPTS": option})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"> shown all the same" in done.stdout
    again = world.run("bash", "--posix", HOOK, at="project-b", env={"SHELLOPTS": option})
    assert (again.returncode, again.stdout, again.stderr) == (0, b"", b"")
