"""A daemon that starts, or comes back, is waited for; one that does not is told after a while."""

import asyncio
import socket
from pathlib import Path

import pytest

from sandbox_server.drivers.ipc import connect_with_retry

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> str:
    return f"{tmp_path}/daemon.sock"


def listener(path: str) -> socket.socket:
    """A daemon on this socket."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.bind(path)
    made.listen()
    return made


@pytest.fixture
def client() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)


async def test_a_daemon_that_is_about_to_start_is_waited_for(path: str, client: socket.socket) -> None:
    connecting = asyncio.create_task(connect_with_retry.connect(client, path, 30))
    await asyncio.sleep(0)
    assert not connecting.done()
    with listener(path), client:
        await asyncio.wait_for(connecting, 30)
        assert client.getpeername() == path


async def test_a_daemon_that_left_its_socket_behind_is_waited_for(path: str, client: socket.socket) -> None:
    listener(path).close()
    connecting = asyncio.create_task(connect_with_retry.connect(client, path, 30))
    await asyncio.sleep(0)
    assert not connecting.done()
    Path(path).unlink()
    with listener(path), client:
        await asyncio.wait_for(connecting, 30)


async def test_a_daemon_that_does_not_come_is_told(path: str, client: socket.socket) -> None:
    with client, pytest.raises(FileNotFoundError):
        await connect_with_retry.connect(client, path, 0.0)
    listener(path).close()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other, pytest.raises(ConnectionRefusedError):
        await connect_with_retry.connect(other, path, 0.0)
