"""docs/handover.md is what two sessions of the real client show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.kit import REPO
from tools.handover import play


@pytest.mark.timeout(180)
def test_the_page_is_what_happens(program: Path, tmp_path: Path) -> None:
    """Played again it is the same, apart from the messages' ids."""
    shown = play(program, tmp_path)
    page = (REPO / "docs" / "handover.md").read_text()
    assert re.sub(r"[0-9a-f-]{36}", "ID", shown) == re.sub(r"[0-9a-f-]{36}", "ID", page)
