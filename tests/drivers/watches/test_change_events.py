from pathlib import Path

import pytest

from sandbox_server.drivers.watches import change_events
from sandbox_server.drivers.watches.change_events import CoalescingWindow, FileChange, Kind


class Clock:
    """Time that passes when the test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("happened", "reported"),
    [
        (["create", "write", "write", "chmod"], ["create"]),
        (["write", "write"], ["write"]),
        (["chmod", "write"], ["write"]),
        (["create", "remove"], ["create", "remove"]),
        (["write", "remove", "create", "write"], ["write", "remove", "create"]),
    ],
)
def test_a_burst_on_one_path_is_merged_without_losing_what_it_came_to(happened: list[Kind], reported: list[Kind]) -> None:
    window = CoalescingWindow(1)
    for kind in happened:
        window.add(FileChange(kind, "/f"))
    assert [change.kind for change in window.take()] == reported


def test_changes_of_different_paths_keep_their_order() -> None:
    window = CoalescingWindow(1)
    for path in ("/b", "/a", "/b"):
        window.add(FileChange("write", path))
    assert [change.path for change in window.take()] == ["/b", "/a"]


def test_a_window_closes_a_fixed_time_after_its_first_change() -> None:
    clock = Clock()
    window = CoalescingWindow(2, clock)
    assert window.wait is None
    window.add(FileChange("write", "/f"))
    clock.now += 1.5
    window.add(FileChange("write", "/f"))
    assert window.wait == 0.5
    clock.now += 1
    assert window.wait == 0
    window.take()
    assert window.wait is None


def test_more_changes_than_are_held_are_an_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_events, "MAX_PENDING", 3)
    window = CoalescingWindow(1)
    for number in range(5):
        window.add(FileChange("create", f"/{number}"))
    assert [change.kind for change in window.take()] == ["create", "create", "create", "overflow"]


def test_a_change_is_described_with_the_file_as_it_is_now(tmp_path: Path) -> None:
    path = tmp_path / "sub/f"
    path.parent.mkdir()
    path.write_bytes(b"xyz")
    described = FileChange("write", str(path)).describe(str(tmp_path))
    assert (described["relative_path"], described["size"], described["inode"]) == ("sub/f", 3, path.stat().st_ino)
    assert FileChange("remove", str(path)).describe(str(tmp_path))["size"] is None
