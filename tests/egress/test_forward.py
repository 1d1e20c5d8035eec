import asyncio
import socket

import pytest

from sandbox_server.egress.acceptor import Acceptor
from sandbox_server.egress.forward import Forward

pytestmark = pytest.mark.anyio


async def test_a_port_leads_to_its_service_and_without_one_is_closed() -> None:
    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read(100)).upper())
        writer.close()

    server = await asyncio.start_server(attend, "127.0.0.1", 0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        acceptor = Acceptor(Forward(*server.sockets[0].getsockname()).serve, 10)
        acceptor.listen(listener)
        for expected in (b"HELLO", b""):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(b"hello")
            async with asyncio.timeout(20):
                try:
                    assert await reader.read() == expected
                except ConnectionResetError:
                    assert expected == b""
            writer.close()
            server.close()
        await acceptor.close()
