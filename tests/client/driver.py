"""The real client in a home of its own: one headless turn, or a session on a terminal that a test types into."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.client.model import Model
from tests.kit import REPO, World

KEY = "sk-ant-test-0123456789abcdefghijklmnop"
WATCH = Path(sys.executable).parent / "a2a-watch"
SECONDS = 30  # within which whatever is awaited happens on a busy machine


def eventually(check: Callable[[], bool], what: str, seen: Callable[[], str] = str) -> None:
    """Wait until `check` holds; fail with `what`, and what is `seen` then, when it does not."""
    end = time.monotonic() + SECONDS
    while not check():
        assert time.monotonic() < end, f"{what}\n{seen()}"
        time.sleep(0.02)


class Client:
    """The client's program, with the drain set up in the world's home as a user does it."""

    def __init__(self, program: Path, world: World, model: Model) -> None:
        self.program, self.world, self.model = program, world, model
        folders = {
            str(folder): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
            for folder in world.base.iterdir()
        }
        seed = {
            "hasCompletedOnboarding": True, "theme": "dark", "projects": folders,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        }  # fmt: skip
        (world.home / ".claude.json").write_text(json.dumps(seed))

    def set_up(self, *options: str) -> None:
        """Install hooks, permissions and skills with the real command."""
        done = self.world.run(WATCH, "setup", "--yes", *options, env={"PATH": self.env()["PATH"]})
        assert done.returncode == 0, done.stderr

    def env(self, **more: str) -> dict[str, str]:
        """Return the whole environment of a client."""
        path = [str(REPO / "bin"), str(WATCH.parent), str(self.program.parent), os.environ["PATH"]]
        return {
            "HOME": str(self.world.home), "PATH": ":".join(path), "TERM": "xterm-256color", "LANG": "C.UTF-8",
            "SHELL": "/bin/bash", "ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": KEY,
            "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1", **more,
        }  # fmt: skip

    def headless(self, prompt: str, *options: str, at: str = "project-b", **env: str) -> str:
        """Run one turn without a terminal; return what it prints."""
        done = subprocess.run(
            [self.program, "-p", prompt, "--permission-mode", "default", *options], cwd=self.world.base / at,
            env=self.env(**env), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    @contextmanager
    def session(
        self, *options: str, at: str = "project-b", columns: int = 120, prefix: tuple[str, ...] = (), ready: str = "",
        **env: str,
    ) -> Iterator[Session]:  # fmt: skip
        """Open a session on a terminal, until its prompt or `ready` is there; on the way out it is killed."""
        given = [f"{name}={value}" for name, value in self.env(**env).items()]
        words = [*prefix, str(self.program), "--permission-mode", "default", *options]
        script = self.world.base / f"run-{uuid.uuid4().hex[:8]}"
        folder = shlex.quote(str(self.world.base / at))
        script.write_text(f"cd {folder} && exec env -i {shlex.join(given)} {shlex.join(words)}\n")
        session = Session(script, columns, self.model)
        try:
            session.wait_for(ready) if ready else session.wait_until_idle()
            yield session
        finally:
            session.close()


class Session:
    """A session in tmux, on a server of its own."""

    def __init__(self, script: Path, columns: int, model: Model) -> None:
        self._model, self._ended = model, False
        # Not beside the script: a socket's path must be short, and tmux leaves the file where it is.
        self._folder = tempfile.TemporaryDirectory(prefix="a2a-tmux-")
        self._tmux(
            "-f", os.devnull, "new-session", "-d", "-x", str(columns), "-y", "50", f"sh {shlex.quote(str(script))}"
        )
        self.pid = int(self._tmux("list-panes", "-F", "#{pane_pid}"))

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", f"{self._folder.name}/socket", *words], capture_output=True, text=True, check=False
        )
        return done.stdout

    def screen(self) -> str:
        """Return what stands on the screen."""
        return self._tmux("capture-pane", "-p")

    def letters(self) -> str:
        """Return what stands on the screen without blanks and line ends, for the client breaks lines as it likes."""
        return "".join(self.screen().split())

    def wait_for(self, text: str) -> None:
        """Wait until `text` stands on the screen, wherever lines break."""
        wanted = "".join(text.split())
        eventually(lambda: wanted in "".join(self.screen().split()), f"{text!r} never stood on the screen", self.screen)

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self._tmux("send-keys", *keys)

    def box(self) -> str | None:
        """Return what stands in the prompt box, a suggestion included, None where no box is drawn."""
        found = re.search(r"^─+\n❯(.*)\n(?:─+|.*/effort.*)$", self.screen(), re.MULTILINE)
        return found and found[1].strip()

    def is_idle(self) -> bool:
        """Tell whether the session waits for a prompt."""
        return self.box() is not None and "esc to interrupt" not in self.screen()

    def wait_until_idle(self) -> None:
        """Wait until the session waits for a prompt."""
        eventually(self.is_idle, "the session is not at a prompt", self.screen)

    def put(self, text: str) -> None:
        """Put text into the prompt box."""
        self._tmux("send-keys", "-l", text)
        eventually(lambda: self.box() == text, f"{text!r} does not stand in the prompt box", self.screen)

    def type(self, text: str) -> None:
        """Put text into the prompt box and send it."""
        self.put(text)
        self.press("Enter")
        eventually(lambda: self.box() != text, f"{text!r} was not sent", self.screen)

    def ask(self, text: str, answer: str = "ok") -> None:
        """Send a prompt that the model answers, and wait until the turn has ended."""
        before = len(self._model.requests)
        self.type(text)
        eventually(lambda: len(self._model.requests) > before, f"no request followed {text!r}", self.screen)
        self.wait_for("● " + answer)
        self.wait_until_idle()

    def quit(self) -> None:
        """Leave as a person does; on return the process is gone, and its hooks have run."""
        eventually(self._is_about_to_quit, "Ctrl-C does nothing", self.screen)
        self.press("C-c")
        self.wait_for_end()

    def _is_about_to_quit(self) -> bool:
        # The first Ctrl-C may only have emptied the prompt box, and the offer to quit stands for less than a second.
        self.press("C-c")
        end = time.monotonic() + 0.5
        while "again to exit" not in self.screen():
            if time.monotonic() > end:
                return False
        return True

    def kill(self) -> None:
        """Kill the client at once."""
        os.kill(self.pid, signal.SIGKILL)
        self.wait_for_end()

    def hang_up(self) -> None:
        """Close the terminal; on return the process is gone."""
        self._tmux("kill-session")
        self.wait_for_end()

    def wait_for_end(self) -> None:
        """Wait until the process is gone."""
        eventually(lambda: not self._runs(), "the client did not end", self.screen)
        self._ended = True

    def _runs(self) -> bool:
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2][:1]
        except (FileNotFoundError, ProcessLookupError):
            return False
        return state not in "ZX"  # dead, and tmux has not looked yet

    def close(self) -> None:
        """Have no server and no client left."""
        self._tmux("kill-server")
        with self._folder:
            # A number whose process was seen to end may be another's by now.
            if not self._ended and self._runs():
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                self.wait_for_end()
