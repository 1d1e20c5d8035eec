"""Connections of programs that end at once: what they said goes on, and their sockets are told of before anything else."""

import socket

import pytest

from sandbox_server.drivers.egress.protected_addresses import Address
from sandbox_server.drivers.egress.socket_owner import SocketOwner
from tests.egress.conftest import EgressLab
from tests.patience import eventually

pytestmark = pytest.mark.anyio
REQUEST = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"


async def hang_up_after(lab: EgressLab, host: str, port: int, said: bytes) -> bytes:
    """What a client hears that says something and then that it has said all."""
    reader, writer = await lab.connect(host, port)
    try:
        writer.write(said)
        writer.write_eof()
        return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("said", [b"\n", b"G", b"POST", b"\x16"])
async def test_what_is_no_message_yet_when_a_client_has_said_all_goes_on_where_anything_may(lab: EgressLab, said: bytes) -> None:
    lab.rules(lab.allow("a.example", protocols=["tcp"]))
    port = await lab.serve()
    assert await hang_up_after(lab, "a.example", port, said) == b"hello"
    assert lab.heard[port] == said
    assert (await lab.event("open"))["protocol"] == "tcp"


@pytest.mark.parametrize("said", [b"\n", b"GET / HTTP/1.1\r\nHost: a.ex", b"\x16\x03\x01\x02\x00\x01"])
async def test_it_is_refused_with_an_event_where_its_protocol_is_not_allowed(lab: EgressLab, said: bytes) -> None:
    lab.rules(lab.allow("a.example", ports=[80], protocols=["http", "tls"]))
    await lab.serve(80)
    try:
        heard = await hang_up_after(lab, "a.example", 80, said)
    except ConnectionResetError:
        heard = b""
    assert b"hello" not in heard
    assert (await lab.event("refused"))["host"] == "a.example"
    assert lab.heard == {}


async def test_the_socket_of_a_connection_is_told_of_before_anything_is_decided(lab: EgressLab) -> None:
    def owner_of(_: socket.socket, __: tuple[Address, int]) -> SocketOwner:
        return SocketOwner(1000, 77)

    lab.server.flows._owner_of = owner_of
    _, writer = await lab.connect("a.example", 80)
    accepted = await lab.event("accepted")
    assert (accepted["uid"], accepted["inode"]) == (1000, 77)
    writer.close()


async def test_without_anybody_who_follows_or_a_socket_nothing_is_told(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    assert await lab.said("a.example", 80, REQUEST, 5) == b"hello"
    lab.server.flows._owner_of = lambda _, __: SocketOwner(1000, 77)
    lab.server.events._followers.clear()
    assert await lab.said("a.example", 80, REQUEST, 5) == b"hello"
    await eventually(lambda: lab.server.events.counts["close"] == 2)
    assert lab.server.events.counts["accepted"] == 0
