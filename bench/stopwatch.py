"""Times programs, and says how one stands beside another."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.worlds import Place

PYTHON = os.path.realpath(sys.executable)  # a version manager's shim costs more than the program it starts


def nothing() -> None:
    """Prepare nothing, judge nothing."""


class Program:
    """A program to be timed; `before` and `after` each run are not, and `after` fails when the run did nothing."""

    def __init__(
        self, name: str, argv: list[str], place: Place, event: str = "", *, folder: str = "project-b",
        before: Callable[[], object] = nothing, after: Callable[[], object] = nothing,
    ) -> None:  # fmt: skip
        self.name, self._argv, self._before, self._after = name, argv, before, after
        self._folder = place.base / folder
        self._input = place.event(event) if event else Path(os.devnull)
        self._env = {"HOME": str(place.home), "PATH": os.environ["PATH"], "A2A_PYTHON": PYTHON}
        self._env.update(place.client(event) if event else {})
        self.times: list[float] = []

    def run(self, counts: bool = True) -> None:
        """Run it once; keep its time when it `counts`."""
        self._before()
        if self._after is not nothing:
            # An fsync pays for its own bytes, not for what the others left unwritten.
            os.sync()
        os.chdir(self._folder)
        streams = [(os.POSIX_SPAWN_OPEN, 0, str(self._input), os.O_RDONLY, 0)]
        streams += [(os.POSIX_SPAWN_OPEN, handle, os.devnull, os.O_WRONLY, 0) for handle in (1, 2)]
        start = time.perf_counter()
        child = os.posix_spawn(self._argv[0], self._argv, self._env, file_actions=streams)
        _, status = os.waitpid(child, 0)
        seconds = time.perf_counter() - start
        if status:
            sys.exit(f"bench: {self.name} failed; try: cd {self._folder} && {' '.join(self._argv)}")
        self._after()
        if counts:
            self.times.append(seconds * 1000)

    def milliseconds(self) -> float:
        """Return the median of its times."""
        return median(self.times)


class Bar:
    """`ours` may take at most `limit` times what `beside` takes."""

    def __init__(self, title: str, ours: Program, beside: Program, limit: float) -> None:
        self._title, self._ours, self._beside, self._limit = title, ours, beside, limit

    def _ratio(self) -> float:
        return self._ours.milliseconds() / self._beside.milliseconds()

    def holds(self) -> bool:
        """Tell whether ours is fast enough."""
        return self._ratio() <= self._limit

    def row(self) -> list[str]:
        """Return its cells of the table."""
        times = [shown(self._ours.milliseconds()), self._beside.name, shown(self._beside.milliseconds())]
        return [self._title, *times, f"{self._ratio():.3g}", f"≤ {self._limit:g}", "yes" if self.holds() else "**no**"]


def shown(milliseconds: float) -> str:
    """Return a time with three digits, more when they stand before the point."""
    digits = 2 if milliseconds < 10 else 1 if milliseconds < 100 else 0
    return f"{milliseconds:,.{digits}f}"
