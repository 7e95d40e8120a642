"""a2a-id: print this session's agent name, or every rule and which one won."""

from __future__ import annotations

import sys

from a2a_watch.light.identity import Identity, Surroundings
from a2a_watch.message import one_line
from a2a_watch.names import Problem

USAGE = """usage: a2a-id [--explain]

Print this session's agent name; --explain shows every rule, what it gave, and which one won (->).
"""


def main() -> int:
    """Run the command; exit 0 done, 1 no valid name, 2 misuse."""
    arguments = sys.argv[1:]
    if arguments in (["-h"], ["--help"]):
        return _say(USAGE)
    if arguments not in ([], ["--explain"]):
        return _say("a2a-id: %s is no option of it; try: a2a-id --explain\n" % ascii(arguments[0]), 2)
    identity = Identity(Surroundings())
    if arguments:
        lines = []
        for answer in identity.answers:
            mark, given = "->" if answer is identity.answer else "  ", answer.problem or answer.name or answer.why
            lines.append("%s %d  %s\n" % (mark, answer.rule, one_line("%s: %s" % (answer.source, given), 4096)))
        return _say("".join(lines))
    try:
        return _say(identity.name() + "\n")
    except Problem as problem:
        return _say("a2a-id: %s\n" % one_line("%s; try: %s" % (problem, problem.fix), 4096), 1)


def _say(text: str, status: int = 0) -> int:
    (sys.stderr if status else sys.stdout).buffer.write(text.encode("utf-8", "backslashreplace"))
    return status
