"""What a session's start tells the session's own commands: whose they are, wherever they change directory to."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.kit import HOOK, ID, SEND, World

SUBMIT = "UserPromptSubmit"
FOLDERS = [
    "plain", "two words", "it's", "''", "'", "a'b'c", '"quoted"', "$HOME", "`id`", "$(id)", "back\\slash\\", "a;b&c|d",
    "*?[x]", "#x", "~", "!!", "-n", "two\nlines", "caf\u00e9",
]  # fmt: skip


def start(world: World, folder: Path, env_file: Path) -> None:
    done = world.hook(at=str(folder), env={"CLAUDE_ENV_FILE": str(env_file)})
    assert (done.status, done.error) == (0, ""), done


def exported(env_file: Path, shell: str = "sh") -> str:
    """Return what a shell that sources the file has in the variable."""
    script = '. "$1"; sh -c "printf %s \\"\\$A2A_PROJECT_DIR\\""'
    done = subprocess.run([shell, "-c", script, shell, str(env_file)], capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.decode()


@pytest.mark.parametrize("name", FOLDERS)
def test_the_project_folder_is_exported_whatever_it_is_called(world: World, name: str) -> None:
    """A start appends one `export` line to `$CLAUDE_ENV_FILE` that any shell reads back as the project's folder."""
    folder, env_file = world.repo(name + "/project-b"), world.base / "it's an env file"
    env_file.write_text("export BEFORE=1")  # another hook's line, which it did not end
    start(world, folder, env_file)
    assert env_file.read_text().startswith("export BEFORE=1\nexport A2A_PROJECT_DIR='")
    assert exported(env_file) == exported(env_file, "bash") == str(folder)
    world.send("project-b", "something waits")
    start(world, folder, env_file)
    assert exported(env_file) == str(folder)


@pytest.mark.parametrize("name", ["plain", "it's", "$HOME `id` \\", 'caf\u00e9 "x"', "-n"])
def test_a_note_sent_from_elsewhere_is_signed_by_the_sessions_agent(world: World, name: str) -> None:
    """After `cd` into another project, with the exported variable, a note has this session's agent as its sender."""
    folder, env_file = world.repo(name), world.base / "env-file"
    start(world, folder, env_file)
    script = '. "$1" && cd "$2" && "$3" project-b "from wherever I am"'
    done = world.run("sh", "-c", script, "sh", env_file, world.base / "project-a", SEND)
    assert done.returncode == 0, done.stderr
    (sent,) = world.names()
    assert json.loads((world.inbox() / sent).read_text())["from"] == name
    assert world.run(ID, at="project-a", env={"A2A_PROJECT_DIR": exported(env_file)}).stdout.decode() == f"{name}\n"


def test_nothing_is_exported_where_no_session_starts(world: World) -> None:
    """Without `$CLAUDE_ENV_FILE` or without a project folder nothing is written anywhere."""
    assert world.hook(SUBMIT).status == 0
    done = world.run(HOOK, at="project-b", env={"CLAUDE_ENV_FILE": str(world.base / "env-file")})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (world.base / "env-file").exists()


@pytest.mark.parametrize("place", ["nowhere/env-file", "."])
def test_an_env_file_that_cannot_be_written_disturbs_nobody(world: World, place: str) -> None:
    """The mail is shown all the same, exit 0, and standard error is empty."""
    start(world, world.base / "project-b", world.base / place)
    world.send("project-b", "shown all the same")
    done = world.hook(env={"CLAUDE_ENV_FILE": str(world.base / place)})
    assert (done.status, done.error) == (0, "")
    assert "> shown all the same" in done.text
