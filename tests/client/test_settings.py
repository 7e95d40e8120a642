"""Settings as people have them: set up, used by the real client, taken out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.driver import WATCH, Client
from tests.client.model import Model
from tests.kit import World
from tests.real_settings import REAL, Real

pytestmark = pytest.mark.timeout(180)


@pytest.mark.parametrize("real", [one for one in REAL if not one.refused], ids=str)
def test_settings_as_people_have_them(program: Path, world: World, model: Model, real: Real) -> None:
    """With each of them the client delivers mail, once, and afterwards the file is what it was."""
    path = real.put(world.home)
    before = path.read_bytes() if path.exists() else None
    client = Client(program, world, model)
    client.set_up()
    world.send("project-b", "the body", "Through these settings")
    client.headless("hello", A2A_UNATTENDED="drain")
    assert model.seen().count("**Subject:** Through these settings") == 1
    assert (world.names(), world.names(folder=".shown")) == ([], [])
    done = world.run(WATCH, "uninstall", "--yes")
    assert done.returncode == 0, done.stderr
    assert (path.read_bytes() if path.exists() else None) == before
    client.headless("hello", A2A_UNATTENDED="drain")
    assert "A2A inbox" not in model.seen()


def test_settings_that_the_client_skips_are_named_at_a_start(program: Path, world: World, model: Model) -> None:
    """One value of a wrong type costs the whole file, our hooks too; the client says so, for one who can read it."""
    path = world.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"cleanupPeriodDays": "many"}')
    client = Client(program, world, model)
    client.set_up()
    world.send("project-b", "the body", "Not through these settings")
    client.headless("hello", A2A_UNATTENDED="drain")
    assert "A2A inbox" not in model.seen() and len(world.names()) == 1
    with client.session(ready="Settings Error") as session:
        assert "cleanupPeriodDays" in session.screen()
