"""What makes the checkout a plugin of the client says the same as the package."""

from __future__ import annotations

import json
import os
import shlex

from a2a_watch import __version__
from a2a_watch.install.settings import TIMEOUTS, Entries, own_handlers, value_at
from tests.kit import REPO


def test_the_plugin_has_the_version_of_the_package() -> None:
    """The manifest and the package cannot be of two versions; the marketplace offers this very folder."""
    manifest = json.loads((REPO / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["version"] == __version__
    (offered,) = json.loads((REPO / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    assert (offered["name"], offered["source"]) == (manifest["name"], "./")


def test_the_plugin_has_the_hooks_that_setup_installs() -> None:
    """The same four events, once each, with the same limits, calling a file that is there and may be run."""
    hooks = json.loads((REPO / "hooks" / "hooks.json").read_text())
    handlers = {path[1]: value_at(hooks, path) for path in own_handlers(hooks, "drain-inbox")}
    assert {event: handler["timeout"] for event, handler in handlers.items()} == TIMEOUTS
    for handler in handlers.values():
        program, option = shlex.split(handler["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(REPO)))
        assert os.access(program, os.X_OK) and option == "--receipts"


def test_the_plugin_has_the_hooks_that_setup_wake_installs() -> None:
    """The same three handlers, which wake only where the switch is on."""
    hooks = json.loads((REPO / "hooks" / "hooks.json").read_text())
    installed = json.loads(Entries("x", "/x", '"${CLAUDE_PLUGIN_ROOT}/hooks/wake" --if-on', True).add(""))
    ours, theirs = (
        {path[1]: (value_at(data, (*path[:3], "matcher")), value_at(data, path)) for path in own_handlers(data, "wake")}
        for data in (hooks, installed)
    )
    assert ours == theirs and len(ours) == 3
    assert os.access(REPO / "hooks" / "wake", os.X_OK)


def test_the_programs_of_the_plugin_may_be_run() -> None:
    """`bin/` is on the PATH of a session with the plugin, and holds what the skills call."""
    assert {path.name for path in (REPO / "bin").iterdir() if os.access(path, os.X_OK)} == {
        "a2a-id", "a2a-send", "drain-inbox",
    }  # fmt: skip
