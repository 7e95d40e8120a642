"""Every test has a world of its own; the real home does not exist for any of them."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.desktop import bus, desk, dunst  # noqa: F401
from tests.kit import World
from tests.manager import manager  # noqa: F401

_REAL_INBOX = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".claude" / "inbox"
_CLIENT_VARIABLES = ("CLAUDE", "A2A_", "ANTHROPIC")

# In CI the same examples each time: what a change broke, not what nobody had tried yet. Elsewhere new ones each time.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(autouse=True)
def no_real_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give code under test an empty home and nothing of a client's environment, and notice who writes elsewhere."""
    for name in list(os.environ):
        if name.startswith(_CLIENT_VARIABLES):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    before = _REAL_INBOX.stat().st_mtime_ns if _REAL_INBOX.exists() else None
    yield
    after = _REAL_INBOX.stat().st_mtime_ns if _REAL_INBOX.exists() else None
    assert before == after, f"a test touched the real inbox {_REAL_INBOX}"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Return an empty home with two git folders beside it, project-a and project-b."""
    return World(tmp_path)
