import asyncio
import errno
import socket
from collections.abc import Iterator

import pytest

from sandbox_server.egress.acceptor import CROWDED, Acceptor
from tests.patience import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=100) as made:
        yield made


async def echo(client: socket.socket) -> None:
    with client:
        await asyncio.get_running_loop().sock_sendall(client, await asyncio.get_running_loop().sock_recv(client, 100))


async def said(listener: socket.socket) -> bytes:
    """What a connection says by itself."""
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_every_connection_is_served(listener: socket.socket) -> None:
    acceptor = Acceptor(echo, 100)
    acceptor.listen(listener)
    for _ in range(3):
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(b"x")
        assert await reader.read() == b"x"
        writer.close()
    await eventually(lambda: len(acceptor) == 0)
    await acceptor.close()


async def test_more_than_the_limit_are_reset_until_one_has_ended(listener: socket.socket) -> None:
    acceptor = Acceptor(echo, 2)
    acceptor.listen(listener)
    served = [await asyncio.open_connection(*listener.getsockname()) for _ in range(2)]
    await eventually(lambda: len(acceptor) == 2)
    with pytest.raises(ConnectionResetError):
        await said(listener)
    assert acceptor.refused == 1
    served[0][1].close()
    await eventually(lambda: len(acceptor) == 1)
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(b"x")
    assert await reader.read() == b"x"
    for _, each in (*served, (reader, writer)):
        each.close()
    await acceptor.close()
    assert len(acceptor) == 0


async def test_who_has_the_most_makes_room_for_others_and_not_for_itself(listener: socket.socket) -> None:
    users: dict[int, int] = {}
    clients: list[socket.socket] = []
    ended: list[str] = []

    async def hold(client: socket.socket) -> None:
        with client:
            try:
                await asyncio.get_running_loop().sock_recv(client, 1)
            except asyncio.CancelledError as cancelled:
                ended.append(str(cancelled))
                raise

    acceptor = Acceptor(hold, 4, lambda client: users[client.getpeername()[1]])
    acceptor.listen(listener)

    async def begin(user: int) -> socket.socket:
        clients.append(client := socket.socket())
        client.bind(("127.0.0.1", 0))
        users[client.getsockname()[1]] = user
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, listener.getsockname())
        return client

    many = [await begin(0) for _ in range(4)]
    await eventually(lambda: len(acceptor) == 4)
    with pytest.raises(ConnectionResetError):
        await asyncio.get_running_loop().sock_recv(await begin(0), 1)
    for _ in range(2):
        await begin(1)
    for client in many[3:1:-1]:  # the newest of them
        assert await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 1), 20) == b""
    with pytest.raises(ConnectionResetError):  # they have as many as this user now
        await asyncio.get_running_loop().sock_recv(await begin(1), 1)
    await begin(2)
    await eventually(lambda: acceptor.refused == 5)
    assert len(acceptor) == 4
    assert set(ended) == {CROWDED}
    for client in clients:
        client.close()
    await eventually(lambda: len(acceptor) == 0)
    assert not acceptor._running_of
    await acceptor.close()


async def test_without_a_descriptor_it_waits_and_goes_on(listener: socket.socket) -> None:
    class Exhausted:
        """A listener without descriptors, twice."""

        def __init__(self) -> None:
            self.times = 0

        def __getattr__(self, name: str) -> object:
            return getattr(listener, name)

        def fileno(self) -> int:
            return listener.fileno()

        def accept(self) -> tuple[socket.socket, object]:
            self.times += 1
            if self.times <= 2:
                raise OSError(errno.EMFILE, "too many")
            return listener.accept()

    acceptor, exhausted = Acceptor(echo, 10), Exhausted()
    acceptor.listen(exhausted)  # type: ignore[arg-type]
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(b"x")
    async with asyncio.timeout(20):
        assert await reader.read() == b"x"
    assert exhausted.times < 10
    writer.close()
    await acceptor.close()
