"""Settings files as people have them, and a household where setup, installed hooks and uninstall really run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kit import PYTHON, Drained, World, said

WATCH = Path(sys.executable).parent / "a2a-watch"
EVENTS = {"SessionStart": 10, "UserPromptSubmit": 10, "Stop": 10, "SessionEnd": 2}
_PROGRAMS = ("a2a-id", "a2a-send", "a2a-watch")
_TOOLS = ("cat", "env", "readlink", "setpriv", "sh")

OTHERS_HOOKS = b"""{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "hooks": {
    "SessionStart": [
      {
        "matcher": "startup|resume",
        "hooks": [
          { "type": "command", "command": "git fetch --quiet || true" },
          { "type": "command", "command": "\\"$HOME\\"/.claude/hooks/context.sh", "timeout": 5 }
        ]
      }
    ],
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "~/.claude/hooks/guard.py" }] }
    ],
    "Stop": [
      { "hooks": [{ "type": "command", "command": "osascript -e 'display notification \\"done\\"'" }] },
      {
        "hooks": [
          {
            "type": "prompt",
            "prompt": "Are all tasks done? $ARGUMENTS"
          }
        ]
      }
    ]
  }
}
"""
TYPICAL = """{
    "model": "opus",
    "includeCoAuthoredBy": false,
    "env": {
        "MAX_THINKING_TOKENS": "16000"
    },
    "permissions": {
        "defaultMode": "acceptEdits",
        "allow": [
            "Bash(npm run test:*)",
            "Bash(a2a-send:*)",
            "WebFetch(domain:docs.python.org)"
        ],
        "deny": ["Read(./.env)"]
    },
    "statusLine": {"type": "command", "command": "~/.claude/statusline.sh", "padding": 0},
    "enabledPlugins": {
        "formatter@company-tools": true
    },
    "language": "Grübelt \\u2728"
}
""".encode()
TABS = b"""{
\t"permissions": {
\t\t"allow": []
\t},
\t"sandbox": {
\t\t"enabled": true,
\t\t"filesystem": {
\t\t\t"denyRead": ["~/.ssh"]
\t\t}
\t},
\t"hooks": {}
}
"""
COMMENTS = b"""{
  // what the team agreed on
  "model": "sonnet", /* cheaper */
  "hooks": {}
}
"""
ONE_LINE = b'{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"say done"}]}]}}'
ODD = b"""
{ "cleanupPeriodDays":3e1 ,"x":{ "1.0":1e400, "z": -0 },  "x":[ [ ],{ } , null ]
, "permissions" : { "ask":[ "Bash(rm:*)" ] , "allow" : [
"Bash(ls)" ]}, "hooks": { "Stop" : [ ] }

}"""


@dataclass(frozen=True)
class Real:
    """One person's settings file; `refused` is what setup says when it leaves the file alone."""

    name: str
    text: bytes | None
    mode: int = 0o644
    linked: bool = False
    refused: str = ""

    def __str__(self) -> str:
        return self.name

    def put(self, home: Path) -> Path:
        """Write the file where the client looks for it; return that path."""
        path = home / ".claude" / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.text is not None:
            real = home / "dotfiles" / "claude.json" if self.linked else path
            real.parent.mkdir(exist_ok=True)
            real.write_bytes(self.text)
            real.chmod(self.mode)
            if self.linked:
                path.symlink_to(os.path.join("..", "dotfiles", "claude.json"))
        return path


REAL = (
    Real("no file", None),
    Real("an empty file", b"", 0o600),
    Real("other people's hooks at the same events", OTHERS_HOOKS),
    Real("permissions, plugins, a status line", TYPICAL, 0o640),
    Real("tabs, a sandbox, empty lists", TABS),
    Real("written on Windows", b"\xef\xbb\xbf" + OTHERS_HOOKS.replace(b"\n", b"\r\n")),
    Real("one line without an end", ONE_LINE),
    Real("a link into a dotfiles repository", TYPICAL, linked=True),
    Real("an odd layout", ODD),
    Real("comments", COMMENTS, refused="line 2, column 3"),
    Real("read-only", TYPICAL, 0o444, refused="is read-only"),
)  # fmt: skip


