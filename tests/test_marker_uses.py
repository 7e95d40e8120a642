"""What docs/format.md does with the marker works as printed: a prompt, a status line, a test."""

from __future__ import annotations

import os
import pty
import re
import threading
from pathlib import Path

import pytest

from tests.desktop import need
from tests.kit import REPO, World
from tests.test_cli import WATCH
from tests.watching import until

FORGED = '", "count": 9, "oldest": "'


def printed(language: str) -> str:
    text = (REPO / "docs" / "format.md").read_text().partition("## The marker")[2].partition("\n## ")[0]
    return str(re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)[0])


@pytest.fixture(autouse=True)
def mail(world: World) -> None:
    """Two notes for project-b, with a subject that looks like a marker; one for another agent."""
    for number in range(2):
        world.send("project-b", "x", f"{FORGED} {number}")
    world.send("project-c", "x")


def seen(world: World, *words: str | Path, at: str = "project-b", enough: str) -> str:
    """Run a program in a terminal of its own until it has shown `enough` or ended; return what stood there."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(world.base / at)
        env = {
            **world.env(),
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
            "PATH": f"{WATCH.parent}:{os.environ['PATH']}",
        }
        os.execvpe(str(words[0]), [str(word) for word in words], env)
    said = bytearray()

    def read() -> None:
        try:
            while more := os.read(master, 1 << 12):
                said.extend(more)
        except OSError:
            pass  # Linux: the other side has ended

    reader = threading.Thread(target=read)
    reader.start()
    try:
        until(lambda: enough in said.decode("utf-8", "replace") or not reader.is_alive(), enough)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        reader.join()
        os.close(master)
    return said.decode("utf-8", "replace")


@pytest.mark.parametrize(("at", "prompt"), [("project-b", "✉ 2 PS> "), ("project-a", "PS> ")])
def test_a_prompt(world: World, at: str, prompt: str) -> None:
    """A real shell's prompt has the number of notes where there are some, and nothing where there are none."""
    (world.base / "rc").write_text(f"PS1='PS> '\n{printed('bash')}")
    text = seen(world, "bash", "--noprofile", "--rcfile", world.base / "rc", "-i", at=at, enough="PS> ")
    assert text.replace("\x1b[?2004h", "").endswith(prompt) and ("✉" in text) == ("✉" in prompt), text


def test_a_prompt_after_the_drain(world: World) -> None:
    """The next prompt is the ordinary one."""
    world.drain()
    test_a_prompt(world, "project-b", "PS> ")


def test_a_status_line(world: World) -> None:
    """A real tmux shows who has how many."""
    need("tmux")
    socket, config = str(world.base / "t"), world.base / "tmux.conf"
    config.write_text(f"set -g status-interval 1\n{printed('tmux')}")
    try:
        text = seen(world, "tmux", "-u", "-S", socket, "-f", config, "new-session", enough="✉ project-c 1")
    finally:
        world.run("tmux", "-S", socket, "kill-server")
    assert "✉ project-b 2  ✉ project-c 1" in text and "9" not in text.partition("✉ project-b")[2][:30], text


def test_a_test(world: World) -> None:
    """The marker is there exactly while mail waits."""
    assert world.run("sh", "-c", printed("sh")).stdout == b"there is mail for project-b\n"
    world.drain()
    assert world.run("sh", "-c", printed("sh")).stdout == b""
