"""The watcher: observe, scan, wait; a wake only names which agent to look at, and the directory says what is true.

Everything happens in the main thread. watchdog's threads, the notices' thread and signals put calls into one queue.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from a2a_watch.light.identity import Surroundings
from a2a_watch.message import one_line
from a2a_watch.names import Problem, stamp
from a2a_watch.watch.board import Notice
from a2a_watch.watch.post import POLL_SECONDS, Options, Post
from a2a_watch.watch.record import at
from a2a_watch.watch.supervisor import Supervisor

if TYPE_CHECKING:
    from a2a_watch.watch.notices import Notices
    from a2a_watch.watch.onmail import Call

CALLS = 10_000  # taken from the queue before the looks that they ask for
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

log = logging.getLogger("a2a-watch")


class Watcher:
    """One watcher of `root`; `run` returns when a signal ends it."""

    def __init__(self, here: Surroundings, options: Options) -> None:
        self._here, self._root, self._options = here, here.root(), options
        self._supervisor = Supervisor(here.notify_socket, here.watchdog_seconds)
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._post: Post | None = None
        self._notices: Notices | None = None
        self._way = "starting" if options.notify else "none asked for"
        self._stopping = ""
        self._wrong: dict[str, str] = {}  # what is wrong with what, said once as long as it is the same
        self._rescan_at = self._poll_at = 0.0

    def run(self) -> None:
        """Watch until a signal; raise Problem when another watcher has the root."""
        for number in STOP_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                signal.signal(number, self._signal)
        self._guard(self._rescan)
        self._supervisor.tell(f"READY=1\nSTATUS=watching {self._root}")
        if self._options.notify:
            # The desktop's libraries: 9 MB that markers need not; 8 without TLS, which nothing here speaks.
            sys.modules["ssl"] = None  # type: ignore[assignment]
            from a2a_watch.watch.notices import Notices

            self._notices = Notices(lambda *said: self._calls.put(partial(self._reported, *said)))
        while not self._stopping:
            self._guard(self._turn)
        self._supervisor.tell("STOPPING=1")
        if self._notices:
            self._notices.stop()
        if self._post:
            self._post.close()
        log.info("stopped by %s", self._stopping)

    def _guard(self, work: Callable[[], None]) -> None:
        """Do a piece of work; whatever goes wrong in it, the watch goes on, and the next rescan looks again."""
        try:
            work()
        except Problem:
            raise
        except Exception as error:
            self._complain("a turn", f"{type(error).__name__}: {error}; going on", error)

    def _signal(self, number: int, _: object) -> None:
        # A queue of this kind may be used in a signal handler; logging may not.
        self._calls.put(partial(setattr, self, "_stopping", signal.Signals(number).name))

    def _turn(self) -> None:
        """Wait for the next thing to do, and do it."""
        due = [self._rescan_at, *([self._poll_at] if self._polls() else [])]
        if self._post:
            more = [self._post.board.due(), self._post.on_mail.due() if self._post.on_mail else None]
            due += [when for when in more if when is not None]
        wait = max(0.0, min(due) - time.monotonic())
        if self._supervisor.patience:
            wait = min(wait, self._supervisor.patience / 2)
        try:
            self._calls.get(timeout=wait)()
            for _ in range(CALLS):
                self._calls.get_nowait()()
        except queue.Empty:
            pass
        self._supervisor.tell("WATCHDOG=1")
        now = time.monotonic()
        if not self._stopping and now >= self._rescan_at:
            self._rescan()
        elif not self._stopping and self._post and self._polls() and now >= self._poll_at:
            self._poll_at = now + POLL_SECONDS
            self._post.wake_changed(now)
        if self._post and not self._stopping:
            self._work(self._post)

    def _polls(self) -> bool:
        return not (self._post and self._post.hears)

    def _work(self, post: Post) -> None:
        for agent in post.board.looks(time.monotonic()):
            try:
                before, waiting = post.look(agent)
            except OSError as error:
                self._complain(
                    agent, f"{error.filename or agent}: {error.strerror}; looking again with the next rescan"
                )
                continue
            self._wrong.pop(agent, None)
            if waiting != before:
                log.info("%s: %d waiting, %d before", one_line(agent, 100), waiting, before)
        if self._notices and (notice := post.board.notice(time.monotonic())):
            # Order: remembered, then shown. Killed between, it was never shown; the other way round, twice.
            self._save(announced=[*post.board.told(), *notice.keys])
            self._notices.show(notice)
        for notice in post.board.over():
            if self._notices:
                self._notices.withdraw(notice)
        if on_mail := post.on_mail:
            for call in on_mail.calls(time.monotonic()):
                self._save(called=on_mail.told())  # Order: the same
                on_mail.run(call)

    def _rescan(self) -> None:
        """See that everything that must live does, and look at every agent."""
        now = time.monotonic()
        self._poll_at = now + POLL_SECONDS
        self._rescan_at = now + (self._options.rescan if self._post else min(POLL_SECONDS, self._options.rescan))
        if self._post and not self._post.is_there():
            self._post.close()
            self._post = None
        if not self._post:
            try:
                post = Post(self._root, self._options)
            except OSError as error:
                self._complain("root", f"{self._root}: {error.strerror}; looking again every {POLL_SECONDS:g} s")
                return
            self._post, self._rescan_at = post, now + self._options.rescan
            if self._options.on_mail:
                self._have_run(post)
            self._wrong.pop("root", None)
            self._save(pid=os.getpid(), since=stamp(time.time()), notices=self._way, error=None)
        # Order: hear, then look, so that nothing falls between.
        how = self._post.how
        self._post.hear(self._heard, self._trouble)
        if self._post.how != how:
            log.info("watching %s: %s", self._root, self._post.how)
            self._save(observes=self._post.how)
        self._post.wake_all(now)
        self._work(self._post)

    def _have_run(self, post: Post) -> None:
        from a2a_watch.watch.onmail import OnMail

        post.on_mail = OnMail(
            self._options, post.record.keys("called"), self._here.variables,
            lambda *said: self._calls.put(partial(self._ended, post, *said)),
        )  # fmt: skip

    def _ended(self, post: Post, call: Call, why: str) -> None:
        """Take that the person's command has ended."""
        if post.on_mail:
            post.on_mail.ended(call)
        if why:
            self._complain("on-mail", f"--on-mail {self._options.on_mail[0]}: {why}; mail is delivered all the same")
        else:
            self._wrong.pop("on-mail", None)
            log.info("ran %s for %s: %d new", self._options.on_mail[0], one_line(call.agent, 100), len(call.mail))

    def _heard(self, path: str) -> None:
        self._calls.put(partial(self._woke, path))

    def _woke(self, path: str) -> None:
        if self._post and not self._post.woke(path):
            self._rescan_at = 0.0

    def _trouble(self, what: str) -> None:
        self._calls.put(partial(self._complain, "events", f"{what}; looking at everything"))
        self._calls.put(partial(setattr, self, "_rescan_at", 0.0))

    def _reported(self, what: str, notice: Notice | None, says: str) -> None:
        """Take what became of a notice, or how notices are shown."""
        if not notice:
            self._way = says
            if what == "failed":
                self._complain("notices", f"no notification can be shown: {says}; mail is marked all the same")
            else:
                log.info("notifications: by %s", says)
            self._save(notices=f"none: {says}" if what == "failed" else says)
        elif self._post:
            board, now = self._post.board, time.monotonic()
            said = f"{what}: {one_line(notice.title, 200)}" + (f": {says}" if says else "")
            if what == "taken down":
                log.info("%s", said)
                return
            if what == "failed":
                board.failed(now)
                self._complain("notices", f"no notification can be shown: {says}; mail is marked all the same")
            else:
                board.shown(notice, now) if what == "shown" else board.unsure(notice, now)
                self._wrong.pop("notices", None)
                log.info("%s", said)
            self._save(announced=board.told(), last_notice=at(time.time(), said))

    def _save(self, **facts: object) -> None:
        try:
            if self._post:
                self._post.record.save(**facts)
        except FileNotFoundError:
            pass  # the root is gone, which the next rescan says
        except OSError as error:
            log.warning("%s: %s; going on without", error.filename or self._root, error.strerror)

    def _complain(self, about: str, what: str, error: BaseException | None = None) -> None:
        if self._wrong.get(about) != what:
            self._wrong[about] = what
            log.warning("%s", one_line(what, 1000), exc_info=error if log.isEnabledFor(logging.DEBUG) else None)
            self._save(error=at(time.time(), what))
