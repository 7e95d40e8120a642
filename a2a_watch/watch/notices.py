"""Puts notices on the person's desktop: the only file that knows desktop-notifier.

It has a thread of its own, so that a desktop that does not answer holds up nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable
from html import escape
from typing import Any, Protocol

from a2a_watch.watch.board import Notice

LIMIT_SECONDS = 5.0  # for each call: a mute notification server never answers
SCRIPT = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")


class Unshown(Exception):
    """The notice was not shown, and why."""


class Unsure(Exception):
    """The notice may have been shown: the desktop took it and gave no answer."""


class Way(Protocol):
    """A way to show a notice."""

    name: str

    async def show(self, notice: Notice) -> str:
        """Show it; return by which name to withdraw it; raise Unshown or Unsure."""

    async def withdraw(self, identifier: str) -> None:
        """Take it down if it is still up."""

    def close(self) -> None:
        """Let go of everything that is open."""


class Desktop:
    """desktop-notifier: D-Bus, or the Notification Center for a Python that is a signed program."""

    name = "desktop"

    def __init__(self) -> None:
        from desktop_notifier import DesktopNotifier

        self._notifier = DesktopNotifier(app_name="a2a-watch", app_icon=None)
        # It never raises: why a notice was not shown stands in its log.
        self._why = _Why()
        logger = logging.getLogger("desktop_notifier")
        logger.handlers, logger.propagate = [self._why], False

    async def connect(self) -> bool:
        """Tell whether notices can be shown here; raise Unshown with what is wrong."""
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                return bool(await self._notifier.get_capabilities())
        except TimeoutError:
            raise Unshown("the notification server gives no answer") from None
        except Exception as error:  # whatever a bus may say
            # What dbus-fast calls it when no variable says where a bus is.
            no_bus = isinstance(error, OSError) or type(error).__name__ == "InvalidAddressError"
            raise Unshown("there is no session bus" if no_bus else _short(error)) from None

    async def show(self, notice: Notice) -> str:
        """Show it; return by which name to withdraw it; raise Unshown or Unsure."""
        sent: list[bool] = []
        self._why.text = ""
        # Linux: a server may read the body as markup, the title never.
        body = escape(notice.body, quote=False) if sys.platform == "linux" else notice.body
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                identifier = await self._notifier.send(
                    notice.title, body, on_dispatched=lambda: sent.append(True), thread="a2a-watch"
                )
        except TimeoutError:
            raise Unsure("the notification server gave no answer") from None
        if not sent:
            raise Unshown(self._why.text or "the notification server refused it")
        return identifier

    async def withdraw(self, identifier: str) -> None:
        """Take it down if it is still up."""
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                await self._notifier.clear(identifier)
        except (KeyError, TimeoutError):
            pass  # the person has closed it, or nobody is there to ask

    def close(self) -> None:
        """Let go of its connection: after a failure the same one fails for ever."""
        bus = getattr(getattr(self._notifier, "_backend", None), "bus", None)
        if bus:
            bus.disconnect()


class _Why(logging.Handler):
    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Remember it."""
        error = record.exc_info[1] if record.exc_info else None
        self.text = _short(error) if error else record.getMessage()


def _short(error: BaseException) -> str:
    if isinstance(error, OSError | EOFError):
        return "the session bus is gone"
    return f"{type(error).__name__}: {error}".rstrip(": ").partition("\n")[0]


class Osascript:
    """macOS: for a Python that is no signed program. It speaks as Script Editor, and cannot take down."""

    name = "osascript"

    def __init__(self, program: str = "/usr/bin/osascript") -> None:
        self._program = program

    async def show(self, notice: Notice) -> str:
        """Show it; raise Unshown."""
        # The text goes in as arguments: in the script it would be read as one.
        words = [word for line in SCRIPT for word in ("-e", line)]
        try:
            child = await asyncio.create_subprocess_exec(
                self._program, *words, notice.title, notice.body, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
            )
        except OSError as error:
            raise Unshown(f"{self._program}: {error.strerror}") from None
        try:
            _, said = await asyncio.wait_for(child.communicate(), LIMIT_SECONDS)
        except TimeoutError:
            child.kill()
            await child.wait()
            raise Unsure(f"{self._program} did not end") from None
        if child.returncode:
            raise Unshown(f"{self._program}: {said.decode('utf-8', 'replace').strip()}")
        return ""

    async def withdraw(self, identifier: str) -> None:
        """Leave it: it goes by itself."""

    def close(self) -> None:
        """Nothing is open."""


async def find_way() -> Way:
    """Return a way that works here; raise Unshown when there is none."""
    desktop = Desktop()
    try:
        if await desktop.connect():
            return desktop
    except Unshown:
        desktop.close()
        raise
    if sys.platform == "darwin":
        return Osascript()
    raise Unshown("the desktop offers no notifications")


class Notices:
    """Shows and withdraws in a thread of its own; `report(what, notice, says)` is called there.

    `what` is `shown`, `unsure` or `failed`, one for each `show`, later `taken down` perhaps; with no notice `ready`
    or `failed`: which way notices are shown, or why none.
    """

    def __init__(self, report: Callable[[str, Notice | None, str], None]) -> None:
        self._report = report
        self._way: Way | None = None
        # What a lost connection leaves behind in asyncio is no news to a person.
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        self._up: dict[Notice, tuple[Way, str]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._call(self._prepare())

    def show(self, notice: Notice) -> None:
        """Have it shown."""
        self._call(self._show(notice))

    def withdraw(self, notice: Notice) -> None:
        """Have it taken down."""
        self._call(self._withdraw(notice))

    def stop(self) -> None:
        """Let go of the desktop; what is up stays up."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(1)

    def _run(self) -> None:
        self._loop.run_forever()
        if self._way:
            self._way.close()

    def _call(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _prepare(self) -> None:
        try:
            self._way = await find_way()
            self._report("ready", None, self._way.name)
        except Exception as error:
            self._report("failed", None, str(error) if isinstance(error, Unshown) else _short(error))

    async def _show(self, notice: Notice) -> None:
        try:
            if not self._way:
                self._way = await find_way()
                self._report("ready", None, self._way.name)
            self._up[notice] = (self._way, await self._way.show(notice))
            self._report("shown", notice, "")
        except Exception as error:  # each notice has a report, or none would follow it
            if self._way:
                self._way.close()
            self._way = None
            self._up.clear()  # what another connection has put up cannot be taken down by a new one
            why = str(error) if isinstance(error, Unshown | Unsure) else _short(error)
            self._report("unsure" if isinstance(error, Unsure) else "failed", notice, why)

    async def _withdraw(self, notice: Notice) -> None:
        way, identifier = self._up.pop(notice, (None, ""))
        if way:
            await way.withdraw(identifier)
            self._report("taken down", notice, "its mail was read")
