"""The senders that docs/format.md prints work as printed."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from tests.kit import REPO, World, parse


@pytest.mark.parametrize(("language", "program"), [("sh", "sh"), ("js", "node")])
def test_the_five_line_senders_deliver(world: World, language: str, program: str) -> None:
    """A sender of a few lines, as the specification prints it, writes a message that is shown whole."""
    assert shutil.which(program), f"{program} is missing: .ci/run installs it"
    code = re.findall(rf"```{language}\n(.*?)```", (REPO / "docs" / "format.md").read_text(), re.DOTALL)[0]
    assert len(code.strip().splitlines()) <= 6
    body = 'a "quoted" $body\nwith \\ two lines ✉'
    script = world.base / f"send.{language}"
    script.write_text(code)
    done = world.run(program, script, "project-b", body)
    assert done.returncode == 0, done.stderr
    (name,) = world.names()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-[0-9a-f-]{36}\.json", name)
    assert set(json.loads((world.inbox() / name).read_text())) == {"id", "from", "to", "timestamp", "subject", "body"}
    (shown,) = parse(world.hook().text)
    assert shown.body == body
    assert not [name for name in world.inbox().iterdir() if name.name.endswith(".tmp")]
