import os
import socket
from collections.abc import Iterator

import pytest

from sandbox_server.drivers.egress import namespace_handover
from sandbox_server.drivers.egress.network_namespace import MAX_FDS, EgressNamespace
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import MalformedMessageError

Pair = tuple[socket.socket, socket.socket]
COUNTS = {"connections": 1, "packets": 0, "queries": 0, "forwarded": 1, "proxies": 0, "log": 0, "owners": 0}


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, theirs


def opened() -> int:
    return os.open("/dev/null", os.O_RDONLY)


def test_a_namespace_arrives_whole_with_its_ports(pair: Pair) -> None:
    sent = EgressNamespace(opened(), connections=(opened(), opened()), packets=(opened(),), queries=(), forwarded=(opened(),))
    namespace_handover.send(pair[0], sent, [8080])
    message, received = namespace_handover.receive(pair[1])
    assert message is not None
    assert message["ports"] == [8080]
    assert received is not None
    assert received.counts == sent.counts == COUNTS | {"connections": 2, "packets": 1}
    assert set(received.descriptors).isdisjoint(sent.descriptors)
    received.close()
    sent.close()


def test_nothing_is_held_until_something_is_given(pair: Pair) -> None:
    namespace_handover.send(pair[0], None)
    assert namespace_handover.receive(pair[1]) == ({}, None)


def test_the_end_of_the_connection_is_told(pair: Pair) -> None:
    pair[0].close()
    assert namespace_handover.receive(pair[1]) == (None, None)


@pytest.mark.parametrize(
    "counts",
    [
        {},
        COUNTS,
        COUNTS | {"connections": 2, "forwarded": -1},
        COUNTS | {"more": 1},
        COUNTS | {"connections": "many"},
        [1],
        None,
    ],
)
def test_counts_that_do_not_fit_are_refused_and_their_descriptors_closed(pair: Pair, counts: object) -> None:
    before = len(os.listdir("/proc/self/fd"))
    descriptor_passing.send(pair[0], {"counts": counts}, [0, 0])
    with pytest.raises(MalformedMessageError):
        namespace_handover.receive(pair[1])
    assert len(os.listdir("/proc/self/fd")) == before


def test_descriptors_without_counts_are_closed(pair: Pair) -> None:
    before = len(os.listdir("/proc/self/fd"))
    descriptor_passing.send(pair[0], {}, [0, 0])
    assert namespace_handover.receive(pair[1]) == ({}, None)
    assert len(os.listdir("/proc/self/fd")) == before


def test_more_descriptors_than_the_limit_are_refused(pair: Pair) -> None:
    descriptor_passing.send(pair[0], {"counts": COUNTS}, [0] * (MAX_FDS + 8))
    with pytest.raises(MalformedMessageError):
        namespace_handover.receive(pair[1])
