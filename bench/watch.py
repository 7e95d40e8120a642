"""The watcher: how soon a marker is there, and what a watcher costs that has nothing to do."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from bench.stopwatch import shown
from bench.worlds import Place
from tests.desktop import Bus, Desk

NEEDS = ("inotifywait", "dbus-daemon")
WATCH = str(Path(sys.executable).with_name("a2a-watch"))
LANDINGS, STARTS, REST_SECONDS = 60, 15, 60
SLEEP = "import os, time, watchdog.events, watchdog.observers\nos.write(2, b'watching')\ntime.sleep(1000)"
OBSERVER = """import sys, time, watchdog.events as e, watchdog.observers
one = watchdog.observers.Observer()
events = [e.FileMovedEvent, e.FileDeletedEvent]
one.schedule(e.FileSystemEventHandler(), sys.argv[1], recursive=True, event_filter=events)
one.start()
print("watching", file=sys.stderr, flush=True)
time.sleep(1000)"""


class Figure:
    """One row of the table: `ours` beside `theirs`, whose ratio, or difference in ms, may be `limit` at most."""

    def __init__(self, title: str, ours: float, name: str, theirs: float, limit: float, unit: str) -> None:
        self._title, self._ours, self._name, self._theirs = title, ours, name, theirs
        self._limit, self._unit = limit, unit

    def holds(self) -> bool:
        """Tell whether ours is within the bar."""
        return self._value() <= self._limit

    def _value(self) -> float:
        if not self._name:
            return self._ours
        return self._ours - self._theirs if self._unit == "+ ms" else self._ours / self._theirs

    def row(self) -> list[str]:
        """Return its cells of the table."""
        unit = self._unit.removeprefix("+ ")
        theirs = [self._name, f"{shown(self._theirs)} {unit}", f"{self._value():.3g}"] if self._name else [""] * 3
        bar = f"≤ + {self._limit:g} ms" if self._unit == "+ ms" else f"≤ {self._limit:g}"
        ours = f"{shown(self._ours)} {unit}" if unit else f"{self._ours:.0f}"
        return [self._title, ours, *theirs, bar, "yes" if self.holds() else "**no**"]


def figures(base: Path) -> Iterator[Figure]:
    """Measure in places under `base`; it takes a minute and a half."""
    for agents in (10, 1000):
        yield _landing(base / f"landing-{agents}", agents)
    yield _ready(base / "ready")
    yield from _rest(base / "rest")


@contextmanager
def _running(
    *words: str, home: Path, env: dict[str, str] | None = None, ready: bytes = b"watching"
) -> Iterator[subprocess.Popen[bytes]]:  # fmt: skip
    """Run a program until it has said on standard error that it is `ready`; end it on the way out."""
    env = {"HOME": str(home), "PATH": os.environ["PATH"], **(env or {})}
    child = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout and child.stderr
    said = b""
    try:
        while ready not in said and (more := os.read(child.stderr.fileno(), 1 << 16)):
            said += more
        if child.poll() is not None:
            sys.exit(f"bench: {words[0]} ended: {said.decode()}")
        yield child
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()


def _spin(fact: Callable[[], object], wanted: bool = True) -> float:
    """Return the moment at which `fact` is first as wanted."""
    end = time.perf_counter() + 10
    while bool(fact()) != wanted:
        if time.perf_counter() > end:
            sys.exit("bench: nothing happened for 10 s")
    return time.perf_counter()


def _landing(base: Path, agents: int) -> Figure:
    """Time a message's rename until its marker is there, and until inotifywait has printed it."""
    ours, theirs = Place(base / "ours"), Place(base / "theirs")
    for place in (ours, theirs):
        for number in range(agents):
            (place.root / f"agent-{number}").mkdir()
    pick, times = random.Random(0), ([], [])  # type: tuple[random.Random, tuple[list[float], list[float]]]
    with ExitStack() as ends:
        ends.enter_context(_running(WATCH, "run", "--no-notify", home=ours.home))
        words = ["inotifywait", "-m", "-r", "-e", "moved_to", "--format", "%f", str(theirs.root)]
        other = ends.enter_context(_running(*words, home=theirs.home, ready=b"Watches established"))
        assert other.stdout
        os.set_blocking(other.stdout.fileno(), False)
        printed = other.stdout.read
        for number in range(LANDINGS):
            name = f"agent-{pick.randrange(agents)}"
            for place, kept in zip((ours, theirs), times, strict=True):
                folder = place.root / name
                marker = folder / ".pending"
                (folder / ".temp").write_text(f'{{"id": "{number}", "from": "a", "subject": "S", "body": "B"}}')
                start = time.perf_counter()
                (folder / ".temp").rename(folder / "1.json")
                kept.append((_spin(marker.exists if place is ours else printed) - start) * 1000)
                (folder / "1.json").unlink()
                _spin(marker.exists, False)
    title = f"a message lands, until its marker is there; {agents:,} agents"
    return Figure(title, median(times[0]), "`inotifywait`", median(times[1]), 10, "+ ms")


