import dataclasses
import json
from pathlib import Path

import pytest

from sandbox_server.drivers.shells.session_store import ShellStore, StoredSession, StoredSessions
from sandbox_server.drivers.shells.shells import ShellKey

SESSION = StoredSession(
    id="main",
    key=ShellKey("a1", "n0nce", "%3", 4242),
    directory="/home/gem",
    implicit=True,
    personal=False,
    no_change_timeout=2.5,
    created_at="2025-01-02T03:04:05+00:00",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shells.json"


def test_what_was_written_is_read_by_the_next_server(file: Path) -> None:
    closed = dataclasses.replace(SESSION, id="other", key=None, personal=True)
    ShellStore(str(file)).write([SESSION, closed], ["old", "older"])
    assert ShellStore(str(file)).read() == StoredSessions([SESSION, closed], ["old", "older"])


def test_a_directory_whose_name_is_not_utf8_is_remembered(file: Path) -> None:
    odd = dataclasses.replace(SESSION, directory="/caf\udce9/日本")
    ShellStore(str(file)).write([odd], [])
    assert ShellStore(str(file)).read().sessions == [odd]


def test_writing_replaces_what_was_there(file: Path) -> None:
    store = ShellStore(str(file))
    store.write([SESSION], ["x"])
    store.write([], [])
    assert store.read() == StoredSessions()


def test_reading_twice_gives_the_same(file: Path) -> None:
    store = ShellStore(str(file))
    store.write([SESSION], [])
    assert store.read() == store.read()


def test_without_a_file_there_are_no_sessions(file: Path) -> None:
    assert ShellStore(str(file)).read() == StoredSessions()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"sessions": [',
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"sessions": []}',
        b'{"sessions": [7], "gone": []}',
        b'{"sessions": [{}], "gone": []}',
        b'{"sessions": [{"key": null, "unknown": 1}], "gone": []}',
        b'{"sessions": [{"key": {"name": "x"}}], "gone": []}',
    ],
)
def test_a_file_that_is_not_understood_holds_no_sessions(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert ShellStore(str(file)).read() == StoredSessions()


def test_the_nonces_are_for_the_owner_alone(file: Path) -> None:
    ShellStore(str(file)).write([SESSION], [])
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_write_that_breaks_off_leaves_the_file_as_it_was(file: Path) -> None:
    store = ShellStore(str(file))
    store.write([SESSION], [])
    unwritable = dataclasses.replace(SESSION, directory=object())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        store.write([unwritable], [])
    assert store.read().sessions == [SESSION]


def test_a_draft_that_was_left_behind_does_no_harm(file: Path) -> None:
    file.with_name(f".{file.name}.new").write_text("x" * 10_000)
    ShellStore(str(file)).write([SESSION], [])
    assert json.loads(file.read_text())["sessions"][0]["id"] == "main"
    assert list(file.parent.iterdir()) == [file]
