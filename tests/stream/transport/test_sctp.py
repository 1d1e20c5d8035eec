"""SCTP from a hostile peer: no packet hangs, fills the memory, or does anything but end the association."""

import asyncio
import random
import struct
from collections.abc import Callable, Iterable

import pytest
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcsctptransport import DataChunk, RTCSctpTransport, serialize_packet
from google_crc32c import value as crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from OpenSSL.SSL import Error as TlsError

from sandbox_server.stream.transport.sctp import MAX_HELD_CHUNKS, SctpAssociation
from sandbox_server.stream.transport.sctp_validation import is_valid
from tests.patience import eventually

pytestmark = pytest.mark.anyio

ROOM = 4096
FIRST = 1000

type Heard = list[tuple[int, bytes]]


class Wire(RTCDtlsTransport):
    """DTLS that is there, and goes nowhere."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.ended: Exception | None = None
        self._role = "server"

    @property
    def state(self) -> str:
        return "connected"

    def _register_data_receiver(self, receiver: object) -> None:
        return

    def _unregister_data_receiver(self, receiver: object) -> None:
        return

    async def _send_data(self, data: bytes) -> None:
        if self.ended:
            raise self.ended
        self.sent.append(data)


def wire_of(association: SctpAssociation) -> Wire:
    """What an association of these tests goes over."""
    wire = association.transport
    assert isinstance(wire, Wire)
    return wire


def packet(association: SctpAssociation, *chunks: bytes) -> bytes:
    head = struct.pack("!HHL", 5000, 5000, association._local_verification_tag)
    body = b"".join(chunks)
    return head + struct.pack("<L", crc32c(head + bytes(4) + body)) + body


def chunk(kind: int, body: bytes) -> bytes:
    return struct.pack("!BBH", kind, 0, 4 + len(body)) + body + bytes(-len(body) % 4)


def data(number: int, body: bytes, *, flags: int = 3, stream: int = 0) -> bytes:
    made = DataChunk(flags)
    made.tsn, made.stream_id, made.protocol, made.user_data = number, stream, 53, body
    return bytes(made)


@pytest.fixture
def heard() -> Heard:
    return []


async def established(heard: Heard, *, allows_forward_tsn: bool = False) -> SctpAssociation:
    """An association as after its handshake."""
    association = SctpAssociation(
        Wire(), lambda stream, message: heard.append((stream, message)), room=ROOM, allows_forward_tsn=allows_forward_tsn
    )
    association._remote_port = 5000
    association._last_received_tsn = FIRST - 1
    association._ssthresh = 1 << 20
    association._set_state(RTCSctpTransport.State.ESTABLISHED)
    return association


async def test_a_message_is_heard(heard: Heard) -> None:
    association = await established(heard)
    await association._handle_data(packet(association, data(FIRST, b"hello", stream=1)))
    assert heard == [(1, b"hello")]
    assert not association.ended.is_set()


@pytest.mark.parametrize(
    "harm",
    [
        chunk(4, b"\x00\x01\x00\x00"),  # a parameter of no length
        chunk(1, bytes(16) + b"\x00\x01\x00\x00"),
        chunk(3, struct.pack("!LLHH", FIRST, 0, 40, 0) + struct.pack("!HH", 0, 65535) * 40),  # ranges
        data(FIRST, b"x", stream=2),
        chunk(192, bytes(8)),  # FORWARD-TSN, which no viewer has a reason for
        chunk(130, bytes(8)),  # RE-CONFIG
        chunk(0, b""),
        struct.pack("!BBH", 0, 0, 0) + bytes(12),
        struct.pack("!BBH", 0, 0, 999) + bytes(12),
    ],
    ids=range(9),
)
async def test_harm_ends_the_association(heard: Heard, harm: bytes) -> None:
    association = await established(heard)
    assert not is_valid(packet(association, harm))
    await association._handle_data(packet(association, harm))
    assert association.ended.is_set()
    with pytest.raises(ConnectionError):
        await association.send(0, b"more")


def unfinished() -> Iterable[bytes]:
    return (data(FIRST + 2 + number, b"x" * 1000, flags=2) for number in range(ROOM // 1000 + 1))


def scattered() -> Iterable[bytes]:
    return (data(FIRST + 2 + 2 * number, b"", flags=2) for number in range(MAX_HELD_CHUNKS + 2))


@pytest.mark.parametrize("kept", [unfinished, scattered], ids=["bytes", "pieces"])
async def test_what_never_becomes_whole_is_not_kept_without_bound(heard: Heard, kept: Callable[[], Iterable[bytes]]) -> None:
    association = await established(heard)
    for one in kept():
        await association._handle_data(packet(association, one))
    assert association.ended.is_set()
    assert heard == []


@settings(deadline=None, database=None, max_examples=200)
@given(st.binary(max_size=60), st.integers(0, 2**32), st.booleans())
def test_no_packet_raises_anything(rubbish: bytes, seed: int, allows_forward_tsn: bool) -> None:
    async def receive() -> None:
        association = await established([], allows_forward_tsn=allows_forward_tsn)
        chance = random.Random(seed)
        kinds = [chunk(chance.choice([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 130, 192, 99]), rubbish) for _ in range(2)]
        for chunks in ([rubbish], kinds, kinds[:1], [data(FIRST, b"x"), rubbish]):
            await association._handle_data(packet(association, *chunks))
        await association._handle_data(rubbish)
        await association.stop()

    asyncio.run(receive())


async def test_losses_do_not_narrow_the_window_and_what_is_known_of_the_link_does(heard: Heard) -> None:
    association = await established(heard)
    association.set_window(100_000, None)
    association._t3_expired()
    assert association._cwnd == 100_000
    association.set_window(0, None)
    assert 0 < association._cwnd < 100_000
    await association.stop()


async def test_what_is_lost_in_a_queue_narrows_the_window_until_it_is_over(heard: Heard) -> None:
    association = await established(heard)
    association.set_window(100_000, None)
    for trip in (0.02, *[0.12] * 20):
        association._update_rto(trip)
    assert association.is_queueing
    association._t3_expired()
    narrow = association._cwnd
    assert 0 < narrow < 100_000
    association._cwnd += 1200
    assert association._cwnd == narrow + 1200
    for _ in range(40):
        association._update_rto(0.02)
    association._t3_expired()
    assert not association.is_queueing
    assert association._cwnd == narrow + 1200
    await association.stop()


async def test_while_nothing_is_heard_it_is_waited_longer_and_longer(heard: Heard) -> None:
    association = await established(heard)
    association._update_rto(0.02)
    before = association._rto
    association._t3_expired()
    association._t3_expired()
    assert association._rto == pytest.approx(4 * before)
    association._update_rto(0.02)
    assert association._rto <= before
    await association.stop()


async def test_the_end_of_a_message_is_acknowledged_at_once_and_missed_soon(heard: Heard) -> None:
    association = await established(heard)
    before = association._rto
    association._update_rto(0.02)
    assert association._rto < 0.1 < before
    await association.send(0, bytes(3000))
    wire = wire_of(association)
    assert [sent[13] & 8 for sent in wire.sent] == [0, 0, 8]
    await association.send(1, bytes(40_000))
    assert association._rto >= 0.1
    await association.stop()


async def test_a_way_whose_times_vary_is_waited_for_longer(heard: Heard) -> None:
    even, uneven = await established(heard), await established(heard)
    for seconds in (0.01, 0.05) * 8:
        even._update_rto(0.03)
        uneven._update_rto(seconds)
    assert even._rto < uneven._rto <= 0.12
    await even.stop()
    await uneven.stop()


async def test_what_is_sent_once_is_not_sent_anew_and_the_peer_is_told(heard: Heard) -> None:
    association = await established(heard)
    association._remote_partial_reliability = True
    wire = wire_of(association)
    await association.send(1, b"sound", ordered=False, once=True)
    wire.sent.clear()
    association._t3_expired()
    await association._transmit()
    assert {sent[12] for sent in wire.sent} == {192}
    assert not association.answered
    await association._handle_data(packet(association, chunk(3, struct.pack("!LLHH", association._local_tsn - 1, 1 << 16, 0, 0))))
    assert association.answered
    await association.stop()


async def test_a_peer_that_cannot_skip_is_sent_everything_until_it_comes(heard: Heard) -> None:
    association = await established(heard)
    wire = wire_of(association)
    await association.send(1, b"sound", ordered=False, once=True)
    wire.sent.clear()
    association._t3_expired()
    await association._transmit()
    assert [sent[12] for sent in wire.sent] == [0]
    await association.stop()


async def test_what_is_sent_comes_in_packets_that_a_peer_reads(heard: Heard) -> None:
    one = await established(heard)
    await one.send(0, bytes(10_000))
    wire = wire_of(one)
    assert len(wire.sent) > 8
    assert all(is_valid(sent) for sent in wire.sent)
    assert one._flight_size == 10_000
    assert not one.answered
    assert serialize_packet(1, 2, 3, DataChunk())
    await one.stop()


def sack(upto: int, *ranges: tuple[int, int]) -> bytes:
    """What says that everything up to a packet has come, and such ranges behind it."""
    return chunk(3, struct.pack("!LLHH", upto, 1 << 20, len(ranges), 0) + b"".join(struct.pack("!HH", *one) for one in ranges))


def numbers(association: SctpAssociation) -> list[int]:
    """The packets that were sent, by their number among those of a message."""
    wire = wire_of(association)
    sent = [struct.unpack_from("!L", one, 16)[0] for one in wire.sent if one[12] == 0]
    return [number - sent[0] for number in sent]


async def test_what_is_missing_is_sent_anew_as_soon_as_nothing_more_can_tell_of_it(heard: Heard) -> None:
    association = await established(heard)
    first = association._local_tsn
    await association.send(0, bytes(4000))
    await association._handle_data(packet(association, sack(first - 1, (2, 2))))
    assert numbers(association) == [0, 1, 2, 3]
    await association._handle_data(packet(association, sack(first - 1, (2, 2), (4, 4))))
    assert numbers(association) == [0, 1, 2, 3, 0, 2]
    await association._handle_data(packet(association, sack(first - 1, (2, 2), (4, 4))))
    assert numbers(association) == [0, 1, 2, 3, 0, 2]
    await association.stop()


async def test_what_was_sent_anew_is_lost_again_only_if_something_came_that_was_sent_later(heard: Heard) -> None:
    association = await established(heard)
    first = association._local_tsn
    await association.send(0, bytes(12_000))
    association._update_rto(0.02)
    for last in range(2, 10):  # which were on their way before
        await association._handle_data(packet(association, sack(first - 1, (2, last))))
    assert numbers(association).count(0) == 3
    await association.send(0, bytes(2000))
    anew, later = association._sent_queue[0], association._sent_queue[-1]
    later._sent_time = (anew._sent_time or 0.0) + 1
    await association._handle_data(packet(association, sack(first - 1, (2, len(association._sent_queue) - 1))))
    assert numbers(association).count(0) == 3
    await association._handle_data(packet(association, sack(first - 1, (2, len(association._sent_queue)))))
    assert numbers(association).count(0) == 4
    await association.stop()


async def test_what_the_peer_has_is_not_sent_anew_when_nothing_was_heard(heard: Heard) -> None:
    association = await established(heard)
    first = association._local_tsn
    await association.send(0, bytes(4000))
    await association._handle_data(packet(association, sack(first - 1, (2, 2))))
    before = len(numbers(association))
    association._t3_expired()
    await association._transmit()
    assert set(numbers(association)[before:]) == {0, 2, 3}
    await association.stop()


async def test_a_small_message_is_repeated_while_packets_are_lost(heard: Heard) -> None:
    association = await established(heard)
    await association.send(0, bytes(2000))
    association._t3_expired()
    await association._transmit()
    await association.send(0, bytes(100))
    association._t3_expired()
    await association._transmit()
    await association._handle_data(packet(association, sack(association._local_tsn - 1)))
    before = len(numbers(association))
    first = association._local_tsn
    await association.send(0, bytes(3000))
    await association._handle_data(packet(association, sack(first)))
    await eventually(lambda: len(numbers(association)) >= before + 5)
    await association.send(0, bytes(20_000))
    assert numbers(association)[before : before + 5] == [3, 4, 5, 4, 5]
    await association.stop()


async def test_what_is_sent_when_dtls_has_ended_is_lost_in_silence(heard: Heard) -> None:
    association = await established(heard)
    wire = wire_of(association)
    wire.ended = TlsError("protocol is shutdown")
    association._t3_expired()
    await association.send(0, b"late")
    assert wire.sent == []
    await association.stop()


async def test_an_ack_goes_with_what_is_sent_next(heard: Heard) -> None:
    association = await established(heard)
    wire = wire_of(association)
    await association._handle_data(packet(association, data(FIRST, b"ack")))
    assert wire.sent == []
    await association.send(0, b"a character")
    assert [(one[12], one[28]) for one in wire.sent] == [(3, 0)]
    assert struct.unpack_from("!L", wire.sent[0], 16)[0] == FIRST
    assert is_valid(wire.sent[0])
    await association.send(0, b"another")
    assert wire.sent[1][12] == 0
    await association.stop()


async def test_an_ack_that_nothing_is_sent_with_goes_alone_in_a_while(heard: Heard) -> None:
    association = await established(heard)
    wire = wire_of(association)
    await association._handle_data(packet(association, data(FIRST, b"ack")))
    await eventually(lambda: wire.sent)
    assert [one[12] for one in wire.sent] == [3]
    assert struct.unpack_from("!L", wire.sent[0], 16)[0] == FIRST
    await association.stop()


@pytest.mark.parametrize(
    "came",
    [
        [data(FIRST, b"one"), data(FIRST + 1, b"two")],
        [data(FIRST, b"in haste", flags=3 | 8)],
        [data(FIRST + 1, b"early")],
        [data(FIRST, b"once"), data(FIRST, b"once")],
    ],
    ids=["the second", "asked for", "one is missing", "twice"],
)
async def test_what_cannot_wait_is_acknowledged_at_once(heard: Heard, came: list[bytes]) -> None:
    association = await established(heard)
    wire = wire_of(association)
    for one in came:
        await association._handle_data(packet(association, one))
    assert [one[12] for one in wire.sent] == [3]
    await association.send(0, b"nothing waits")
    assert wire.sent[1][12] == 0
    await association.stop()
