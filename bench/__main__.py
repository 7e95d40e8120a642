"""`python -m bench`: one table in Markdown, ours beside a shell version of the same, and whether each bar holds.

All programs take turns in one run, so that a busy machine is busy for all of them. Exits 1 when a bar does not hold.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from bench import watch
from bench.stopwatch import PYTHON, Bar, Program, shown
from bench.worlds import Place

REPO = Path(__file__).resolve().parent.parent
DRAIN, SEND = str(REPO / "hooks" / "drain-inbox"), str(REPO / "bin" / "a2a-send")
STATUS_LINE = str(REPO / "hooks" / "statusline")
INSTALLED = Path(sys.executable).with_name("a2a-send")
SHELL_DRAIN, SHELL_SEND = str(REPO / "bench" / "shell" / "drain-inbox.sh"), str(REPO / "bench" / "shell" / "a2a-send")
NOTE = ["project-b", "--subject", "Bumped the shared API version", "pull the shared config and re-run your build"]
BULK, BULK_RUNS = 1000, 5
QUICK_RUNS = 5  # a round, of what takes a millisecond: there the machine's noise is as large as what is measured
NEEDS = ("bash", "git", "jq", "uuidgen")  # the shell version does


class Bench:
    """All programs and bars, in places under `base`."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._bars: list[Bar] = []
        place = Place(base / "reference")
        self._references = [
            Program("an empty program", [shutil.which("true") or "/bin/true"], place),
            Program("`sh -c :`", ["/bin/sh", "-c", ":"], place),
            Program("`python3 -I -S -c pass`", [PYTHON, "-I", "-S", "-c", "pass"], place),
        ]
        self._sh = self._references[1]
        self._quick = list(self._references)
        self._programs: list[Program] = []
        self._nothing_pending("50 agents have mail", "fifty", 50, 0)
        self._nothing_pending("1,000 agents, 2,000 archived", "thousand", 1000, 2000)
        self._one_message()
        self._send()
        self._archived()
        self._bulk()

    def _nothing_pending(self, title: str, name: str, agents: int, archived: int) -> None:
        place = Place(self._base / name)
        place.others(agents)
        place.archive(archived)
        shell = Program("shell", [SHELL_DRAIN], place)
        self._quick.append(shell)
        for event, when in (("UserPromptSubmit", "prompt"), ("SessionStart", "start")):
            ours = Program("ours", [DRAIN, "--receipts"], place, event)
            self._quick.append(ours)
            for beside, limit in ((shell, 0.15), (self._sh, 1.5)):
                self._bars.append(Bar(f"drain at a {when}, nothing for me; {title}", ours, beside, limit))
        line = Program("ours", [STATUS_LINE], place, "Status")
        self._quick.append(line)
        self._bars.append(Bar(f"status line, nothing for me; {title}", line, self._sh, 1.5))

    def _compare(self, title: str, ours: Program, beside: Program, limit: float) -> None:
        self._bars.append(Bar(title, ours, beside, limit))
        self._programs += [program for program in (ours, beside) if program not in self._programs]

    def _drain(self, argv: list[str], event: str = "", archived: int = 0, messages: int = 1) -> Program:
        place = Place(self._base / f"drain-{os.urandom(4).hex()}")
        place.archive(archived)
        return Program("shell" if argv == [SHELL_DRAIN] else "ours", argv, place, event,
                       before=partial(place.wait, messages), after=partial(place.was_drained, messages))  # fmt: skip

    def _one_message(self) -> None:
        shell = self._drain([SHELL_DRAIN])
        ours = self._drain([DRAIN, "--receipts"], "SessionStart")
        self._compare("drain at a start, one message", ours, shell, 0.8)
        self._compare("drain by hand, one message", self._drain([DRAIN]), shell, 0.8)

    def _send(self) -> None:
        def sends(path: str) -> Program:
            place = Place(self._base / f"send-{os.urandom(4).hex()}")
            name = "shell" if path == SHELL_SEND else "ours"
            return Program(name, [path, *NOTE], place, folder="project-a", after=place.was_sent)

        shell = sends(SHELL_SEND)
        self._compare("send, from a checkout", sends(SEND), shell, 0.8)
        if INSTALLED.exists():
            self._compare("send, installed", sends(str(INSTALLED)), shell, 0.8)

    def _archived(self) -> None:
        none, many = (self._drain([DRAIN, "--receipts"], "SessionStart", count) for count in (0, 100_000))
        none.name = "none archived"
        self._compare("drain at a start, one message; 100,000 archived", many, none, 1.2)

    def _bulk(self) -> None:
        self._ours, self._shell = (self._drain([path], messages=BULK) for path in (DRAIN, SHELL_DRAIN))
        self._bars.append(Bar("drain by hand, 1,000 messages until all are shown", self._ours, self._shell, 0.01))

    def run(self, rounds: int) -> None:
        """Run everything; the first round only warms up."""
        order = random.Random(0)
        for number in range(rounds + 1):
            # What takes a millisecond stays among its like. The order changes each time: nobody always runs behind the
            # same neighbour, who leaves the caches warm or cold.
            for group in [self._quick] * QUICK_RUNS + [self._programs]:
                for program in order.sample(group, len(group)):
                    program.run(counts=number > 0)
        for _ in range(BULK_RUNS):
            self._ours.run()
        self._shell.run()

    def rows(self) -> list[list[str]]:
        """Return the cells of the table."""
        rows = [[one.name, shown(one.milliseconds()), *[""] * 5] for one in self._references]
        return [*rows, *(bar.row() for bar in self._bars)]

    def missed(self) -> int:
        """Return how many bars do not hold."""
        return sum(not bar.holds() for bar in self._bars)


def table(unit: str, rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    head = [["what", unit, "beside", unit, "ratio", "bar", "holds"], ["---", "--:", "---", *["--:"] * 3, "---"]]
    return "\n".join("| %s |" % " | ".join(cells) for cells in [*head, *rows])


def main() -> int:
    """Run the bench; exit 1 when a bar does not hold or something is missing."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="how often each program runs")
    rounds = parser.parse_args().rounds
    missing = [name for name in (*NEEDS, *watch.NEEDS) if not shutil.which(name)]
    if missing:
        try_this = "sudo apt install bash git jq uuid-runtime inotify-tools dbus-daemon"
        sys.exit(f"bench: what ours is compared with needs {missing[0]}; try: {try_this}")
    print("bench: this takes four or five minutes, one of them for 1,000 messages in shell", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="a2a-bench-") as base:
        bench = Bench(Path(base).resolve())
        bench.run(rounds)
        os.chdir("/")
        print(table("ms", bench.rows()), flush=True)
        figures = list(watch.figures(Path(base).resolve() / "watch"))
    print("\n" + table("", [one.row() for one in figures]))
    machine = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    print(f"\nMedians of {rounds} runs or more, in random order, each checked to have done its work. {machine}.")
    missed = bench.missed() + sum(not one.holds() for one in figures)
    print(f"bench: {missed} bars do not hold" if missed else "bench: every bar holds", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
