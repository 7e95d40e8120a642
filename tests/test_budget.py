"""The budget: however much waits, what the client gets is short enough for it, and everything comes, once, in order."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from a2a_watch.message import visible
from tests.kit import HOOK, LIMIT, Drained, Shown, World, parse, said, units

BASH_LIMIT = 30_000  # characters of a command's output that the client passes on
CODEX_LIMIT = 10_000  # bytes, in a client that counts those
SMILE = "\N{GRINNING FACE}"
CLI = "from a2a_watch.cli import main; main()"

MAIL = {
    "40 of 1,000 characters": [f"{number:04d}" + "x" * 996 for number in range(40)],
    "30 of 900 emoji": [f"{number:04d}" + SMILE * 896 for number in range(30)],
    "700 of one character": [chr(0x4E00 + number) for number in range(700)],
    "20 of quotes and backslashes": [f"{number:04d}" + "\"\\'`" * 500 for number in range(20)],
    "6 of newlines": [f"{number:04d}" + "\n" * 2500 + "end" for number in range(6)],
    "8 of escapes": [f"{number:04d}" + "\x1b\u2028" * 500 for number in range(8)],
    "20 of growing size": [f"{number:04d}" + "y" * (450 * number) for number in range(20)],
    "large and small in turn": [f"{number:04d}" + "z" * (9000 if number % 2 else 10) for number in range(12)],
}


def put_wide(world: World, bodies: list[str]) -> None:
    """Write messages whose headers are as long as a header gets."""
    for number, body in enumerate(bodies):
        wide = {"from": SMILE * 400, "timestamp": SMILE * 400, "subject": SMILE * 400, "body": body}
        world.put("project-b", f"{number:06d}.json", json.dumps(wide).encode())


def drain_all(world: World, drain: Callable[[], Drained]) -> list[Drained]:
    """Drain until nothing is left."""
    pages = []
    while before := world.names():
        pages.append(drain())
        assert (pages[-1].status, pages[-1].error) == (0, "")
        assert len(world.names()) < len(before)
        assert parse(pages[-1].text), "a page shows at least one message"
        waiting = re.search(r"(\d+) more wait", pages[-1].text)
        assert int(waiting[1] if waiting else 0) == len(world.names())
    assert drain().raw == b""
    return pages


def bodies_on(pages: list[Drained]) -> list[str]:
    """Return the bodies that were shown, each of them whole."""
    shown = [message for page in pages for message in parse(page.text)]
    assert not [message for message in shown if message.cut or message.mark]
    return [message.body for message in shown]


@pytest.mark.parametrize("bodies", MAIL.values(), ids=MAIL)
def test_a_session_gets_all_its_mail_whole_once_and_in_order(world: World, bodies: list[str]) -> None:
    """No hook gives the client more than it takes as one text; what does not fit waits for the next prompt."""
    world.put_many("project-b", bodies)
    first = world.hook()
    pages = [first, *drain_all(world, lambda: world.hook("UserPromptSubmit"))]
    assert bodies_on(pages) == [visible(body) for body in bodies]
    assert max(units(page.text) for page in pages) <= LIMIT
    assert max(units(page.person) for page in pages) <= 200
    assert world.hook("Stop").raw == b""
    assert (len(world.names(folder=".read")), world.marker()) == (len(bodies), None)


@pytest.mark.parametrize("kind", ["40 of 1,000 characters", "30 of 900 emoji", "700 of one character", "6 of newlines"])
def test_a_skill_gets_all_its_mail_whole_once_and_in_order(world: World, kind: str) -> None:
    """By hand inside the client a page is larger, and never more than a command's output may be."""
    world.put_many("project-b", MAIL[kind])
    pages = drain_all(world, lambda: world.drain(env={"CLAUDECODE": "1"}))
    assert bodies_on(pages) == [visible(body) for body in MAIL[kind]]
    assert max(units(page.text) for page in pages) <= BASH_LIMIT
    assert max(units(page.text) for page in pages) > LIMIT


def test_a_client_that_counts_bytes_gets_all_its_mail_within_them(world: World) -> None:
    """A hook outside Claude Code keeps to as many bytes, and says nothing but what such a client takes."""
    event = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s1"}).encode()
    bodies = MAIL["30 of 900 emoji"]
    world.put_many("project-b", bodies)
    pages = drain_all(world, lambda: said(world.run(HOOK, at="project-b", input=event)))
    assert bodies_on(pages) == bodies
    assert max(len(page.text.encode()) for page in pages) <= CODEX_LIMIT
    assert {tuple(json.loads(page.raw)) for page in pages} == {("hookSpecificOutput",)}


