"""What tests work with: a world of real folders, and the real programs run in it as real processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parent.parent
HOOK = REPO / "hooks" / "drain-inbox"
SEND = REPO / "bin" / "a2a-send"
ID = REPO / "bin" / "a2a-id"
# The interpreter itself: a version manager's shim costs more than the program it starts.
PYTHON = os.path.realpath(sys.executable)
LIMIT = 10_000  # UTF-16 units that the client takes as one text


@dataclass(frozen=True)
class Drained:
    """What one drain said: text for the model, a line for the person, standard error, exit status."""

    text: str
    person: str
    error: str
    status: int
    raw: bytes


class World:
    """An empty HOME and folders beside it; `root` is the inbox root in it."""

    def __init__(self, base: Path) -> None:
        self.base, self.home = base, base / "home"
        self.home.mkdir(exist_ok=True)
        self.root = self.home / ".claude" / "inbox"
        self.repo("project-a")
        self.repo("project-b")

    def repo(self, name: str) -> Path:
        folder = self.base / name
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        return folder

    def inbox(self, agent: str = "project-b") -> Path:
        return self.root / agent

    def env(self, **more: str) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], "A2A_PYTHON": PYTHON, **more}

    def run(self, *command: str | Path, at: str = "project-a", **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Run a program in the folder `at`; `env` adds variables; standard input is empty unless given."""
        options.setdefault("input", b"")
        env = self.env(**options.pop("env", {}))
        return subprocess.run(
            [str(word) for word in command], cwd=self.base / at, env=env, capture_output=True, check=False, **options
        )

    def send(self, to: str, body: str, subject: str = "", at: str = "project-a") -> str:
        """Send a note with the real command; return its id."""
        done = self.run(SEND, to, "--subject", subject, "-", at=at, input=body.encode())
        assert done.returncode == 0, done.stderr
        return str(done.stdout.decode()).rpartition("(")[2].rstrip(")\n")

    def put(self, agent: str, name: str, content: bytes | None = None, **fields: Any) -> Path:
        """Write a file into an inbox as a foreign tool would."""
        path = self.inbox(agent) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(json.dumps(fields).encode() if content is None else content)
        return path

    def put_many(self, agent: str, bodies: list[str]) -> None:
        """Write one whole message for each body, in order."""
        for number, body in enumerate(bodies):
            stamp = "2026-05-29T15-45-28Z"
            name = f"{stamp}-{number:06d}.json"
            fields = {"id": f"{number:06d}", "from": "project-a", "to": agent, "timestamp": stamp}
            self.put(agent, name, json.dumps({**fields, "subject": f"S{number}", "body": body}).encode())

    def hook(
        self, event: str = "SessionStart", session: str = "s1", at: str = "project-b", receipts: bool = True,
        pid: int | None = None, env: dict[str, str] | None = None, **fields: Any,
    ) -> Drained:  # fmt: skip
        """Run the drain as the client runs a hook: an event on standard input, the client's variables."""
        if event == "SessionStart":
            fields.setdefault("source", "startup")
        text = json.dumps({"session_id": session, "hook_event_name": event, "cwd": str(self.base / at), **fields})
        given = {
            "CLAUDE_PROJECT_DIR": str(self.base / at), "CLAUDE_CODE_SESSION_ID": session,
            "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_PID": str(pid or os.getpid()),
            **(env or {}),
        }  # fmt: skip
        if event == "SessionStart":
            given.setdefault("CLAUDE_ENV_FILE", str(self.base / "env-file"))
        done = self.run(HOOK, *(["--receipts"] if receipts else []), at=at, env=given, input=text.encode(), timeout=30)
        return said(done)

    def drain(self, at: str = "project-b", *arguments: str, **options: Any) -> Drained:
        """Run the drain by hand."""
        return said(self.run(HOOK, *arguments, at=at, **options), by_hand=True)

    def names(self, agent: str = "project-b", folder: str = "") -> list[str]:
        """Return the message names that wait in an inbox, or lie in one of its folders."""
        where = self.inbox(agent) / folder
        return sorted(name for name in os.listdir(where) if not name.startswith(".")) if where.is_dir() else []

    def marker(self, agent: str = "project-b") -> dict[str, Any] | None:
        path = self.inbox(agent) / ".pending"
        return json.loads(path.read_text()) if path.exists() else None


def said(done: subprocess.CompletedProcess[bytes], by_hand: bool = False) -> Drained:
    """Take a drain's output apart as the client does."""
    text, person = done.stdout.decode(), ""
    if not by_hand and text:
        output = json.loads(text)
        text, person = (
            output.get("hookSpecificOutput", {}).get("additionalContext", ""),
            output.get("systemMessage", ""),
        )
    return Drained(text, person, done.stderr.decode(), done.returncode, done.stdout)


@dataclass(frozen=True)
class Shown:
    """One message as it stands on a page."""

    sender: str
    at: str
    subject: str
    mark: str
    body: str
    cut: str


def parse(text: str) -> list[Shown]:
    """Read a page back: the parser a reader would write who knows nothing but docs/format.md."""
    found: list[dict[str, Any]] = []
    for line in text.split("\n"):
        header = re.fullmatch(r"\*\*(From|At|Subject):\*\* (.*)", line)
        if header and header[1] == "From":
            found.append({"sender": header[2], "at": "", "subject": "", "mark": "", "body": [], "cut": ""})
        elif header:
            found[-1][header[1].lower()] = header[2]
        elif line.startswith(">"):
            assert line == ">" or line.startswith("> "), line
            found[-1]["body"].append(line[2:])
        elif line.startswith("(") and found:
            found[-1]["mark"] = line
        elif line.startswith("_Not shown whole"):
            found[-1]["cut"] = line
        else:
            assert line == "" or line.startswith(("## A2A inbox (", "_Notes from ", "_Drained at ")), line
    return [Shown(**{**fields, "body": "\n".join(fields["body"])}) for fields in found]


def units(text: str) -> int:
    """Return the length of a text as the client counts it."""
    return len(text.encode("utf-16-le")) // 2


@contextmanager
def client() -> Iterator[int]:
    """Stand for a client's process; it is killed on the way out."""
    process = subprocess.Popen(["sleep", "1000"])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def marks(text: str) -> list[str]:
    return [message.mark for message in parse(text)]