def _ready(base: Path) -> Figure:
    """Time a start until the watcher is ready, and until a Python has imported the libraries."""
    place, times = Place(base), ([], [])  # type: tuple[Place, tuple[list[float], list[float]]]
    for number in range(STARTS + 1):
        for words, kept in zip(
            ([WATCH, "run", "--no-notify"], [sys.executable, "-c", f"import click\n{SLEEP}"]), times, strict=True
        ):  # fmt: skip
            start = time.perf_counter()
            with _running(*words, home=place.home):
                if number:
                    kept.append((time.perf_counter() - start) * 1000)
    title = "a watcher starts, until it is ready"
    return Figure(title, median(times[0]), "the import of its libraries", median(times[1]), 1.5, "ms")


def _rest(base: Path) -> Iterator[Figure]:
    """Weigh watchers that have nothing to do, and count how often they wake."""
    none, many, desktop = (Place(base / name) for name in ("none", "many", "desktop"))
    for number in range(1000):
        folder = many.root / f"agent-{number}"
        (folder / ".read").mkdir(parents=True)
        for message in range(10):
            (folder / ".read" / f"2026-05-29T15-45-28Z-{message}.json").write_text("{}")
        os.utime(folder, (1, 1))  # it has been so for long
    with ExitStack() as ends:
        bus = Bus(ends)
        Desk(bus, ends)
        quiet = [WATCH, "run", "--no-notify"]
        python = [sys.executable, "-c"]
        started = [
            ends.enter_context(_running(*words, home=place.home, env=env)) for words, place, env in (
                (quiet, none, {}), (quiet, many, {}), ([WATCH, "run"], desktop, bus.env),
                ([*python, SLEEP], none, {}), ([*python, OBSERVER, str(many.root)], none, {}),
            )
        ]  # fmt: skip
        time.sleep(5)
        before = [_cost(one.pid) for one in started]
        print(f"bench: {REST_SECONDS} seconds at rest", file=sys.stderr)
        time.sleep(REST_SECONDS)
        after = [_cost(one.pid) for one in started]
        weights = [_memory(one.pid) for one in started]
    wakes = [now[0] - then[0] for now, then in zip(after, before, strict=True)]
    work = [now[1] - then[1] for now, then in zip(after, before, strict=True)]
    python_name = "a Python with watchdog, asleep"
    yield Figure("memory at rest", weights[0], python_name, weights[3], 1.3, "MB")
    yield Figure("memory at rest, with the session bus", weights[2], python_name, weights[3], 2, "MB")
    yield Figure(
        "memory at rest; 1,000 agents, 10,000 archived", weights[1], "watchdog alone on them", weights[4], 1.3, "MB"
    )  # fmt: skip
    yield Figure("wakeups in a minute at rest", wakes[0], "", 0, 3, "")
    yield Figure("wakeups in a minute at rest, with the session bus", wakes[2], "", 0, 3, "")
    yield Figure("processor time in a minute at rest", work[0], "", 0, 10, "ms")
    yield Figure("processor time in a minute at rest; 1,000 agents, 10,000 archived", work[1], "", 0, 10, "ms")


def _memory(pid: int) -> float:
    """Return the proportional set size in MB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1000


def _cost(pid: int) -> tuple[int, float]:
    """Return how often all threads have waked, and their milliseconds on a processor."""
    wakes, work = 0, 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        wakes += next(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))
        work += int((task / "schedstat").read_text().split()[0]) / 1e6
    return wakes, work
