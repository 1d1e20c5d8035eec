"""The log on disk."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.recorder.event_log import EventLog


def entry(number: int, **more: Any) -> dict[str, Any]:
    return {"at": float(number), "kind": "call", "actor": {"type": "agent", "name": "a"}, "text": "x" * 100, **more}


def everything(_: dict[str, Any]) -> bool:
    return True


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    made = EventLog(str(tmp_path), 1 << 20)
    made.open()
    yield made
    made.close()


def test_entries_are_numbered_and_read_by_number_or_from_the_end(log: EventLog) -> None:
    log.append([entry(1), entry(2)])
    log.append([entry(3)])

    assert [each["n"] for each in log.read(0, everything, 10)] == [1, 2, 3, 4], "the first says where the file begins"
    assert [each["at"] for each in log.read(2, everything, 1)] == [2.0]
    assert [each["at"] for each in log.latest(lambda each: each["kind"] == "call", 2)] == [2.0, 3.0]


def test_a_later_process_goes_on_with_the_same_chain(log: EventLog, tmp_path: Path) -> None:
    log.append([entry(1)])
    log.close()
    later = EventLog(str(tmp_path), 1 << 20)
    assert later.open() == 0
    later.append([entry(2)])

    verdict = later.verify()
    assert (verdict.broken, verdict.entries, verdict.first) == (None, 4, 1)
    assert [each["at"] for each in later.read(0, lambda each: each["kind"] == "call", 9)] == [1.0, 2.0]
    later.close()


def test_a_line_that_was_cut_short_is_removed_and_its_bytes_are_told(log: EventLog, tmp_path: Path) -> None:
    log.append([entry(1)])
    log.close()
    [file] = tmp_path.glob("*.jsonl")
    with file.open("ab") as opened:
        opened.write(b'{"hash":"12')
    later = EventLog(str(tmp_path), 1 << 20)

    assert later.open() == 11
    later.append([entry(2)])
    assert later.verify().broken is None
    later.close()


def test_the_oldest_files_make_room_and_the_rest_can_still_be_checked(tmp_path: Path) -> None:
    log = EventLog(str(tmp_path), 16 << 10)
    log.open()
    for number in range(300):
        log.append([entry(number)])

    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= (16 << 10) + 1000
    verdict = log.verify()
    assert verdict.broken is None
    assert verdict.first is not None
    assert verdict.first > 1
    assert verdict.head == log.head
    log.close()


@pytest.mark.parametrize("harm", ["change", "cut", "remove"])
def test_what_somebody_does_to_the_files_shows(tmp_path: Path, harm: str) -> None:
    log = EventLog(str(tmp_path), 64 << 10, file_bytes=2000)
    log.open()
    for number in range(40):
        log.append([entry(number)])
    files = sorted(tmp_path.iterdir())
    if harm == "change":
        files[1].write_bytes(files[1].read_bytes().replace(b"agent", b"human", 1))
    elif harm == "cut":
        files[-1].write_bytes(b"".join(files[-1].read_bytes().splitlines(keepends=True)[:-1]))
    else:
        files[1].unlink()

    assert log.verify().broken
    log.close()


def test_a_log_whose_end_was_changed_starts_anew_and_says_so(log: EventLog, tmp_path: Path) -> None:
    log.append([entry(1)])
    log.close()
    [file] = tmp_path.glob("*.jsonl")
    file.write_bytes(b"nonsense\n")
    later = EventLog(str(tmp_path), 1 << 20)
    later.open()
    later.append([entry(2)])

    assert later.verify().broken
    later.close()


def test_pages_are_read_backwards_by_number_and_by_time_over_many_files(tmp_path: Path) -> None:
    log = EventLog(str(tmp_path), 1 << 20, file_bytes=1000)
    log.open()
    for number in range(60):
        log.append([entry(number)])
    log.close()
    assert len(log.files()) > 5

    calls = log.latest(lambda each: each["kind"] == "call", 100)
    before = calls[30]["n"]
    assert [each["at"] for each in log.latest(lambda each: each["kind"] == "call", 3, before=before)] == [27.0, 28.0, 29.0]
    assert [each["at"] for each in log.latest(lambda each: each["kind"] == "call" and each["at"] < 30, 3, until=30)] == [27.0, 28.0, 29.0]
    assert log.latest(everything, 10, until=0) == []


def test_a_file_whose_beginning_was_changed_is_read_all_the_same(tmp_path: Path) -> None:
    log = EventLog(str(tmp_path), 1 << 20)
    log.open()
    log.append([entry(5)])
    log.close()
    [file] = tmp_path.glob("*.jsonl")
    file.write_bytes(b"odd\n" + file.read_bytes().partition(b"\n")[2])
    assert [each["at"] for each in log.latest(lambda each: each["at"] < 6, 10, until=6)] == [5.0]
