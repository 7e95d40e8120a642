"""What setup tells the hook and the skills: which interpreter, and where the drain is."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from a2a_watch.install import interpreter
from tests.doctor import script
from tests.kit import HOOK, PYTHON, REPO, World
from tests.real_settings import EVENTS, TYPICAL, Household

MINE = os.path.realpath(sys.executable)


@pytest.fixture
def house(world: World) -> Household:
    return Household(world)


def commands(house: Household) -> set[str]:
    return {handler["command"] for event in EVENTS for handler in house.handlers(event)}


def test_a_plain_python3_needs_no_word(house: Household) -> None:
    """When `python3` on the PATH is an interpreter, also as a link or in a virtual environment, none is recorded."""
    house.done("setup", "--yes")
    assert commands(house) == {f"{HOOK} --receipts"}
    (house.bin / "python3").unlink()
    (house.bin / "python3").symlink_to(sys.executable)
    assert "Nothing to change." in house.done("setup", "--yes")


def test_behind_a_shim_the_real_one_is_recorded(house: Household) -> None:
    """A `python3` that starts another program is named; the hook is told of that one, and starts it from then on."""
    real = house.world.base / "it's Python" / "python3"
    real.parent.mkdir()
    real.symlink_to(PYTHON)
    script(house.bin / "python3", f'exec {shlex.quote(str(real))} "$@"')
    shim = f"{house.bin}/python3 is a version manager's shim, which starts another program at every call"
    assert house.done("setup", "--yes").splitlines()[0] == f"{shim}; the hook will use {real}"
    assert commands(house) == {f"A2A_PYTHON={shlex.quote(str(real))} {HOOK} --receipts"}
    script(house.bin / "python3", "exit 7")
    house.assert_mail_arrives()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("echo /usr/bin/python3.8; echo 3 8", "is Python 3.8, too old"),
        ("exit 1", "does not run"),
        ("echo no such version; exit 127", "does not run"),
        ("echo one; echo two", "does not run"),
        ("echo one; echo 3", "does not run"),
        ("true", "does not run"),
        ("printf '\\377\\n\\377\\n'", "does not run"),
        ("exec /nowhere/python", "does not run"),
    ],
)
def test_instead_of_one_that_will_not_do_the_running_one_is_recorded(house: Household, body: str, why: str) -> None:
    """Too old or broken: setup says so, and the hook is told of the interpreter that runs setup."""
    script(house.bin / "python3", body)
    first = house.done("setup", "--yes").splitlines()[0]
    assert first == f"{house.bin}/python3 {why}; the hook will use {MINE}"
    assert commands(house) == {f"A2A_PYTHON={shlex.quote(MINE)} {HOOK} --receipts"}
    house.assert_mail_arrives()


def test_where_there_is_none_the_running_one_is_recorded(house: Household) -> None:
    """Without any `python3` on the PATH the hook works all the same; with one again, setup takes the word back."""
    (house.bin / "python3").unlink()
    assert house.done("setup", "--yes").startswith(f"there is no python3 on this PATH; the hook will use {MINE}\n")
    house.assert_mail_arrives()
    (house.bin / "python3").symlink_to(PYTHON)
    house.done("setup", "--yes")
    assert commands(house) == {f"{HOOK} --receipts"}


@pytest.mark.parametrize("tools", [True, False])
def test_the_stub_of_macos_is_no_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: bool) -> None:
    """On macOS /usr/bin/python3 is not even started where `xcode-select -p` fails, since it would open a window."""
    script(tmp_path / "xcode-select", "echo /Library/Developer" if tools else "exit 2")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    asked, output_of = [], interpreter.output_of

    def asking(command: list[str]) -> str:
        asked.append(command[0])
        return output_of(command)

    monkeypatch.setattr(interpreter, "output_of", asking)
    python, why = interpreter.real_python()
    assert asked == ["xcode-select"] + ["/usr/bin/python3"] * tools
    if not tools:
        assert (python, why) == (MINE, "/usr/bin/python3 is only the stub that offers to install the developer tools")


def skill(house: Household, name: str = "check-inbox") -> Path:
    return house.config / "skills" / name / "SKILL.md"


def allowed_and_run(text: str) -> tuple[str, str]:
    """Return what a skill allows itself, and what it runs, as the client reads them."""
    (head,) = re.findall(r"^allowed-tools: (.*)$", text, re.M)
    (command,) = re.findall(r"^!`(.*)`$", text, re.M)
    return json.loads(head), command


def test_the_skills_are_put_in_place(house: Household) -> None:
    """Both are there, one calling the drain by its absolute path, in the very words that it allows itself."""
    house.put(TYPICAL)
    house.done("setup", "--yes")
    assert allowed_and_run(skill(house).read_text()) == (f"Bash({HOOK} *)", f"{HOOK} --receipts")
    for name in ("check-inbox", "send-note"):
        lines = skill(house, name).read_text().splitlines()
        assert lines.pop(1).startswith("# a2a-watch setup wrote this: ")
        assert lines[:2] == ["---", f"name: {name}"]
        own = (REPO / "skills" / name / "SKILL.md").read_text().splitlines()
        assert [one for one in lines if "drain-inbox" not in one] == [one for one in own if "drain-inbox" not in one]


@pytest.mark.parametrize("name", ["my checkout", "it's $HOME", 'a #b "c"', "Zoë's ✉"])
def test_a_skill_works_wherever_the_checkout_is(house: Household, name: str) -> None:
    """With blanks, quotes and a `$` in the path, and an interpreter recorded, the skill's command shows the mail."""
    copy = house.world.base / name
    copy.mkdir()
    for part in ("a2a_watch", "hooks", "skills"):
        (copy / part).symlink_to(REPO / part)
    (house.bin / "python3").unlink()
    program = f"import sys; sys.path.insert(0, {str(copy)!r}); from a2a_watch.cli import main; main()"
    done = house.run(sys.executable, "-c", program, "setup", "--yes")
    assert (done.returncode, done.stderr) == (0, b""), done
    allowed, command = allowed_and_run(skill(house).read_text())
    assert allowed == f"Bash({command.removesuffix(' --receipts')} *)"
    assert shlex.split(command) == [f"A2A_PYTHON={MINE}", f"{copy}/hooks/drain-inbox", "--receipts"]
    house.world.send("project-b", "for the skill")
    done = house.run("sh", "-c", command, at="project-b", env={"CLAUDE_CODE_SESSION_ID": "5e55"})
    assert b"> for the skill\n" in done.stdout, done


def test_an_older_skill_of_ours_is_replaced(house: Household) -> None:
    """A skill that setup wrote before, for another place or in other words, becomes the present one."""
    house.done("setup", "--yes")
    wanted = skill(house).read_text()
    fence, stamp, rest = wanted.split("\n", 2)
    rest = rest.replace(str(HOOK), "/old place/drain-inbox").replace("Notes for", "Mail for")
    head = stamp.rpartition(" ")[0]
    skill(house).write_text(f"{fence}\n{head} {sha256(rest.encode()).hexdigest()[:16]}\n{rest}")
    house.done("setup", "--yes")
    assert skill(house).read_text() == wanted


def test_a_skill_that_somebody_changed_is_his(house: Household) -> None:
    """One line added by hand, and setup refuses to write over it; uninstall leaves it where it is."""
    house.done("setup", "--yes")
    changed = skill(house).read_text() + "and tell the team\n"
    skill(house).write_text(changed)
    house.put(house.settings.read_text().replace(str(HOOK), "/old/hooks/drain-inbox"))
    assert "was changed by somebody" in house.refused("setup", "--yes")
    house.done("uninstall", "--yes")
    assert skill(house).read_text() == changed and not skill(house, "send-note").exists()
