import asyncio
import socket
from collections.abc import AsyncIterator

import dns.asyncquery
import dns.message
import dns.rcode
import pytest

from sandbox_server.drivers.egress.dns_responder import DnsResponder
from sandbox_server.drivers.egress.name_table import NameTable
from sandbox_server.egress import dns_server
from sandbox_server.egress.acceptor import Acceptor
from sandbox_server.egress.dns_server import DnsServer
from sandbox_server.egress.flow_events import FlowEvents
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


class Served:
    """A DNS server on loopback."""

    def __init__(self) -> None:
        self.names, self.events = NameTable(), FlowEvents()
        self.server = DnsServer(DnsResponder(self.names), self.events)
        self.packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.packets.bind(("127.0.0.1", 0))
        self.packets.setblocking(False)
        self.queries = socket.create_server(("127.0.0.1", 0))
        self.acceptor = Acceptor(self.server.serve, 10)

    @property
    def places(self) -> tuple[int, int]:
        """Its ports for UDP and TCP."""
        return self.packets.getsockname()[1], self.queries.getsockname()[1]


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    made = Served()
    asyncio.get_running_loop().add_reader(made.packets, made.server.answer_packets, made.packets)
    made.acceptor.listen(made.queries)
    yield made
    asyncio.get_running_loop().remove_reader(made.packets)
    await made.acceptor.close()
    made.packets.close()
    made.queries.close()


async def test_packets_and_connections_get_the_same_answer(served: Served) -> None:
    query, (udp, tcp) = dns.message.make_query("a.example", "A"), served.places
    by_packet = await dns.asyncquery.udp(query, "127.0.0.1", port=udp, timeout=PATIENCE_SECONDS)
    by_connection = await dns.asyncquery.tcp(query, "127.0.0.1", port=tcp, timeout=PATIENCE_SECONDS)
    assert by_packet.answer == by_connection.answer
    assert str(by_packet.answer[0][0]) == str(served.names.address_of("a.example"))


async def test_what_is_not_answered_is_told(served: Served) -> None:
    with served.events.follow() as follower:
        answer = await dns.asyncquery.udp(
            dns.message.make_query("a.example", "TXT"), "127.0.0.1", port=served.places[0], timeout=PATIENCE_SECONDS
        )
        assert answer.rcode() == dns.rcode.NOTIMP
        [event] = follower.take()
    assert (event["event"], event["name"], event["type"]) == ("dns", "a.example", 16)


async def test_nonsense_ends_nothing(served: Served) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for packet in (b"", b"x", b"x" * 5000, b"\xff" * 512):
            sock.sendto(packet, ("127.0.0.1", served.places[0]))
    for sent in (b"", b"\0", b"\0\0", b"\xff\xff" + b"x" * 100, b"\0\x0c" + b"\xff" * 12):
        _, writer = await asyncio.open_connection("127.0.0.1", served.places[1])
        writer.write(sent)
        writer.close()
    assert await dns.asyncquery.udp(dns.message.make_query("a", "A"), "127.0.0.1", port=served.places[0], timeout=PATIENCE_SECONDS)


async def test_a_connection_that_says_nothing_is_closed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns_server, "IDLE_SECONDS", 0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", served.places[1])
    async with asyncio.timeout(20):
        assert await reader.read() == b""
    writer.close()


async def test_a_connection_has_so_many_queries(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns_server, "MAX_QUERIES", 2)
    query = dns.message.make_query("a", "A").to_wire()
    reader, writer = await asyncio.open_connection("127.0.0.1", served.places[1])
    writer.write((len(query).to_bytes(2) + query) * 5)
    async with asyncio.timeout(20):
        received = b""
        try:
            received = await reader.read(65536)
            received += await reader.read()
        except ConnectionResetError:
            pass
    assert 0 < received.count(query[:2]) <= 2
    writer.close()
