import os
import socket
from collections.abc import Iterator

import pytest

from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import MAX_BODY, MAX_FDS, MAX_PACKET, MalformedMessageError
from tests.patience import PATIENCE_SECONDS

type Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.settimeout(PATIENCE_SECONDS)
        yield ours, theirs


def test_a_request_of_any_allowed_size_arrives_whole(pair: Pair) -> None:
    body = {"text": "x" * (MAX_BODY - 100)}
    descriptor_passing.send_request(pair[1], body)
    _, (memfd,) = descriptor_passing.receive(pair[0])
    assert descriptor_passing.read_body(memfd) == body
    os.close(memfd)


def test_a_request_over_the_limit_is_refused_before_it_is_sent(pair: Pair) -> None:
    with pytest.raises(MalformedMessageError):
        descriptor_passing.send_request(pair[1], {"text": "x" * MAX_BODY})


def test_received_descriptors_do_not_leak_into_programs(pair: Pair) -> None:
    descriptor_passing.send(pair[1], {"a": 1}, [0, 1])
    message, fds = descriptor_passing.receive(pair[0])
    assert message == {"a": 1}
    assert [os.get_inheritable(fd) for fd in fds] == [False, False]
    descriptor_passing.close_all(fds)


def test_the_end_of_the_connection_is_no_message(pair: Pair) -> None:
    pair[1].close()
    assert descriptor_passing.receive(pair[0]) == (None, [])


@pytest.mark.parametrize("packet", [b"nonsense", b"[1]", b'"text"', b"x" * (MAX_PACKET + 1)])
def test_a_packet_that_is_no_message_is_refused_and_its_descriptors_closed(pair: Pair, packet: bytes) -> None:
    before = os.listdir("/proc/self/fd")
    socket.send_fds(pair[1], [packet], [0])
    with pytest.raises(MalformedMessageError):
        descriptor_passing.receive(pair[0])
    assert os.listdir("/proc/self/fd") == before


def test_descriptors_beyond_the_limit_are_refused(pair: Pair) -> None:
    socket.send_fds(pair[1], [b"{}"], [0] * (MAX_FDS + 4))
    with pytest.raises(MalformedMessageError):
        descriptor_passing.receive(pair[0])


def test_a_body_is_only_read_from_a_memory_file() -> None:
    readable, writable = os.pipe()
    with pytest.raises(MalformedMessageError):
        descriptor_passing.read_body(readable)
    descriptor_passing.close_all([readable, writable, writable])
