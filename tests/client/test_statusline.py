"""The real client's status line shows waiting mail, beside what the person's own shows."""

from __future__ import annotations

import json

import pytest

from tests.client.driver import Client, eventually
from tests.test_cli import WATCH

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("own", [True, False])
def test_mail_shows_and_goes(client: Client, own: bool) -> None:
    """As `setup --statusline` says: the line is there soon after the mail, and gone when the mail was shown."""
    world, settings = client.world, client.world.home / ".claude" / "settings.json"
    data = json.loads(settings.read_text())
    if own:
        data["statusLine"] = {"type": "command", "command": "echo my own line for $(wc -w) words", "refreshInterval": 1}
        settings.write_text(json.dumps(data))
    said = world.run(WATCH, "setup", "--statusline").stdout.decode()
    entry = json.loads("{" + said[said.index('  "statusLine"') : said.rindex("}") + 1] + "}")
    settings.write_text(json.dumps({**data, **entry}))
    world.repo("project-c")
    with client.session() as session:
        if own:
            session.wait_for("my own line")
        assert "✉" not in session.screen()
        world.send("project-b", "body 0")
        session.wait_for("✉ 1 project-a")
        world.send("project-b", "body 1", at="project-c")
        session.wait_for("✉ 2 project-c, project-a")
        assert ("my own line" in session.screen()) == own
        session.ask("hello")
        eventually(lambda: "✉ 2 project" not in session.screen(), "no line without mail", session.screen)
        assert ("my own line" in session.screen()) == own
