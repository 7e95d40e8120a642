"""A process that dies at any file operation loses nothing, repeats nothing unmarked and leaves no half message."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import Office, stopping

Act = Callable[[Office], object]


def two_wait(office: Office) -> None:
    office.send()
    office.send("c")


def shown_to_s1(office: Office) -> None:
    two_wait(office)
    office.drain("s1", "p1", "SessionStart")
    office.tick()


def s1_died(office: Office) -> None:
    shown_to_s1(office)
    office.dead.add("p1")


def one_was_shown_by_a_dead_drain(office: Office) -> None:
    """Bring about what a drain leaves that died after printing."""
    two_wait(office)
    with pytest.MonkeyPatch.context() as patch:
        stopping(patch, office, office.drain, _step_after_show())
    office.tick()


def _step_after_show() -> int:
    with tempfile.TemporaryDirectory() as folder:
        other = Office(Path(folder) / "inbox")
        two_wait(other)
        with pytest.MonkeyPatch.context() as patch:
            return stopping(patch, other, other.drain, 0).log.index("show") + 2


def restore_first(office: Office) -> None:
    office.restore(office.bodies(".read")[0])


def read_two(office: Office) -> None:
    two_wait(office)
    office.drain()
    office.tick()


SCENARIOS: dict[str, tuple[Act, Act]] = {
    "send to a new name": (lambda office: None, lambda office: office.send()),
    "send beside mail": (two_wait, lambda office: office.send()),
    "drain by hand": (two_wait, lambda office: office.drain()),
    "drain in a session": (two_wait, lambda office: office.drain("s1", "p1", "SessionStart")),
    "drain what a dead drain showed": (one_was_shown_by_a_dead_drain, lambda office: office.drain()),
    "drain a page at a time": (two_wait, lambda office: office.drain("s1", "p1", budget=600)),
    "confirm": (shown_to_s1, lambda office: office.inbox.confirm("s1", office.now)),
    "give back": (shown_to_s1, lambda office: office.inbox.give_back("s1", office.now)),
    "give back and show": (s1_died, lambda office: office.drain("s2", "p2", "SessionStart")),
    "restore": (read_two, restore_first),
    "refresh the marker": (two_wait, lambda office: office.inbox.refresh_marker(office.now + 5)),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_stop_at_any_step_and_again_in_recovery_loses_and_repeats_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped at each step, and recovery at each of its steps, every message is in one place and accounted for."""
    monkeypatch.setattr("os.fsync", lambda handle: None)  # no power is cut here; the order is tested below
    prepare, act = SCENARIOS[name]
    runs = 0

    def run(first: int, second: int) -> tuple[int, int]:
        nonlocal runs
        runs += 1
        office = Office(tmp_path / str(runs) / "inbox")
        prepare(office)
        made = stopping(monkeypatch, office, lambda: act(office), first).count
        office.check()
        office.tick()
        office.dead.update({"p1", "p2"})
        again = 0
        if first and (office.root / office.agent).is_dir():
            office.tick(3 * 3600)
            recover = lambda: office.drain("s3", "p3", "SessionStart")  # noqa: E731
            again = stopping(monkeypatch, office, recover, second).count
            office.check()
            office.tick()
            office.dead.add("p3")
        office.settle()
        return made, again

    total, _ = run(0, 0)
    assert total > 0
    for first in range(1, total + 1):
        _, recovery = run(first, 0)
        for second in range(1, recovery + 1):
            run(first, second)
    print(f"{name}: {total} steps, {runs} runs")


def test_a_send_is_on_the_disk_before_it_is_seen_and_seen_before_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are synced before the name appears, and the folder after it."""
    office = Office(tmp_path / "inbox")
    two_wait(office)
    log = stopping(monkeypatch, office, office.send, 0).log
    name = office.names()[-1]
    assert log[:6] == [
        f"open .{name}.tmp", f"write .{name}.tmp", f"fsync .{name}.tmp", f"link .{name}.tmp {name}",
        f"unlink .{name}.tmp", "fsync b",
    ]  # fmt: skip
    assert log[6:] == ["open .lock", "open .new.tmp", "write .new.tmp", "rename .new.tmp .pending"]


def test_a_first_send_syncs_each_folder_that_it_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new inbox survives a power cut as surely as the message in it."""
    office = Office(tmp_path / "home" / "inbox")
    log = stopping(monkeypatch, office, office.send, 0).log
    assert log[:4] == ["mkdir inbox", "fsync home", "mkdir b", "fsync inbox"]


def test_a_drain_writes_its_receipt_before_it_prints_and_archives_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Receipt synced, page printed, each message moved, both folders synced; then the receipt may go."""
    office = Office(tmp_path / "inbox")
    two_wait(office)
    office.drain()
    two_wait(office)
    first, second = office.names()
    log = stopping(monkeypatch, office, office.drain, 0).log
    receipt = ["open .new.tmp", "write .new.tmp", "fsync .new.tmp", "rename .new.tmp .drain", "fsync .shown"]
    archive = [f"rename {first} {first}", f"rename {second} {second}", "fsync .read", "fsync b"]
    assert log == [
        "open .lock", "mkdir .read", "mkdir .shown", *receipt, "show", *archive, "unlink .drain", "fsync .shown",
        "unlink .pending",
    ]  # fmt: skip


def test_a_session_s_receipt_stays_until_it_is_confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drain in a session does not remove its receipt; the Stop does, and syncs that."""
    office = Office(tmp_path / "inbox")
    two_wait(office)
    log = stopping(monkeypatch, office, lambda: office.drain("s1", "p1"), 0).log
    assert "rename .new.tmp s1" in log and "unlink s1" not in log
    log = stopping(monkeypatch, office, lambda: office.inbox.confirm("s1", office.now), 0).log
    assert log[-3:] == ["unlink s1", "fsync .shown", "unlink .pending"]


def test_mail_returns_only_after_its_history_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """History synced, then the moves, both folders synced, and only then the receipt goes."""
    office = Office(tmp_path / "inbox")
    shown_to_s1(office)
    first, second = office.names(".read")
    log = stopping(monkeypatch, office, lambda: office.inbox.give_back("s1", office.now), 0).log
    start = log.index("rename .new.tmp .history")
    assert log[start - 1] == "fsync .new.tmp"
    assert log[start + 1 : start + 8] == [
        "fsync .shown", f"rename {first} {first}", f"rename {second} {second}", "fsync .read", "fsync b",
        "unlink s1", "fsync .shown",
    ]  # fmt: skip
