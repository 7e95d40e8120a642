"""What tells that something changed under the root: the only file that knows watchdog.

An event carries no information but a path; watchdog's own troubles are wakes too.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

# Always a filter: unfiltered, watchdog hears mere reads, and its own walk over many folders keeps it busy for ever.
EVENTS: list[type[FileSystemEvent]] = [
    *(FileCreatedEvent, FileMovedEvent, FileDeletedEvent, DirCreatedEvent, DirMovedEvent, DirDeletedEvent),
]


class Wakeups(FileSystemEventHandler):
    """`heard(path)` is called in another thread for each path that changed, `trouble(what)` when changes were lost."""

    def __init__(self, heard: Callable[[str], None], trouble: Callable[[str], None]) -> None:
        self._heard = heard
        # Linux: one warning for each folder that is made inside another, of up to 400 kB.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="watchdog")
        # It says in its log, and nowhere else, that the kernel dropped events.
        logger = logging.getLogger("watchdog")
        logger.handlers, logger.propagate = [_Trouble(trouble)], False
        self._observer = Observer()

    def start(self, root: str) -> None:
        """Hear of everything under `root`, an absolute path without links; raises OSError when it cannot be."""
        # Links are not followed: a message's folder is reached by its own name, and a link may lead anywhere.
        self._observer.schedule(self, root, recursive=True, event_filter=EVENTS)
        self._observer.start()

    def dispatch(self, event: FileSystemEvent) -> None:
        """Hand on what changed."""
        for path in (event.src_path, event.dest_path):
            if path:
                self._heard(path if isinstance(path, str) else path.decode("utf-8", "surrogateescape"))

    def is_alive(self) -> bool:
        """Tell whether every thread that must run still does: one that died is silent for ever."""
        emitters = list(self._observer.emitters)
        fd = getattr(self._observer, "_inotify_fd", None)
        return self._observer.is_alive() and bool(emitters) and all(
            thread.is_alive() for thread in [*emitters, *([fd] if fd else [])]
        )  # fmt: skip

    def stop(self) -> None:
        """End its threads; nothing is heard any more."""
        self._observer.unschedule_all()
        self._observer.stop()
        if self._observer.is_alive():
            self._observer.join(1)


class _Trouble(logging.Handler):
    def __init__(self, trouble: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._trouble = trouble

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on what it says."""
        self._trouble(record.getMessage())
