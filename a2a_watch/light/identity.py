"""Who am I, and where is the mail: the only reader of the environment.

Five rules, first that answers; `hooks/agent.sh` gives the same name or none.
"""

from __future__ import annotations

import os
import stat

from a2a_watch.names import Problem, agent_name

UNKNOWN = "unknown"
ID_FILE_BYTES = 1 << 24  # a shell's `read` knows no bound, and both must find the same first line


class Surroundings:
    """What one process was given: variables, start folder, home; read once."""

    def __init__(self) -> None:
        env = os.environ.get
        self.agent_id = env("CLAUDE_AGENT_ID", "")
        # Only hooks have CLAUDE_PROJECT_DIR; the client's Bash has what the session's start exported instead.
        self.is_hook = bool(env("CLAUDE_PROJECT_DIR"))
        self.start = env("CLAUDE_PROJECT_DIR") or env("A2A_PROJECT_DIR") or _working_folder()
        self.home = env("HOME") or os.path.expanduser("~")
        self.inbox_root = env("A2A_INBOX", "")
        self.config = env("CLAUDE_CONFIG_DIR") or os.path.join(self.home, ".claude")
        self.session = env("CLAUDE_CODE_SESSION_ID", "")
        self.client_pid = env("CLAUDE_PID", "")
        self.is_claude = bool(env("CLAUDECODE") or env("CLAUDE_CODE_ENTRYPOINT") or self.is_hook or self.session)
        attended = env("CLAUDE_CODE_SESSION_ATTENDED", "")
        self.unattended = attended == "0" or (not attended and env("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk"))
        self.drains_unattended = env("A2A_UNATTENDED", "") == "drain"

        # What supervises the watcher, and where the desktop's bus may be: sd_notify(3), the XDG base directories.
        self.notify_socket, patience = env("NOTIFY_SOCKET", ""), env("WATCHDOG_USEC", "")
        self.watchdog_seconds = int(patience) / 1e6 if patience.isdecimal() else 0.0
        self.runtime = env("XDG_RUNTIME_DIR", "")
        self.config_home = env("XDG_CONFIG_HOME") or os.path.join(self.home, ".config")

    def lend_bus(self) -> str:
        """Let libraries find the session's bus where it always is, when no variable says so; return where it is."""
        bus = os.path.join(self.runtime, "bus")
        if self.runtime and os.path.exists(bus):
            os.environ.setdefault("DBUS_SESSION_BUS_ADDRESS", "unix:path=" + bus)
        return os.environ.get("DBUS_SESSION_BUS_ADDRESS", "")

    def variables(self, **more: str) -> dict[str, str]:
        """Return the environment for a program that is started, with `more` in it."""
        return {**os.environ, **more}

    def root(self) -> str:
        """Return the absolute path of the folder of all inboxes; raise Problem when it has none."""
        given = self.inbox_root
        root = given or os.path.join(self.home, ".claude", "inbox")
        if root.startswith("~/"):
            root = self.home + root[1:]
        if not os.path.isabs(root):
            what = "A2A_INBOX is %s" % ascii(given) if given else "there is no HOME"
            raise Problem("%s: the inbox root must be an absolute path" % what, "export A2A_INBOX=/an/absolute/path")
        return root.rstrip("/") or "/"

    def short(self, path: str) -> str:
        """Return `path` with the home folder written as `~`."""
        inside = self.home not in ("", "/") and path.startswith(self.home.rstrip("/") + "/")
        return "~" + path[len(self.home.rstrip("/")) :] if inside else path


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # it was deleted: no rule that needs a folder answers


class Answer:
    """What one rule gave: a name, or none and why; `Problem` when it gave something that is no name."""

    def __init__(self, rule: int, source: str, given: str | OSError, why: str) -> None:
        self.rule, self.source, self.why = rule, source, why
        self.name, self.problem = "", ""
        if isinstance(given, OSError):
            # Going on to the next rule would take a stranger's name, and a stranger's mail.
            self.problem = "rule %d cannot be read: %s: %s" % (rule, source, given.strerror)
        elif given:
            try:
                self.name = agent_name(given)
            except Problem as problem:
                self.problem = "%s (rule %d: %s)" % (problem, rule, source)


class Identity:
    """The agent of this process: the name, the rule that gave it, the project root (empty when there is no folder)."""

    def __init__(self, here: Surroundings) -> None:
        base = "/" if os.path.isabs(here.start) else _working_folder()
        start = os.path.realpath(os.path.join(base, here.start)) if base and here.start else ""
        git_root = _git_root(start)
        self.project_root = git_root or start
        pinned = os.path.join(self.project_root, ".agent-id")
        everywhere = os.path.join(here.home, ".claude", "agent-id")
        there = bool(self.project_root)
        where = "git root %s" % git_root if git_root else "no git root from %s upwards" % (start or "a deleted folder")
        self.answers = [
            Answer(1, "$CLAUDE_AGENT_ID", here.agent_id, "not set"),
            Answer(2, pinned, _first_line(pinned) if there else "", "empty or not there"),
            Answer(3, where, os.path.basename(git_root), "no name" if git_root else "none"),
            Answer(4, everywhere, _first_line(everywhere), "empty or not there"),
            Answer(5, "the last resort", UNKNOWN, ""),
        ]
        self.answer = next(answer for answer in self.answers if answer.name or answer.problem)

    def name(self) -> str:
        """Return the agent's name; raise Problem when the rule that answers gives something else."""
        if self.answer.problem:
            raise Problem(self.answer.problem, "a2a-id --explain")
        return self.answer.name


def _git_root(start: str) -> str:
    folder = start
    while folder:
        entry = os.path.join(folder, ".git")
        # A worktree or a submodule has a file there.
        if os.path.isdir(entry) or os.path.isfile(entry):
            return folder
        folder = os.path.dirname(folder) if folder != "/" else ""
    return ""


def _first_line(path: str) -> str | OSError:
    try:
        # Not blocking: a pipe by this name must not hold a session up.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return OSError(0, "it is not a file")
        raw = b""
        while b"\n" not in raw and len(raw) < ID_FILE_BYTES and (more := os.read(handle, 1 << 16)):
            raw += more
    except OSError as error:
        return error
    finally:
        os.close(handle)
    # NULs are dropped because `read` of every shell drops them, and the guard has nothing else.
    line = raw.replace(b"\0", b"").split(b"\n")[0].decode("utf-8", "surrogateescape")
    return line.lstrip("\ufeff").strip()
