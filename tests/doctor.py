"""What tests of doctor share: a world where setup was run and all is well, and doctor asked in it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kit import PYTHON, World

WATCH = Path(sys.executable).parent / "a2a-watch"
TOOLS = ("chmod", "env", "find", "ln", "ls", "mkdir", "rm", "setpriv", "sh", "sleep", "touch", "wc")
# Values of the module under test that stand for places of the machine, such as the folder of managed settings.
_WITH_CONSTANTS = """
import sys
from a2a_watch.install import checks
from a2a_watch.cli import main
for word in sys.argv.pop(1).splitlines():
    name, value = word.split("=", 1)
    setattr(checks, name, eval(value))
main()
"""


@dataclass(frozen=True)
class Found:
    """One finding as doctor reports it."""

    link: str
    state: str
    says: str
    fix: str


class Clinic:
    """A world whose PATH is one folder `bin`, with our commands, a client and a python3; setup was run in it."""

    def __init__(self, world: World) -> None:
        self.world, self.bin = world, world.base / "bin"
        self.settings = world.home / ".claude" / "settings.json"
        self.bin.mkdir()
        for name in ("a2a-id", "a2a-send", "a2a-watch"):
            (self.bin / name).symlink_to(WATCH.parent / name)
        (self.bin / "python3").symlink_to(PYTHON)
        for tool in filter(None, map(shutil.which, TOOLS)):
            (self.bin / Path(tool).name).symlink_to(tool)
        self.client()
        self.set_up()

    def run(self, *command: str | Path, env: dict[str, str] | None = None, **options: Any) -> Any:
        given = {"PATH": str(self.bin), "A2A_PYTHON": "", **(env or {})}
        return self.world.run(*command, env=given, timeout=60, **options)

    def client(self, plugins: str = "") -> None:
        """Put a client on the PATH that says its version, and which plugins it has."""
        script(self.bin / "claude", f'case $1 in plugin) echo "{plugins}" ;; *) echo "2.1.332 (Claude Code)" ;; esac')

    def set_up(self) -> None:
        done = self.run(WATCH, "setup", "--yes")
        assert done.returncode == 0, done

    def edit(self, **changes: Any) -> None:
        """Change the user's settings; None takes a key out."""
        data = {**json.loads(self.settings.read_text()), **changes}
        self.settings.write_text(json.dumps({key: value for key, value in data.items() if value is not None}))

    def hooks(
        self, command: str, events: Iterable[str] = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    ) -> None:
        """Let the settings call `command` at the events, and nothing else."""
        handler = {"type": "command", "command": command, "timeout": 10}
        self.edit(hooks={event: [{"hooks": [handler]}] for event in events})

    def stub(self, body: str) -> Path:
        """Write a hook by our name that does something else; return its path."""
        return script(self.world.base / "stub" / "hooks" / "drain-inbox", body)

    def ask(self, *, prefix: tuple[str, ...] = (), constants: str = "", **options: Any) -> list[Found]:
        """Run doctor behind `prefix`, `constants` (lines NAME=EXPRESSION) set in its module; return all findings."""
        program = [sys.executable, "-c", _WITH_CONSTANTS, constants] if constants else [WATCH]
        done: subprocess.CompletedProcess[bytes] = self.run(*prefix, *program, "doctor", "--json", **options)
        assert done.stderr == b"", done.stderr.decode()
        found = [Found(**one) for one in json.loads(done.stdout)]
        assert done.returncode == any(one.state == "fail" for one in found)
        assert {one.state for one in found} <= {"ok", "warn", "fail"}
        assert all(one.says and bool(one.fix) == (one.state != "ok") for one in found), found
        return found

    def complaints(self, **options: Any) -> list[Found]:
        return [one for one in self.ask(**options) if one.state != "ok"]

    def complaint(self, state: str, link: str, **options: Any) -> Found:
        """Return the only complaint there is, which is of this state and at this link."""
        found = self.complaints(**options)
        assert [(one.state, one.link) for one in found] == [(state, link)], found
        return found[0]

    def cure(self, found: Found, **options: Any) -> None:
        """Do what the finding says, as a person types it; after that there is no complaint."""
        answer = " --yes" if found.fix == "a2a-watch setup" else ""
        done = self.run("/bin/sh", "-c", found.fix + answer, **options)
        assert done.returncode == 0, done
        assert self.complaints(**options) == []


def script(path: Path, body: str) -> Path:
    """Write a shell program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path
