"""What the README shows is what happens."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import REPO, World

README = (REPO / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def timeless(text: str) -> str:
    """Return a transcript without what differs from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d([:-])\d\d\1\d\dZ", "TIME", text)
    return re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "ID", text)


def test_the_transcript_is_real(world: World) -> None:
    """Typed again, the commands at the top print what stands there, but for times and ids."""
    (transcript,) = blocks("console")
    assert transcript in "\n".join(README.splitlines()[:30]), "it stands in the first 30 lines"
    for name in ("project-a", "project-b"):
        (world.home / name / ".git").mkdir(parents=True)
    (world.home / "a2a-watch").symlink_to(REPO)
    script = "".join(f"printf '%s\\n' {_quoted('$ ' + line)}; {line} 2>&1\n" for line in _typed(transcript))
    env = world.env(PATH=f"{REPO / 'bin'}:{os.environ['PATH']}")
    done = subprocess.run(["sh", "-c", script], capture_output=True, env=env, cwd=world.home, check=True)
    assert timeless(done.stdout.decode()) == timeless(transcript)


def _typed(transcript: str) -> list[str]:
    return [line[2:] for line in transcript.splitlines() if line.startswith("$ ")]


def _quoted(line: str) -> str:
    return "'" + line.replace("'", "'\\''") + "'"


@pytest.mark.timeout(600)
def test_every_command_of_the_readme_runs(world: World, tmp_path: Path) -> None:
    """Copied into an empty home, each shell block of the README succeeds, in the order in which it stands there."""
    checkout = tmp_path / "a2a-watch"
    ignore = shutil.ignore_patterns(".*", "__pycache__", "build", "dist")
    shutil.copytree(REPO, checkout, ignore=ignore)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIPX_", "VIRTUAL_ENV"))}
    env["PATH"] = f"{world.home}/.local/bin:{Path(sys.executable).parent}:{env['PATH']}"
    ran = []
    for block in blocks("sh"):
        # Nobody is there to answer.
        block = re.sub(r"^(a2a-watch (setup|uninstall))$", r"\1 --yes", block, flags=re.MULTILINE)  # noqa: PLW2901
        done = subprocess.run(["sh", "-ec", block], cwd=checkout, env=env, capture_output=True, check=False)
        assert done.returncode == 0, (block, done.stdout, done.stderr)
        ran.append(block.split()[0])
    assert {"make", "uv", "pipx", "a2a-send", "a2a-watch"} <= set(ran)
    assert not (world.home / ".local" / "bin" / "a2a-send").exists(), "uninstalled"
    assert not (world.home / ".claude" / "settings.json").exists(), "there was none before"
    assert len(list(world.inbox().glob("*.json"))) == 1, "the mail stays"
