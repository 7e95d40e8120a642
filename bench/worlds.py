"""Homes with mail in them, for the programs that are timed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

STAMP = "2026-05-29T15-45-28Z"
SESSION = "5f0c1d4e-9a53-4a0b-8a2e-6b1f3c0d7e21"


class Place:
    """A home and two git repositories beside it; mail is written as a foreign tool would."""

    def __init__(self, base: Path) -> None:
        self.base, self.home = base, base / "home"
        self.root = self.home / ".claude" / "inbox"
        self.inbox = self.root / "project-b"
        self.root.mkdir(parents=True)
        for name in ("project-a", "project-b"):
            subprocess.run(["git", "init", "-q", str(base / name)], check=True)

    def others(self, agents: int) -> None:
        """Have so many other agents with mail waiting."""
        for number in range(agents):
            folder = self.root / f"other-{number:04d}"
            folder.mkdir()
            self._write(folder, number)

    def archive(self, messages: int) -> None:
        """Have an inbox that was drained before, with so many messages in its archive."""
        for name in (".read", ".shown"):
            (self.inbox / name).mkdir(parents=True)
        for number in range(messages):
            self._write(self.inbox / ".read", 1_000_000 + number)

    def wait(self, messages: int) -> None:
        """Have so many messages waiting for project-b."""
        self.inbox.mkdir(exist_ok=True)
        for number in range(messages):
            self._write(self.inbox, number)

    def was_drained(self, messages: int) -> None:
        """See that what waited is archived; then forget it."""
        assert not list(self.inbox.glob("*.json")), f"mail is left in {self.inbox}"
        for number in range(messages):
            (self.inbox / ".read" / _name(number)).unlink()
        (self.inbox / ".shown" / SESSION).unlink(missing_ok=True)

    def was_sent(self) -> None:
        """See that one message waits; then forget it."""
        (message,) = self.inbox.glob("*.json")
        message.unlink()

    def event(self, name: str) -> Path:
        """Return a file with what the client writes to a hook's standard input."""
        path = self.base / f"{name}.json"
        more = {"source": "startup"} if name == "SessionStart" else {"prompt": "go on"}
        where = str(self.base / "project-b")
        event = {"session_id": SESSION, "transcript_path": f"{where}.jsonl", "cwd": where, "hook_event_name": name}
        path.write_text(json.dumps({**event, **more}))
        return path

    def client(self, event: str) -> dict[str, str]:
        """Return the variables that the client gives a hook."""
        start = {"CLAUDE_ENV_FILE": str(self.base / "env-file")} if event == "SessionStart" else {}
        return {
            "CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": str(self.base / "project-b"), "CLAUDE_CODE_SESSION_ID": SESSION,
            "CLAUDE_PID": str(os.getpid()), "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1",
            **start,
        }  # fmt: skip

    def _write(self, folder: Path, number: int) -> None:
        fields = {"id": f"{number:08d}", "from": "project-a", "to": folder.name, "timestamp": STAMP}
        body = "When you get this: pull the shared config and re-run your build."
        text = json.dumps({**fields, "subject": "Bumped the shared API version", "body": body})
        (folder / _name(number)).write_text(text)


def _name(number: int) -> str:
    return f"{STAMP}-{number:08d}.json"
