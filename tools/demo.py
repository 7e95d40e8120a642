"""The main job in a throw-away home: a note from project-a to project-b, as a Claude Code session receives it.

Needs Python 3.9 and git, installs nothing, and checks what it shows.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
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
        inbox = self.home / ".claude" / "inbox" / "project-b"
        marker = inbox / ".pending"
        expect(marker.exists(), "the send left no marker")
        say("\nA marker appears, for your prompt or status line:\n")
        waiting = json.loads(marker.read_text())
        say("$ ls ~/.claude/inbox/project-b/.pending")
        say("%d waiting, from %s: %s" % (waiting["count"], ", ".join(waiting["from"]), waiting["subject"]), "  ")

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
        expect(not marker.exists(), "the marker stayed")
        say("No mail waits: the marker is gone, and the hook prints nothing, in about a millisecond.")

        title("The watcher, which is optional, tells you")
        self.watch(inbox)

        title("For real")
        install()

    def watch(self, inbox: Path) -> None:
        """Show what the watcher does, where its libraries are: the marker of a foreign note, and a notification."""
        python = next((one for one in (REPO / ".venv" / "bin" / "python", sys.executable) if has_libraries(one)), None)
        if not python:
            say("It needs two libraries, which are not here: make .venv/ready, and make demo once more.")
            return
        with contextlib.ExitStack() as ends:
            desk = None
            if not os.environ.get("DBUS_SESSION_BUS_ADDRESS") and shutil.which("dbus-daemon"):
                bus = ends.enter_context(program("dbus-daemon", "--session", "--nofork", "--print-address"))
                self._env["DBUS_SESSION_BUS_ADDRESS"] = line_of(bus)
                desk = ends.enter_context(program(python, REPO / "tools" / "desk.py", env=self._env))
                line_of(desk)
            elif "DBUS_SESSION_BUS_ADDRESS" in os.environ:
                self._env["DBUS_SESSION_BUS_ADDRESS"] = os.environ["DBUS_SESSION_BUS_ADDRESS"]
            code = "import sys; sys.argv[0] = 'a2a-watch'; from a2a_watch.cli import main; main()"
            command = [python, "-c", code, "run"]
            watcher = ends.enter_context(program(*command, cwd=REPO, env=self._env, stderr=subprocess.STDOUT))
            while "notif" not in (said := line_of(watcher)):
                say(said)
            say("\nA script that knows nothing of us writes a note:\n\n$ mv .note.tmp note.json")
            note = {
                "id": "1",
                "from": "nightly-build",
                "to": "project-b",
                "subject": "Tests fail since noon",
                "body": "See log",
            }
            (inbox / ".note.tmp").write_text(json.dumps(note))
            (inbox / ".note.tmp").rename(inbox / "note.json")
            say(line_of(watcher))
            expect((inbox / ".pending").exists(), "the watcher made no marker")
            say("\nand there is the marker.")
            if desk:
                shown = json.loads(line_of(desk))
                say("This is what a desktop would show:\n")
                say("%s\n%s" % (shown["title"], shown["body"]), "  ")
            elif "DBUS_SESSION_BUS_ADDRESS" in self._env:
                say("A notification is on your screen.")
            watcher.terminate()
            expect(watcher.wait(10) == 0, "the watcher did not end well")


@contextlib.contextmanager
def program(*command: object, **options: object) -> Iterator[subprocess.Popen[str]]:
    """Run a program in the background, its output to be read; it is ended on the way out."""
    options = {"stderr": subprocess.DEVNULL, **options}
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True, **options)  # type: ignore
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def line_of(child: subprocess.Popen[str]) -> str:
    """Return the next line that a program prints, within 20 s."""
    assert child.stdout
    signal.signal(signal.SIGALRM, lambda *_: expect(False, "%r says nothing" % (child.args,)))
    signal.alarm(20)
    line = child.stdout.readline().strip()
    signal.alarm(0)
    return line


def has_libraries(python: object) -> bool:
    """Tell whether an interpreter has what the watcher needs."""
    code = "import sys, watchdog.observers, desktop_notifier, click; sys.exit(sys.version_info < (3, 11))"
    try:
        return subprocess.call([str(python), "-c", code], stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def install() -> None:
    """Say what to type."""
    say("Here, in this checkout, one of\n")
    say("uv tool install .\npipx install .", "  ")
    say("\nand then\n")
    say("a2a-watch setup\na2a-watch doctor\na2a-watch service install", "  ")
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
