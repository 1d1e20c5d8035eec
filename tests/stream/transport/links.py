"""A link for datagrams that loses some, in this process."""

import asyncio
import random
from typing import Any, Self


class Lossy(asyncio.DatagramProtocol):
    """Passes datagrams between whoever sends here and `towards`; loses a part of those that come back, and all while it is `cut`."""

    def __init__(self, towards: tuple[str, int], loss: float = 0.0) -> None:
        self._towards = towards
        self._loss = loss
        self._chance = random.Random(1)
        self._from: tuple[Any, ...] | None = None
        self._transport: asyncio.DatagramTransport | None = None
        self.cut = False
        self.lost = 0

    async def __aenter__(self) -> Self:
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        self._transport = transport
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._transport:
            self._transport.close()

    @property
    def port(self) -> int:
        """Where it takes them."""
        assert self._transport
        port: int = self._transport.get_extra_info("sockname")[1]
        return port

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        assert self._transport
        back = addr == self._towards
        if not back:
            self._from = addr
        if self.cut or (back and self._chance.random() < self._loss):
            self.lost += 1
        elif back:
            self._transport.sendto(data, self._from)
        else:
            self._transport.sendto(data, self._towards)