def test_a_terminal_gets_everything_at_once(world: World) -> None:
    """A person's own terminal takes any length."""
    bodies = [*MAIL["700 of one character"], "x" * 60_000]
    world.put_many("project-b", bodies)
    assert bodies_on([world.drain()]) == bodies
    assert world.names() == []


def test_a_hook_without_an_event_keeps_to_what_a_hook_may_print(world: World) -> None:
    """A hook's text has its limit also when the client's JSON does not come through."""
    bodies = MAIL["40 of 1,000 characters"]
    world.put_many("project-b", bodies)
    env = {"CLAUDE_PROJECT_DIR": str(world.base / "project-b"), "CLAUDE_CODE_SESSION_ID": "s1"}
    pages = drain_all(world, lambda: world.drain("project-b", "--receipts", env=env))
    assert bodies_on(pages) == bodies
    assert max(units(page.text) for page in pages) <= LIMIT


@pytest.mark.parametrize("env", [{}, {"CLAUDECODE": "1"}], ids=["a hook", "a skill"])
@pytest.mark.parametrize("body", ["x" * 60_000, SMILE * 60_000, "a\n" * 30_000 + "b", "\x1b" * 60_000])
def test_one_message_that_fits_no_page_is_cut_and_says_how_to_get_the_whole(
    world: World, env: dict[str, str], body: str
) -> None:
    """A message too large by itself is shown up to the budget, with the command and the path of it, and archived."""
    world.put_many("project-b", ["before", body, "after"])
    limit = BASH_LIMIT if env else LIMIT
    pages = drain_all(world, lambda: world.drain(env=env) if env else world.hook())
    before, cut, after = (message for page in pages for message in parse(page.text))
    assert (before.body, after.body) == ("before", "after")
    assert (before.cut, after.cut) == ("", "")
    (page,) = (page for page in pages if cut in parse(page.text))
    assert limit * 0.9 < units(page.text) <= limit
    assert visible(body).startswith(cut.body)
    path = re.search(r"the file `~/(.*)`_$", cut.cut)
    assert path
    whole = world.home / path[1]
    assert json.loads(whole.read_bytes())["body"] == body
    assert whole.parent == world.inbox() / ".read"
    command = re.search(r"`a2a-watch (show \S+)`", cut.cut)
    assert command
    done = world.run(sys.executable, "-c", CLI, *command[1].split(), env={"PYTHONPATH": str(Path(__file__).parents[1])})
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().endswith(visible(body) + "\n")


def test_a_message_that_does_not_fit_beside_others_heads_the_next_page(world: World) -> None:
    """Nothing overtakes a large message, and a large message waits no longer than one page."""
    bodies = ["a", "b" * 9000, "c", "d" * 60_000, "e", "f"]
    world.put_many("project-b", bodies)
    pages = [[shown.subject for shown in parse(page.text)] for page in drain_all(world, world.hook)]
    assert [subject for page in pages for subject in page] == ["S0", "S1", "S2", "S3", "S4", "S5"]
    assert "S3" in [page[0] for page in pages]


def test_the_longest_headers_leave_room_for_every_message(world: World) -> None:
    """Headers as long as they get cost room, and neither a message nor the limit."""
    put_wide(world, ["x" * 3000, "y", "z" * 60_000])
    pages = drain_all(world, lambda: world.hook("UserPromptSubmit"))
    assert max(units(page.text) for page in pages) <= LIMIT
    one, two, three = (message for page in pages for message in parse(page.text))
    assert (one.body, two.body, bool(three.cut)) == ("x" * 3000, "y", True)


def test_mail_that_comes_between_two_pages_comes_after_what_waits(world: World) -> None:
    """What was left for the next page is shown before what was sent meanwhile."""
    world.put_many("project-b", MAIL["40 of 1,000 characters"][:12])
    pages = [world.hook()]
    world.send("project-b", "later")
    pages += drain_all(world, lambda: world.hook("UserPromptSubmit"))
    assert bodies_on(pages) == [*MAIL["40 of 1,000 characters"][:12], "later"]


def test_the_page_counts_what_waits(world: World) -> None:
    """A page that does not hold everything says how much there is: at its head, its foot and to the person."""
    world.put_many("project-b", MAIL["40 of 1,000 characters"])
    page = world.hook()
    shown: list[Shown] = parse(page.text)
    left = 40 - len(shown)
    assert page.text.startswith(
        f"## A2A inbox (project-b) — 40 message(s) pending, the oldest {len(shown)} of them here\n"
    )
    assert f" {left} more wait: `/check-inbox` shows them." in page.text.splitlines()[-1]
    assert f"{len(shown)} notes, {left} more wait" in page.person
