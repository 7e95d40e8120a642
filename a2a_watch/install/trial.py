"""Hooks' commands tried as the client would call them: real events and a real message, in a root of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from a2a_watch import durable
from a2a_watch.install.settings import MARKER, SWITCH, WOKEN, value_at

LIMIT_SECONDS = 10  # the client's own limit for these hooks
SESSION = "00000000-0000-4000-8000-000000000000"
_FORGET = ("CLAUDE_AGENT_ID", "CLAUDE_ENV_FILE", "CLAUDE_PROJECT_DIR", "A2A_PROJECT_DIR", "A2A_WAKES")
_BODY = "Does the hook show this?"


def try_hook(command: str, beside: str, send: str) -> str:
    """Run `command` at a start, a Stop and a prompt, its root next to the folder `beside`; return how long they took.

    The message is sent by the program `send`, or written by hand when there is none.
    Raises ValueError with a sentence when it does not do its work. Nothing stays on the disk.
    """
    with _folders(beside) as (root, project, agent):
        inbox = os.path.join(root, agent)
        if send:
            _run([send, agent, _BODY], root, project, "a2a-send", b"")
        else:
            os.makedirs(inbox)
            with open(os.path.join(inbox, "2026-01-01T00-00-00Z-1.json"), "w") as file:
                json.dump({"from": "doctor", "body": _BODY}, file)
        said, start = _call(command, root, project, "SessionStart")
        if _BODY not in str(said.get("hookSpecificOutput")):
            raise ValueError(f"at a start it did not show mail, but: {said.get('systemMessage') or said or 'nothing'}")
        _call(command, root, project, "Stop")
        if any(not name.startswith(".") for name in durable.listing(os.path.join(inbox, ".shown"))):
            raise ValueError("it shows mail, but a Stop does not make it read; is --receipts missing?")
        said, prompt = _call(command, root, project, "UserPromptSubmit")
        if said:
            raise ValueError("it shows the same mail twice")
    return f"{start:.0f} ms with mail, {prompt:.0f} ms without"


def try_wake(command: str, beside: str, send: str) -> str:
    """Run `command` at a start and, after the program `send` has sent a message, at two changes of the marker.

    Returns how long the wake took. Raises ValueError with a sentence when it wakes not, or twice. Nothing stays.
    """
    with _folders(beside) as (root, project, agent):
        marker = os.path.join(root, agent, MARKER)
        said, _ = _call(f"{command} SessionStart", root, project, "SessionStart")
        if value_at(said, ("hookSpecificOutput", "watchPaths")) != [marker]:
            raise ValueError("at a start it does not have the client watch the marker")
        _run([send, agent, _BODY], root, project, "a2a-send", b"")
        if not os.path.isfile(marker):
            raise ValueError("a2a-send wrote no marker")
        changed = f"{command} FileChanged"
        _, wake = _call(changed, root, project, "FileChanged", WOKEN)
        _call(changed, root, project, "FileChanged")
    return f"{wake:.0f} ms from the marker"


@contextmanager
def _folders(beside: str) -> Iterator[tuple[str, str, str]]:
    """Make an inbox root next to the folder `beside`, and a repository; yield both and the agent's name."""
    parent = os.path.dirname(beside)
    # A sandbox lets nobody write beside the root; the hook itself runs outside.
    with TemporaryDirectory(prefix=".doctor-", dir=parent if os.access(parent, os.W_OK) else None) as folder:
        # A name that nobody has: a hook that goes to another root must find no mail there.
        root, agent = os.path.join(folder, "inbox"), os.path.basename(folder).lstrip(".")
        project = os.path.join(folder, agent)
        os.makedirs(os.path.join(project, ".git"))
        os.mkdir(root)
        with open(os.path.join(root, SWITCH), "w"):
            yield root, project, agent


def _call(command: str, root: str, project: str, event: str, status: int = 0) -> tuple[dict[str, Any], float]:
    text = json.dumps({"hook_event_name": event, "source": "startup", "session_id": SESSION, "cwd": project}).encode()
    before, words = time.perf_counter(), ["sh", "-c", command]
    printed = _run(words, root, project, f"at {event} it", text, status, CLAUDE_PROJECT_DIR=project)
    milliseconds = (time.perf_counter() - before) * 1000
    try:
        said = json.loads(printed) if printed else {}
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise ValueError(f"at {event} it printed something that the client does not understand")
    return said, milliseconds


def _run(command: list[str], root: str, project: str, who: str, given: bytes, status: int = 0, **more: str) -> bytes:
    """Run a program that should end with `status`, with what a session's variables are; return what it printed."""
    variables = {**more, "A2A_INBOX": root, "CLAUDE_CODE_SESSION_ID": SESSION, "CLAUDE_CODE_SESSION_ATTENDED": "1"}
    variables["CLAUDE_PID"] = str(os.getpid())
    words = ["env", *(word for name in _FORGET for word in ("-u", name)), *(f"{k}={v}" for k, v in variables.items())]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*words, *command], cwd=project, start_new_session=True, stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        printed, complaint = process.communicate(given, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        raise ValueError(f"{who} did not end within {LIMIT_SECONDS} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # what it started ends with it
            process.communicate()
    if process.returncode != status:
        last = complaint.decode("utf-8", "replace").strip().split("\n")[-1]
        raise ValueError(f"{who} failed (exit {process.returncode}): {last}".rstrip(": "))
    return printed
