"""The wheel: built, looked into, installed into a clean environment, and run from there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.kit import REPO, Drained, Shown, World, parse, said
from tests.pythons import interpreters

SHARED = ("hooks", "skills", "systemd", "launchd")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the repository."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("a2a_watch", *SHARED):
        shutil.copytree(REPO / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPO / name, copy)
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = (copy / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel, and the one library it asks for, into a new environment; return its folder."""
    folder = tmp_path_factory.mktemp("clean") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install", "-q"]
    # No network: click, and what says that it is there, is copied from the environment that runs the tests.
    subprocess.run([*pip, "--no-index", "--no-deps", "--no-compile", str(wheel)], check=True, env=clean_env())
    packages = next(folder.glob("lib/python*/site-packages"))
    for source in Path(str(distribution("click").locate_file(""))).glob("click*"):
        shutil.copytree(source, packages / source.name)
    return folder


def clean_env() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": "/nowhere", "PIP_CONFIG_FILE": os.devnull}


def share(installed: Path) -> Path:
    (found,) = installed.glob("lib/python*/site-packages/a2a_watch/share")
    return found


def files(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def hook(installed: Path, world: World, **env: str) -> Drained:
    """Start a session that has the installed hook."""
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1"}
    given = {"CLAUDE_PROJECT_DIR": str(world.base / "project-b"), **env}
    drain = share(installed) / "hooks" / "drain-inbox"
    return said(world.run(drain, at="project-b", input=json.dumps(event).encode(), env=given))


def test_everything_that_is_installed_travels_in_the_wheel(wheel: Path) -> None:
    """Hooks, skills and units are in the package's `share/`, byte for byte, with their executable bits."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        code = {f"a2a_watch/{name}" for name in files(REPO / "a2a_watch")}
        shared = {f"a2a_watch/share/{top}/{name}" for top in SHARED for name in files(REPO / top)}
        assert inside == code | shared
        for name in shared:
            source = REPO / name.removeprefix("a2a_watch/share/")
            assert archive.read(name) == source.read_bytes()
            assert bool(archive.getinfo(name).external_attr >> 16 & 0o111) == os.access(source, os.X_OK), name
        assert archive.getinfo("a2a_watch/share/hooks/drain-inbox").external_attr >> 16 & 0o111


def test_the_wheel_says_what_it_needs(wheel: Path) -> None:
    """Its metadata ask for Python 3.11 and three libraries, name three commands, and carry the licence."""
    with zipfile.ZipFile(wheel) as archive:
        found = {name.rpartition(".dist-info/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
        metadata = archive.read(found["METADATA"]).decode()
        entries = archive.read(found["entry_points.txt"]).decode()
    assert "Requires-Python: >=3.11\n" in metadata
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert [line.split()[1].partition(">")[0] for line in needed] == ["click", "desktop-notifier", "watchdog"]
    assert [line.partition(" =")[0] for line in entries.splitlines() if "=" in line] == [
        "a2a-id",
        "a2a-send",
        "a2a-watch",
    ]
    assert "licenses/LICENSE" in found


def test_the_installed_programs_do_the_main_job(installed: Path, world: World) -> None:
    """In a clean environment: who am I, send, show, the hook at a start, the archive, restore."""
    programs = installed / "bin"
    assert world.run(programs / "a2a-id").stdout == b"project-a\n"
    sent = world.run(programs / "a2a-send", "project-b", "--subject", "S", "B")
    assert sent.returncode == 0, sent.stderr
    id_ = sent.stdout.decode().rpartition("(")[2].rstrip(")\n")
    shown = world.run(programs / "a2a-watch", "show", id_[:20])
    assert shown.returncode == 0, shown.stderr
    assert f"id: {id_}\n" in shown.stdout.decode() and shown.stdout.endswith(b"\nB\n")
    drained = hook(installed, world)
    assert parse(drained.text)[0].body == "B"
    assert parse(drained.text)[0].subject == "S"
    assert world.names() == [] and len(world.names(folder=".read")) == 1
    assert world.run(programs / "a2a-watch", "restore", id_).returncode == 0
    assert len(world.names()) == 1
    version = world.run(programs / "a2a-watch", "--version").stdout.decode().split()[-1]
    assert version == distribution("a2a-watch").version


def test_the_installed_hook_needs_nothing_of_its_environment(installed: Path, world: World) -> None:
    """The drain in `share/hooks` runs under every python3 of this machine, too old for the wheel or not."""
    for python, version in interpreters().items():
        world.send("project-b", f"under {version}")
        drained = hook(installed, world, A2A_PYTHON=python)
        (message,) = parse(drained.text)
        assert message == Shown("project-a", message.at, "(none)", "", f"under {version}", "")
        assert (drained.status, drained.error) == (0, "")
    assert hook(installed, world).raw == b""
