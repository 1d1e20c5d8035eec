import asyncio
import os
import socket
from pathlib import Path

import pytest

from sandbox_server.core import Conflict, DeadlineExceeded, Failure, InvalidArgument, NotFound, ResourceExhausted, Unavailable
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.drivers.ipc import descriptor_passing

pytestmark = pytest.mark.anyio

BOX = Isolation("box", "")


@pytest.fixture
def listener(tmp_path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.bind(str(tmp_path / "box.sock"))
    made.listen()
    return made


async def answered(listener: socket.socket, path: Path, answer: dict[str, object] | None, **fields: int) -> object:
    """Ask, with a daemon that gives this answer, or goes away."""
    asking = asyncio.create_task(BoxClient(str(path / "box.sock"), BOX).ask("list", fds=(), timeout=30, **fields))
    sock, _ = await asyncio.to_thread(listener.accept)
    with listener, sock:
        request, fds = await asyncio.to_thread(descriptor_passing.receive, sock)
        assert request is not None
        assert descriptor_passing.read_body(fds[0]) == {"op": "list", **fields}
        descriptor_passing.close_all(fds)
        if answer is not None:
            descriptor_passing.send_request(sock, answer)
    return await asking


async def test_an_answer_comes_back(listener: socket.socket, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    assert await answered(listener, tmp_path, {"ok": {"x": 1}}, y=2) == {"x": 1}
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize(
    ("kind", "failure"),
    [("not_found", NotFound), ("conflict", Conflict), ("resource_exhausted", ResourceExhausted), ("invalid_argument", InvalidArgument)],
)
async def test_a_refusal_is_the_failure_it_names(listener: socket.socket, tmp_path: Path, kind: str, failure: type[Failure]) -> None:
    with pytest.raises(failure, match="because"):
        await answered(listener, tmp_path, {"refused": kind, "message": "because"})


async def test_a_daemon_that_goes_away_is_unavailable_for_now(listener: socket.socket, tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as failed:
        await answered(listener, tmp_path, None)
    assert failed.value.retry_after


async def test_a_daemon_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        await BoxClient(str(tmp_path / "none"), BOX).ask("list")


async def test_a_daemon_that_hangs_is_given_up(listener: socket.socket, tmp_path: Path) -> None:
    with listener, pytest.raises(DeadlineExceeded):
        await BoxClient(str(tmp_path / "box.sock"), BOX).ask("list", timeout=0.05)


async def test_without_a_box_the_reason_is_given() -> None:
    with pytest.raises(Conflict, match="EPERM") as failed:
        await BoxClient("/nonexistent", Isolation("users", "EPERM: proc")).ask("list")
    assert "/v1/capabilities" in (failed.value.hint or "")


async def test_resuming_asks_the_daemon_of_a_box_and_nobody_without_one(listener: socket.socket, tmp_path: Path) -> None:
    path = str(tmp_path / "box.sock")
    resuming = asyncio.create_task(BoxClient(path, BOX).resume())
    sock, _ = await asyncio.to_thread(listener.accept)
    with sock:
        request, fds = await asyncio.to_thread(descriptor_passing.receive, sock)
        assert (request, descriptor_passing.read_body(fds[0])) == ({}, {"op": "thaw"})
        descriptor_passing.close_all(fds)
        descriptor_passing.send_request(sock, {"ok": {}})
    await asyncio.wait_for(resuming, 30)
    listener.close()
    await BoxClient(path, BOX).resume()  # a daemon that is not there
    await BoxClient(path, Isolation("users", "no namespaces")).resume()
