"""The main job in a throw-away home: a note from project-a to project-b, as a Claude Code session receives it.

Needs Python 3.9 and git, installs nothing, and checks what it shows.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
HOOK = REPO / "hooks" / "drain-inbox"
COLUMNS = max(20, min(shutil.get_terminal_size().columns, 80))
SESSION = "0b9f5c1e-3c1d-4e0a-9d52-6f0f7d1f2a10"
SEND = """a2a-send project-b --subject "Bumped the shared API" <<'EOF'
When you get this: pull the shared config
and re-run your build.
EOF"""


def say(text: str = "", prefix: str = "") -> None:
    """Print lines behind `prefix`, broken between words where the terminal ends."""
    for line in text.split("\n"):
        more = prefix + "> " if line.startswith("> ") else prefix
        for part in textwrap.wrap(line, COLUMNS, initial_indent=prefix, subsequent_indent=more) or [prefix.rstrip()]:
            print(part)


def title(text: str) -> None:
    """Begin a part of the story."""
    say("\n== %s\n" % text)


def expect(right: bool, what: str) -> None:
    """Stop with one sentence when something did not happen."""
    if not right:
        sys.exit("make demo: %s; try: make check" % what)


class Demo:
    """A home with two git repositories in it, and a client that calls the hook there."""

    def __init__(self, home: Path) -> None:
        self.home = home
        # Nothing of the caller's session: the demo may be started from one.
        self._env = {
            "HOME": str(home),
            "PATH": "%s:%s" % (REPO / "bin", os.environ.get("PATH", os.defpath)),
            "A2A_PYTHON": sys.executable,
        }
        for name in ("project-a", "project-b"):
            self.run(["git", "init", "--quiet", name], home)

    def run(self, command: list[str], folder: Path, given: str = "", **variables: str) -> str:
        """Run a command with `given` on its standard input; return what it prints."""
        done = subprocess.run(
            command, cwd=folder, env={**self._env, **variables}, input=given.encode(),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        printed = done.stdout.decode("utf-8", "replace")
        expect(done.returncode == 0, "%s failed: %s" % (command[0], printed.strip()))
        return printed

    def event(self, name: str, **more: str) -> dict[str, str]:
        """Return what the client writes to a hook's standard input."""
        folder = self.home / "project-b"
        about = {"session_id": SESSION, "transcript_path": str(self.home / "transcript.jsonl"), "cwd": str(folder)}
        return {**about, "hook_event_name": name, **more}

    def hook(self, event: dict[str, str]) -> str:
        """Do what the client does with a hook, with the variables that it sets."""
        variables = {
            "CLAUDECODE": "1",
            "CLAUDE_PROJECT_DIR": event["cwd"],
            "CLAUDE_CODE_SESSION_ID": event["session_id"],
            "CLAUDE_CODE_ENTRYPOINT": "cli",
            "CLAUDE_CODE_SESSION_ATTENDED": "1",
            "CLAUDE_PID": str(os.getpid()),
        }
        if event["hook_event_name"] == "SessionStart":
            variables["CLAUDE_ENV_FILE"] = str(self.home / "session-env")
        return self.run([str(HOOK), "--receipts"], Path(event["cwd"]), json.dumps(event), **variables)

    def tell(self) -> None:
        """Tell the story."""
        title("A session in project-a leaves a note and goes on")
        say("$ " + SEND)
        sent = self.run(["sh", "-c", SEND], self.home / "project-a")
        expect("sent: project-a -> project-b" in sent, "nothing was sent: " + sent.strip())
        say(sent.rstrip("\n"))

        title("Later, a session opens in project-b")
        event = self.event("SessionStart", source="startup")
        say("Claude Code runs hooks/drain-inbox --receipts and gives it\n")
        say(json.dumps(event).replace(str(self.home), "~"), "  ")
        printed = self.hook(event)
        expect(printed.startswith("{"), "the hook showed no mail: %s" % printed.strip())
        answer = json.loads(printed)
        say("\nYou see one line:\n")
        say(answer["systemMessage"], "  ")
        say("\nThe session has this before it thinks:\n")
        say(answer["hookSpecificOutput"]["additionalContext"].rstrip("\n"), "  ")

        title("Shown is not read: its turn must end (Stop)")
        inbox = self.home / ".claude" / "inbox" / "project-b"
        expect((inbox / ".shown" / SESSION).exists(), "the drain left no receipt")
        say("Until then a receipt stays open; if the session dies, the note comes back.\n")
        self.hook(self.event("Stop"))
        expect(not (inbox / ".shown" / SESSION).exists(), "Stop did not close the receipt")
        archive = sorted(path.name for path in (inbox / ".read").iterdir())
        expect(len(archive) == 1, "the note is not in the archive")
        say("$ ls ~/.claude/inbox/project-b/.read\n" + "\n".join(archive))

        title("The next prompt there")
        printed = self.hook(self.event("UserPromptSubmit", prompt="go on"))
        expect(not printed, "the note was shown twice")
        say("No mail waits: the hook prints nothing, in about a millisecond.")

        title("For real")
        install()


def install() -> None:
    """Say what to type."""
    say("Here, in this checkout, one of\n")
    say("uv tool install .\npipx install .", "  ")
    say("\nand then\n")
    say("a2a-watch setup\na2a-watch doctor", "  ")
    say("\nSessions that start from then on have their mail in front of them.")


def main() -> None:
    """Run the demo; exit 1 with one sentence when it is not as it should be."""
    if not shutil.which("git"):
        sys.exit("make demo: git is missing; try: sudo apt install git")
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory(prefix="a2a-demo-") as home:
        try:
            Demo(Path(home).resolve()).tell()
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # `make demo | head`: nobody reads on


if __name__ == "__main__":
    main()
