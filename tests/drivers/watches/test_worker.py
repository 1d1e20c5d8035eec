import errno
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.files import message_frames
from sandbox_server.drivers.files.message_frames import WorkerFrame
from sandbox_server.drivers.watches.worker import serve
from tests.patience import PATIENCE_SECONDS


class Worker:
    """A watching worker in a thread."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(PATIENCE_SECONDS)
        self._thread = threading.Thread(target=serve, args=(self._theirs,))
        self._thread.start()

    def ask(self, **header: Any) -> None:
        message_frames.send(self._ours, WorkerFrame(header))

    def add(self, name: str, path: object, **options: Any) -> dict[str, Any]:
        given = {"tree": True, "recursive": True, "exclude": [], "include": [], "debounce": 0.01} | options
        self.ask(add=name, path=str(path), **given)
        return self.told()

    def told(self) -> dict[str, Any]:
        frame = message_frames.receive(self._ours)
        assert frame is not None
        return frame.header

    def stop(self) -> None:
        self._ours.close()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()
        self._theirs.close()


@pytest.fixture
def worker() -> Iterator[Worker]:
    started = Worker()
    yield started
    started.stop()


def test_each_watch_tells_what_it_sees(worker: Worker, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        assert worker.add(name, tmp_path / name) == {"added": name}
    (tmp_path / "b/f").touch()
    told = worker.told()
    assert told["of"] == "b"
    assert [(change["type"], change["path"]) for change in told["changes"]] == [("create", f"{tmp_path}/b/f")]


def test_a_watch_that_was_removed_is_silent(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    worker.add("gone", tmp_path / "other", debounce=0.0)
    worker.ask(remove="gone")
    worker.ask(remove="never there")
    worker.add("left", tmp_path)
    (tmp_path / "other/f").touch()
    assert worker.told()["of"] == "left"


def test_a_watch_under_a_name_that_is_taken_replaces_it(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    worker.add("w", tmp_path)
    worker.add("w", tmp_path / "sub")
    (tmp_path / "f").touch()
    (tmp_path / "sub/f").touch()
    assert [change["path"] for change in worker.told()["changes"]] == [f"{tmp_path}/sub/f"]


def test_what_cannot_be_watched_is_said_and_the_rest_goes_on(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert worker.add("file", tmp_path / "f") == {"failed": "file", "errno": errno.ENOTDIR}
    assert worker.add("nul", "/a\0b")["refused"] == "invalid_path"
    assert worker.add("good", tmp_path) == {"added": "good"}
