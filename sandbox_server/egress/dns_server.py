"""The DNS responder's sockets: UDP, and TCP with a bound on everything."""

import asyncio
import socket
from contextlib import suppress

from sandbox_server.drivers.egress.dns_messages import MAX_UDP
from sandbox_server.drivers.egress.dns_responder import DnsResponder
from sandbox_server.egress.flow_events import FlowEvents
from sandbox_server.egress.socket_reads import read_exactly

_BATCH = 64
"""Packets that are answered before others have their turn."""
IDLE_SECONDS = 10.0
MAX_QUERIES = 256
"""Queries on one TCP connection."""


class DnsServer:
    """Answers on sockets that were made inside the namespace."""

    def __init__(self, responder: DnsResponder, events: FlowEvents) -> None:
        self._responder = responder
        self._events = events

    def answer_packets(self, sock: socket.socket) -> None:
        """Answer what has come by UDP. A full queue of answers loses some, as UDP does."""
        with suppress(OSError):
            for _ in range(_BATCH):
                packet, sender = sock.recvfrom(MAX_UDP + 1)
                if answer := self._answer(packet):
                    sock.sendto(answer, sender)

    async def serve(self, client: socket.socket) -> None:
        """Answer queries on a TCP connection until it ends, and close it."""
        loop = asyncio.get_running_loop()
        with client, suppress(OSError, TimeoutError, EOFError):
            for _ in range(MAX_QUERIES):
                async with asyncio.timeout(IDLE_SECONDS):
                    length = int.from_bytes(await read_exactly(client, 2))
                    answer = self._answer(await read_exactly(client, length))
                    if answer is None:
                        return
                    await loop.sock_sendall(client, len(answer).to_bytes(2) + answer)

    def _answer(self, packet: bytes) -> bytes | None:
        response = self._responder.answer(packet)
        if response and response.refused:
            name, kind = response.refused
            self._events.publish("dns", name=name, type=kind)
        return response.packet if response else None
