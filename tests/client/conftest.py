"""The real client, set up in a world of its own and talking to a model on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.driver import Client
from tests.client.model import Model
from tests.kit import REPO, World


@pytest.fixture(scope="session")
def program() -> Path:
    """Return the client's program, which `make check-client` fetches."""
    found = sorted((REPO / "build" / "client" / "node_modules" / "@anthropic-ai").glob("claude-code-*/claude"))
    if not found or not shutil.which("tmux"):
        pytest.skip("no client or no tmux here; try: make check-client, and apt install tmux")
    return Path(os.path.realpath(found[0]))


@pytest.fixture
def model() -> Iterator[Model]:
    """Return a model that answers `ok`."""
    model = Model()
    yield model
    model.close()


@pytest.fixture
def client(program: Path, world: World, model: Model) -> Client:
    """Return a client whose sessions have the drain."""
    client = Client(program, world, model)
    client.set_up()
    return client