class Household:
    """A world whose PATH is one folder with our commands and a plain python3; `config` is the client's folder."""

    def __init__(self, world: World) -> None:
        self.world, self.bin, self.config = world, world.base / "bin", world.home / ".claude"
        self.settings = self.config / "settings.json"
        self.backup = self.config / "settings.json.before-a2a-watch"
        self.bin.mkdir()
        for name in _PROGRAMS:
            (self.bin / name).symlink_to(WATCH.parent / name)
        for tool in filter(None, map(shutil.which, _TOOLS)):
            (self.bin / Path(tool).name).symlink_to(tool)
        (self.bin / "python3").symlink_to(PYTHON)

    def run(self, *command: str | Path, env: dict[str, str] | None = None, **options: Any) -> Any:
        given = {"PATH": str(self.bin), "A2A_PYTHON": "", **(env or {})}
        return self.world.run(*command, env=given, timeout=60, **options)

    def put(self, text: str | bytes | None, mode: int = 0o644) -> None:
        Real("", text.encode() if isinstance(text, str) else text, mode).put(self.world.home)

    def done(self, *words: str, **options: Any) -> str:
        """Run `a2a-watch`, which does what it is told; return what it printed."""
        done = self.run(WATCH, *words, **options)
        assert (done.returncode, done.stderr) == (0, b""), done
        return str(done.stdout.decode())

    def refused(self, *words: str, prefix: tuple[str, ...] = (), **options: Any) -> str:
        """Run `a2a-watch`, which cannot do what it is told; return the one sentence that says so."""
        done: subprocess.CompletedProcess[bytes] = self.run(*prefix, WATCH, *words, **options)
        said_ = done.stderr.decode()
        assert done.returncode == 1 and said_.count("\n") == 1 and said_.startswith("a2a-watch: "), done
        assert "; try: " in said_ and not said_.endswith("; try: \n"), said_
        return said_

    def at_terminal(
        self, *words: str, answer: str = "", meanwhile: Callable[[], object] = lambda: None
    ) -> tuple[int, str]:
        """Run `a2a-watch` at a terminal; at its question do `meanwhile`, then answer; return exit status and screen."""
        person, program = os.openpty()
        env = {**self.world.env(), "PATH": str(self.bin), "A2A_PYTHON": ""}
        at = self.world.base / "project-a"
        with subprocess.Popen([WATCH, *words], cwd=at, env=env, stdin=program, stdout=program, stderr=program) as run:
            os.close(program)
            screen, asked = b"", False
            while read := _read(person):
                screen += read
                if b"Write this?" in screen and not asked:
                    asked = True
                    meanwhile()
                    os.write(person, answer.encode())
        os.close(person)
        return run.returncode, screen.decode().replace("\r\n", "\n")

    def data(self) -> Any:
        return json.loads(self.settings.read_text("utf-8-sig"))

    def handlers(self, event: str) -> list[dict[str, Any]]:
        """Return our handlers at an event, found by the name of the program."""
        groups = [group for group in self.data().get("hooks", {}).get(event, []) if group.get("matcher", "") == ""]
        return [one for group in groups for one in group["hooks"] if "/drain-inbox" in str(one.get("command"))]

    def fire(self, event: str, session: str = "5e551011", **fields: str) -> Drained:
        """Run what is installed at an event, as the client does in a session of project-b."""
        (handler,) = self.handlers(event)
        if event == "SessionStart":
            fields["source"] = "startup"
        project = str(self.world.base / "project-b")
        given = json.dumps({"session_id": session, "hook_event_name": event, "cwd": project, **fields}).encode()
        env = {"CLAUDE_PROJECT_DIR": project, "CLAUDE_CODE_SESSION_ID": session, "CLAUDE_CODE_ENTRYPOINT": "cli",
               "CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_PID": str(os.getpid())}  # fmt: skip
        return said(self.run("sh", "-c", handler["command"], at="project-b", env=env, input=given))

    def assert_mail_arrives(self) -> None:
        """Use it: a note comes at the start, one at a prompt, each once; after a Stop both are read."""
        for number, event in enumerate(("SessionStart", "UserPromptSubmit")):
            before = set(self.world.names(folder=".read"))
            done = self.run("a2a-send", "project-b", f"note {number}")
            assert done.returncode == 0, done
            shown = self.fire(event)
            assert f"> note {number}\n" in shown.text and shown.error == "", shown
            assert self.fire("UserPromptSubmit").raw == b""
            assert len(set(self.world.names(folder=".read")) - before) == 1
        assert self.world.names(folder=".shown") == ["5e551011"]
        assert (self.fire("Stop").raw, self.fire("SessionEnd").raw) == (b"", b"")
        assert (self.world.names(folder=".shown"), self.world.names()) == ([], [])


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""  # Linux: nobody has the other side open any more
