import asyncio
import socket

import pytest

from sandbox_server.drivers.egress.policy import AppProtocol
from sandbox_server.egress import refusals
from sandbox_server.egress.refusals import ACCESS_DENIED, refuse

pytestmark = pytest.mark.anyio


def pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        program = socket.create_connection(listener.getsockname())
        client, _ = listener.accept()
    program.setblocking(False)
    client.setblocking(False)
    return program, client


async def test_http_is_told_with_a_page_even_while_it_still_sends() -> None:
    program, client = pair()
    loop = asyncio.get_running_loop()
    with program:
        await loop.sock_sendall(program, b"x" * 200_000)
        refusing = asyncio.ensure_future(refuse(client, AppProtocol.HTTP, "no: ü"))
        received = b""
        while chunk := await loop.sock_recv(program, 4096):
            received += chunk
        program.shutdown(socket.SHUT_WR)
        await refusing
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 403 Forbidden")
    assert f"Content-Length: {len(body)}".encode() in head
    assert body.decode() == "egress: no: ü\n"


async def test_tls_is_told_with_an_alert_and_the_end() -> None:
    program, client = pair()
    with program:
        refusing = asyncio.ensure_future(refuse(client, AppProtocol.TLS, "no"))
        assert await asyncio.get_running_loop().sock_recv(program, 100) == ACCESS_DENIED
        assert await asyncio.get_running_loop().sock_recv(program, 100) == b""
        program.close()
        await refusing


@pytest.mark.parametrize("protocol", [AppProtocol.TCP, None])
async def test_anything_else_is_reset(protocol: AppProtocol | None) -> None:
    program, client = pair()
    with program:
        await refuse(client, protocol, "no")
        with pytest.raises(ConnectionResetError):
            await asyncio.get_running_loop().sock_recv(program, 100)


async def test_a_client_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "LINGER_SECONDS", 0.05)
    program, client = pair()
    with program:
        async with asyncio.timeout(20):
            await refuse(client, AppProtocol.HTTP, "no")
        assert client.fileno() == -1
