"""The checkout as a plugin of the real client: whole, in a folder with a blank, alone and beside the settings."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.client.driver import Client, eventually
from tests.client.model import Model, bash, say
from tests.kit import REPO, World

pytestmark = pytest.mark.timeout(180)
PARTS = (".claude-plugin", "a2a_watch", "bin", "hooks", "skills", "README.md", "LICENSE")
MARK = "(may have been shown before, at "


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """Return a copy of what makes the plugin."""
    folder = tmp_path / "a plugin folder"
    folder.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (REPO / part).is_dir() else shutil.copy2
        copy(REPO / part, folder / part)
    return folder


@pytest.fixture
def bare(program: Path, world: World, model: Model, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Return a client without `a2a-watch setup`, on whose PATH nothing of ours is."""
    client = Client(program, world, model)
    given = client.env()
    path = ":".join(folder for folder in given["PATH"].split(":") if not folder.startswith(str(REPO)))
    monkeypatch.setattr(client, "env", lambda **more: {**given, "PATH": path, **more})
    return client


def run(client: Client, *words: str | Path) -> str:
    """Run a command of the client's that makes no request."""
    done = subprocess.run(
        [client.program, *words], cwd=client.world.base / "project-b", env=client.env(), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def test_the_plugin_validates_strictly(bare: Client, plugin: Path) -> None:
    """`claude plugin validate --strict` passes, the checks of the plugin directory included."""
    said = run(bare, "plugin", "validate", "--strict", "--profile", "directory", plugin)
    assert "Validation passed" in said and "These checks found nothing to report" in said


def test_the_plugin_delivers_confirms_and_has_the_skill(bare: Client, plugin: Path) -> None:
    """With the plugin alone mail opens the session, the Stop makes it read, and its check-inbox shows what comes."""
    bare.world.send("project-b", "the body", "At the start")
    with bare.session("--plugin-dir", str(plugin)) as session:
        session.wait_for("✉ 1 note: project-a (At the start)")
        session.ask("hello")
        assert bare.model.seen().count("**Subject:** At the start") == 1
        eventually(lambda: not bare.world.names(folder=".shown"), "the Stop made it read")
        for number, typed in enumerate(("/check-inbox", "/a2a-watch:check-inbox")):
            bare.world.send("project-b", "the body", f"For skill {number}")
            bare.model.turns = [say(f"read {number}")]
            session.type(typed)
            session.wait_for(f"● read {number}")
            session.wait_until_idle()
            seen = bare.model.seen()
            assert seen.count(f"**Subject:** For skill {number}") == 1
            assert "UserPromptSubmit says" not in session.screen()
            eventually(lambda: not bare.world.names(folder=".shown"), "the Stop made it read")
        session.quit()
    assert MARK not in bare.model.seen() and bare.world.names() == []


def test_a_model_sends_with_the_plugin_alone_once_the_command_is_allowed(bare: Client, plugin: Path) -> None:
    """The plugin's `a2a-send` is on the model's PATH, and one allowed word lets it run unasked."""
    bare.model.turns = [bash("a2a-send project-c --subject S body"), say("it is sent")]
    bare.headless("send", "--plugin-dir", str(plugin), "--allowedTools", "Bash(a2a-send:*)")
    assert "sent: project-b -> project-c (" in bare.model.seen()
    assert len(bare.world.names("project-c")) == 1


def test_the_plugin_installs_from_the_checkout(bare: Client, plugin: Path) -> None:
    """The checkout is a marketplace: added and installed with no network, its hooks show mail in every session."""
    run(bare, "plugin", "marketplace", "add", plugin)
    run(bare, "plugin", "install", "a2a-watch@a2a-watch")
    bare.world.send("project-b", "the body", "Installed")
    with bare.session() as session:
        session.wait_for("✉ 1 note: project-a (Installed)")
        session.ask("hello")
    assert bare.model.seen().count("**Subject:** Installed") == 1
    run(bare, "plugin", "uninstall", "a2a-watch@a2a-watch")
    bare.world.send("project-b", "the body", "Uninstalled")
    bare.headless("hello", A2A_UNATTENDED="drain")
    assert "Uninstalled" not in bare.model.seen() and len(bare.world.names()) == 1


def test_plugin_and_settings_together_show_mail_once(client: Client, plugin: Path) -> None:
    """Who has both the plugin and `a2a-watch setup` reads each note once, at a start, at a prompt and in the skill."""
    client.world.send("project-b", "the body", "At the start")
    with client.session("--plugin-dir", str(plugin)) as session:
        session.ask("hello")
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
        client.world.send("project-b", "the body", "At a prompt")
        client.model.turns = [say("second"), say("third")]
        session.ask("go on", "second")
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
        client.world.send("project-b", "the body", "In the skill")
        session.ask("/check-inbox", "third")
        eventually(lambda: not client.world.names(folder=".shown"), "the Stop made it read")
        session.quit()
    seen = client.model.seen()
    assert [seen.count(f"**Subject:** {one}") for one in ("At the start", "At a prompt", "In the skill")] == [1] * 3
    assert MARK not in seen and client.world.names() == []
    assert len(client.world.names(folder=".read")) == 3
