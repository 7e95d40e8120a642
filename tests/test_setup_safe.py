"""Setup is killed at every line of its writing, and meets programs that write the same file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest

from tests.kit import World
from tests.real_settings import OTHERS_HOOKS, TYPICAL, Household
from tests.rights import tree

# A process that forks one `a2a-watch COMMAND` for each line by which a file is written, and SIGKILL takes it before
# that line; then, where that left something new, one that sets up undisturbed. It prints what each left.
_KILL_AT_EACH_LINE = """
import itertools, json, os, shutil, signal, sys
from a2a_watch.cli import main, setup, uninstall
from a2a_watch.install.change import Change

def run(command, stop_at=0):
    child = os.fork()
    if child == 0:
        left = stop_at
        def at_line(frame, event, _):
            nonlocal left
            left -= event == "line"
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return at_line
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv = ["a2a-watch", command, "--yes"]
        sys.settrace(lambda frame, *_: at_line if frame.f_code is Change.write.__code__ else None)
        main()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    files = {}
    for folder, _, names in os.walk(home):
        for path in (os.path.join(folder, name) for name in names):
            with open(path, "rb") as file:
                files[os.path.relpath(path, home)] = file.read().decode()
    print(json.dumps([command if stop_at else "again", status, files]), flush=True)
    return status, sorted(files.values())

home = os.environ["HOME"]
shutil.copytree(home, home + ".as-it-was")
seen = []
for number in itertools.count(1):
    status, left = run(sys.argv[1], number)
    if status != -signal.SIGKILL:
        break
    if left not in seen:
        seen.append(left)
        run("setup")
    shutil.rmtree(home)
    shutil.copytree(home + ".as-it-was", home)
"""
SETTINGS, BACKUP = ".claude/settings.json", ".claude/settings.json.before-a2a-watch"


@pytest.fixture
def house(world: World) -> Household:
    return Household(world)


@pytest.mark.parametrize("command", ["setup", "uninstall"])
def test_a_killed_setup_leaves_old_or_new(house: Household, command: str) -> None:
    """SIGKILL before any line that writes: each file is the old one or the new one, and the next setup goes through."""
    house.put(OTHERS_HOOKS)
    old = OTHERS_HOOKS.decode()
    house.done("setup", "--yes")
    new = house.settings.read_text()
    skills = {path.read_text() for path in (house.config / "skills").rglob("SKILL.md")}
    if command == "setup":
        house.done("uninstall", "--yes")
    done = house.run(sys.executable, "-c", _KILL_AT_EACH_LINE, command)
    assert (done.returncode, done.stderr) == (0, b""), done
    *lines, (_, status, left) = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert status == 0 and left[SETTINGS] == (new if command == "setup" else old)
    killed, after = ([files for what, _, files in lines if what == wanted] for wanted in (command, "again"))
    assert all(status == (0 if what == "again" else -9) for what, status, _ in lines)
    for files in killed:
        assert files[SETTINGS] in (old, new)
        assert files.get(BACKUP, old) == old
        assert files[SETTINGS] == old or BACKUP in files, "the new settings are there, and no backup"
        assert {text for name, text in files.items() if name.endswith("/SKILL.md")} <= skills
    assert {files[SETTINGS] for files in killed} == {old, new}, "some were killed before the rename, some after"
    assert {files[SETTINGS] for files in after} == {new}
    assert {len([name for name in files if name.endswith("/SKILL.md")]) for files in after} == {2}


def _changes(house: Household) -> dict[str, Callable[[], object]]:
    return {
        "a key more": lambda: house.settings.write_text(json.dumps({**json.loads(TYPICAL), "theme": "light"})),
        "the same size": lambda: house.settings.write_bytes(TYPICAL.replace(b"opus", b"opal")),
        "gone": house.settings.unlink,
        "a skill": lambda: _skill(house),
        "a backup": lambda: house.backup.write_text("{}"),
    }


def _skill(house: Household) -> None:
    path = house.config / "skills" / "send-note" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("mine")


@pytest.mark.parametrize("what", ["a key more", "the same size", "gone", "a skill", "a backup"])
def test_a_change_between_diff_and_answer_is_noticed(house: Household, what: str) -> None:
    """What somebody else wrote while the question stood is kept; nothing is written, and one sentence says why."""
    house.put(TYPICAL)
    found = []

    def meanwhile() -> None:
        _changes(house)[what]()
        found.extend(tree(house.world.home))

    status, screen = house.at_terminal("setup", answer="y\n", meanwhile=meanwhile)
    assert status == 1
    assert "was changed by another program meanwhile, and is left as it is; try: " in screen.splitlines()[-1]
    assert tree(house.world.home) == found


def test_settings_that_appear_between_diff_and_answer_are_kept(house: Household) -> None:
    """Where there was no file, one that somebody else made meanwhile is not replaced."""
    status, screen = house.at_terminal("setup", answer="y\n", meanwhile=lambda: house.put("{}"))
    assert (status, house.settings.read_text()) == (1, "{}")
    assert "was changed by another program" in screen and not (house.config / "skills").exists()


def test_uninstall_notices_a_change_too(house: Household) -> None:
    """Between the diff of uninstall and the answer somebody writes: their file stays, and so do skills and backup."""
    house.put(TYPICAL)
    house.done("setup", "--yes")
    found = []

    def meanwhile() -> None:
        house.settings.write_text(json.dumps({**house.data(), "theme": "light"}))
        found.extend(tree(house.world.home))

    status, _ = house.at_terminal("uninstall", answer="y\n", meanwhile=meanwhile)
    assert (status, tree(house.world.home)) == (1, found)
