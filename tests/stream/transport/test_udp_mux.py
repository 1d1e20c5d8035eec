"""The UDP multiplexer: datagrams reach the connection they belong to, and no datagram does harm."""

import asyncio
import errno
import random
import socket
from contextlib import suppress

import pytest
from aioice import stun
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.stream.transport.udp_mux import (
    MAX_ADDRESSES,
    MAX_CONNECTIONS,
    MAX_WAITING,
    IceClient,
    IceServer,
    UdpMux,
    address_of,
    bound,
)

pytestmark = pytest.mark.anyio

NAME, PASSWORD = "guestguest", "p" * 32


def request(name: str = f"{NAME}:viewer", password: str = PASSWORD, **others: object) -> bytes:
    message = stun.Message(stun.Method.BINDING, stun.Class.REQUEST)
    message.attributes |= {"USERNAME": name, "PRIORITY": 1, "ICE-CONTROLLING": 1} | others
    message.add_message_integrity(password.encode())
    return bytes(message)


async def admitted(mux: UdpMux) -> IceServer:
    connection = IceServer(mux, NAME, PASSWORD)
    await connection.gather_candidates()
    connection.remote_username, connection.remote_password = "viewer", "v" * 22
    return connection


async def test_who_knows_the_password_is_heard_and_nobody_else() -> None:
    mux = UdpMux("127.0.0.1", 0)
    connection = await admitted(mux)
    mux.datagram_received(b"\x80stranger", ("10.0.0.1", 1))
    mux.datagram_received(request(password="x" * 32), ("10.0.0.1", 1))
    mux.datagram_received(request(name="nobody:viewer"), ("10.0.0.1", 1))
    mux.datagram_received(b"\x80still a stranger", ("10.0.0.1", 1))
    assert connection._queue.empty()
    mux.datagram_received(request(), ("10.0.0.2", 2))
    mux.datagram_received(b"\x80known", ("10.0.0.2", 2))
    assert connection._queue.get_nowait() == (b"\x80known", 1)
    await connection.close()
    mux.datagram_received(request(), ("10.0.0.2", 2))
    assert not mux._addresses


async def test_nothing_that_one_viewer_sends_fills_the_memory() -> None:
    mux = UdpMux("127.0.0.1", 0)
    connection = await admitted(mux)
    for number in range(50):
        mux.datagram_received(request(), (f"10.0.0.{number}", 1))
    assert len(mux._addresses) == MAX_ADDRESSES
    for _ in range(MAX_WAITING + 50):
        mux.datagram_received(b"\x80", ("10.0.0.1", 1))
    assert connection._queue.qsize() <= MAX_WAITING
    await connection.close()


async def test_there_is_room_for_so_many_and_again_when_one_has_gone() -> None:
    mux = UdpMux("127.0.0.1", 0)
    connections = [IceServer(mux, f"guest{number:05}", PASSWORD) for number in range(MAX_CONNECTIONS + 1)]
    for connection in connections[:-1]:
        await connection.gather_candidates()
    with pytest.raises(ResourceExhausted):
        await connections[-1].gather_candidates()
    await connections[0].close()
    await IceServer(mux, "another000", PASSWORD).gather_candidates()
    for connection in connections[1:]:
        await connection.close()


def has_ipv6() -> bool:
    """Whether this machine has a loopback of IPv6's."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as tried, suppress(OSError):
        tried.bind(("::1", 0))
        return True
    return False


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::1", marks=pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here"))])
async def test_one_port_is_reached_by_ipv4_and_ipv6(host: str) -> None:
    async with UdpMux("::", 0) as mux:
        connection, caller = IceServer(mux, NAME, PASSWORD), IceClient()
        for one in (connection, caller):
            await one.gather_candidates()
        connection.remote_username, connection.remote_password = caller.local_username, caller.local_password
        caller.remote_username, caller.remote_password = NAME, PASSWORD
        await caller.connect_to(host, mux.port)
        async with asyncio.timeout(30), asyncio.TaskGroup() as both:
            both.create_task(connection.connect())
            both.create_task(caller.connect())
        await caller.send(b"\x80there")
        async with asyncio.timeout(30):
            assert await connection.recv() == b"\x80there"
        await connection.send(b"\x80back")
        async with asyncio.timeout(30):
            assert await caller.recv() == b"\x80back"
        assert {address for address, _ in mux._addresses} == {host}
        for one in (connection, caller):
            await one.close()


def test_a_machine_without_ipv6_has_the_port_by_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.socket

    def without(family: int, kind: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "no IPv6")
        return real(family, kind)

    monkeypatch.setattr(socket, "socket", without)
    with bound("::", 0) as opened:
        assert opened.family == socket.AF_INET


@settings(deadline=None, database=None, max_examples=200)
@given(st.binary(max_size=80), st.integers(0, 2**32))
def test_no_datagram_raises_anything(rubbish: bytes, seed: int) -> None:
    async def receive() -> None:
        mux = UdpMux("127.0.0.1", 0)
        connection = await admitted(mux)
        chance, sound = random.Random(seed), bytearray(request())
        for _ in range(chance.randrange(1, 5)):
            sound[chance.randrange(len(sound))] = chance.randrange(256)
        begun = bytearray(stun.Message(stun.Method.BINDING, stun.Class.REQUEST).__bytes__()) + rubbish
        begun[2:4] = len(rubbish).to_bytes(2, "big")
        for datagram in (rubbish, bytes(sound), bytes(begun), bytes(sound[: chance.randrange(len(sound))])):
            for _ in range(2):
                mux.datagram_received(datagram, ("10.0.0.1", 9))
            mux.datagram_received(request(), ("10.0.0.1", 9))
        mux.datagram_received(request(PRIORITY=0), ("10.0.0.3", 9))
        await connection.close()

    asyncio.run(receive())


@pytest.mark.parametrize(
    ("host", "address"),
    [("localhost", "127.0.0.1"), ("10.0.0.1", ""), ("::1", ""), ("", ""), ("a" * 300, ""), ("\N{SNOWMAN}" * 99, "")],
)
async def test_a_name_is_told_with_its_address_and_an_address_alone(host: str, address: str) -> None:
    assert await address_of(host) == address
