import errno
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.files import message_frames, worker
from sandbox_server.drivers.files.message_frames import WorkerFrame
from tests.patience import PATIENCE_SECONDS

type Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Ask a worker that is a thread of this process."""
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE_SECONDS)
    thread = threading.Thread(target=worker.serve, args=(theirs,))
    thread.start()

    def send(**header: Any) -> dict[str, Any]:
        message_frames.send(ours, WorkerFrame(header))
        frame = message_frames.receive(ours)
        assert frame is not None
        return frame.header

    yield send
    ours.close()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    theirs.close()


def test_requests_are_answered_one_after_another(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("xyz")
    assert ask(op="stat", path=str(tmp_path / "f"), follow=True)["size"] == 3
    assert ask(op="mkdir", path=str(tmp_path / "d"))["made"]


def test_a_failure_of_the_kernel_is_an_answer_with_the_path(ask: Ask, tmp_path: Path) -> None:
    assert ask(op="stat", path=f"{tmp_path}/x", follow=True) == {"errno": errno.ENOENT, "path": f"{tmp_path}/x"}
    assert ask(op="move", path=f"{tmp_path}/x", destination="/y", parents=False)["errno"] == errno.ENOENT


def test_a_refusal_is_an_answer_with_its_reason(ask: Ask) -> None:
    answer = ask(op="read", path="/dev/null", limit=1)
    assert (answer["refused"], answer["path"]) == ("invalid_target", "/dev/null")


@pytest.mark.parametrize("path", ["/a\0b", "/\ud800"])
def test_a_path_that_can_be_no_path_is_refused(ask: Ask, path: str) -> None:
    assert ask(op="stat", path=path, follow=True)["refused"] == "invalid_path"


def test_a_tree_deeper_than_the_worker_can_go_is_an_answer(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(_: WorkerFrame) -> WorkerFrame:
        raise RecursionError

    monkeypatch.setitem(worker.OPERATIONS, "stat", too_deep)
    assert ask(op="stat", path="/x", follow=True) == {"errno": errno.ENAMETOOLONG, "path": "/x"}
