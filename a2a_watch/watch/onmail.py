"""Runs the person's `--on-mail` command, once for each burst of mail for an agent. Delivery knows nothing of it.

When a burst is over is the notices' rule, for each agent by itself: a Board with one agent on it.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from subprocess import PIPE, Popen, TimeoutExpired

from a2a_watch.watch.board import Board, Mail, Notice
from a2a_watch.watch.post import Options

LIMIT_SECONDS = 30.0  # for each run
AT_ONCE = 8  # runs; one at a time for each agent
MESSAGES = 20  # of a burst are given in full, the newest


@dataclass(frozen=True)
class Call:
    """One run of the command: new mail for `agent`, oldest first."""

    agent: str
    mail: tuple[Mail, ...]


class OnMail:
    """What the command was run for, and its runs; `told` are the keys from before, oldest first.

    `variables` gives the environment of a run, with what it takes added; `ended(call, why)` is called in another
    thread when one has ended, `why` empty when it did well.
    """

    def __init__(
        self,
        options: Options,
        told: Iterable[str],
        variables: Callable[..., dict[str, str]],
        ended: Callable[[Call, str], None],
    ) -> None:
        self._options, self._variables, self._ended = options, variables, ended
        self._boards: dict[str, Board] = {}
        self._mail: dict[str, list[Mail]] = {}
        self._running: dict[str, Popen[bytes] | None] = {}
        self._stopped = False
        before: dict[str, list[str]] = {}
        for key in told:
            before.setdefault(key.partition("/")[0], []).append(key)
        for agent, keys in before.items():
            self._boards[agent] = Board(keys)

    def saw(self, agent: str, mail: list[Mail], now: float) -> None:
        """Take what waits for `agent`."""
        if agent in self._options.quiet or not (mail or agent in self._mail):
            return
        self._boards.setdefault(agent, Board()).saw(agent, mail, now)
        self._mail[agent] = mail
        if not mail:
            del self._mail[agent]

    def calls(self, now: float) -> list[Call]:
        """Return the runs to begin now; each is owed a `run`, and none of its mail is ever returned again."""
        found: list[Call] = []
        for agent in self._mail:
            if agent not in self._running and len(self._running) < AT_ONCE:
                board = self._boards[agent]
                if notice := board.notice(now):
                    board.unsure(notice, now)
                    found.append(self._call(agent, notice))
                    self._running[agent] = None
        return found

    def told(self) -> list[str]:
        """Return the keys to remember."""
        return [key for board in self._boards.values() for key in board.told()]

    def due(self) -> float | None:
        """Return when there is a run to begin; None when only mail or the end of one can bring it."""
        if len(self._running) >= AT_ONCE:
            return None
        times = [self._boards[agent].due() for agent in self._mail if agent not in self._running]
        return min((when for when in times if when is not None), default=None)

    def run(self, call: Call) -> None:
        """Begin it, in a thread of its own."""
        threading.Thread(target=self._work, args=(call,), daemon=True).start()

    def ended(self, call: Call) -> None:
        """Take that it has ended."""
        self._running.pop(call.agent, None)

    def stop(self) -> None:
        """Begin nothing more, and end what runs."""
        self._stopped = True
        for process in [process for process in self._running.values() if process]:
            _kill(process)

    def _call(self, agent: str, notice: Notice) -> Call:
        return Call(agent, tuple(one for one in self._mail[agent] if one.key in notice.keys))

    def _work(self, call: Call) -> None:
        why = "it was not run"
        try:
            why = self._do(call)
        except OSError as error:
            why = error.strerror or str(error)
        finally:
            self._ended(call, why)

    def _do(self, call: Call) -> str:
        """Run it and wait for its end; return what was wrong. Raises OSError when it cannot be run."""
        newest, shows = call.mail[-1], self._options.preview
        fields = {
            "agent": call.agent,
            "count": len(call.mail),
            "from": newest.sender,
            "subject": newest.subject if shows else "",
            "messages": [
                {"from": one.sender, "subject": one.subject if shows else "", "excerpt": one.excerpt if shows else ""}
                for one in call.mail[-MESSAGES:]
            ],
        }
        given = {f"A2A_{name.upper()}": str(value) for name, value in fields.items() if name != "messages"}
        # A group of its own, so that all that it starts can be ended; what it says goes where the watcher's log goes.
        process = Popen(
            self._options.on_mail, stdin=PIPE, stdout=2, env=self._variables(**given), start_new_session=True
        )
        self._running[call.agent] = process
        if self._stopped:
            _kill(process)
        try:
            process.communicate(json.dumps(fields).encode() + b"\n", LIMIT_SECONDS)
        except TimeoutExpired:
            _kill(process)
            process.wait()
            return f"it did not end within {LIMIT_SECONDS:g} s, and was killed"
        status = process.returncode
        return (
            "" if status == 0 else f"it ended by {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        )


def _kill(process: Popen[bytes]) -> None:
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass  # it has just ended
