"""SCTP over DTLS: aiortc's association, tuned for links that lose packets and hardened against a hostile peer.

aiortc waits at least a second before it retransmits, and takes every loss for congestion: at 10 % loss and a round trip of 30 ms, a frame
of a video at 3 Mbit/s takes seconds. This association differs in these points:

- The retransmission timeout has a floor of a tenth of a second. Where little is in flight, a packet is retransmitted as soon as no more
  acknowledgements can tell of it (early retransmit, RFC 5827).
- The window holds what the link takes. `congestion/window.py` bounds what is sent by the acks of frames, and the pacer spaces it; together
  they tell a queue from a loss. A loss while packets queue narrows the window as aiortc has it.
- Small messages are sent twice while packets are lost at random (`proactive_resend.py`).
- A retransmitted packet counts as lost again after three acks of others, as in aiortc. After that it does only when something arrived that
  was sent later (as in RFC 8985): acks of what was in flight before tell nothing of it.
- An ack waits for a packet to go with, for the second packet to arrive, or 0.2 s (RFC 9260, section 6.2), unless the peer asks for one at
  once or something is missing. A viewer's acks of frames would cost a packet each otherwise, as many as typed characters do.
- Packets are validated before aiortc's parser sees them (`sctp_validation.py`), and what it holds of incomplete messages is bounded.
"""

import asyncio
import math
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcsctptransport import (
    SCTP_DATA_LAST_FRAG,
    SCTP_RTO_ALPHA,
    SCTP_RTO_BETA,
    USERDATA_MAX_LENGTH,
    WEBRTC_BINARY,
    Chunk,
    DataChunk,
    RTCSctpTransport,
    SackChunk,
    tsn_minus_one,
)
from aiortc.utils import uint32_add, uint32_gt, uint32_gte
from OpenSSL.SSL import Error as TlsError

from sandbox_server.core.tasks import Tasks
from sandbox_server.stream.transport.proactive_resend import ProactiveResend
from sandbox_server.stream.transport.sctp_validation import STREAMS, is_valid

FIRST_RTO = 0.3
LEAST_RTO = 0.1
MOST_RTO = 2.0
EARLY_BYTES = 16 * 1024
"""Where no more than this is in flight, no packet that follows would soon show a loss, and a retransmission costs little."""
LEAST_EARLY_RTO = 0.03
EARLY_ROUND_TRIPS = 2.0
"""It is retransmitted after so many round trips then, or once it is later than round trips vary."""
MOST_BACKOFF = 8
"""Exponential backoff: each timeout doubles the next, up to this factor."""
QUEUE_SECONDS = 0.03
"""A smoothed round trip that is this much above twice the shortest one means that packets queue."""
COPIES = 2
"""So often a packet is sent, the first time included, before its time of sending tells whether it was lost: one more copy is sooner."""
ALMOST_LOST = 2
"""Misses after which one more has a packet retransmitted."""
REORDERED = 0.25
"""Part of the shortest round trip by which packets may be reordered."""
RESEND_SECONDS = 0.008
"""Delay before a message is sent a second time: packets are often lost several in a row."""
FIRST_WINDOW, LEAST_WINDOW, MOST_WINDOW = 64 * 1024, 24 * 1024, 512 * 1024
"""In bytes. Each packet in flight is looked at for each ack, so the window is bounded."""
ACK_SECONDS = 0.2
"""How long an ack waits for a packet to go with. Peers wait at least 0.4 s before they retransmit."""
MAX_HELD_CHUNKS = 1024
"""Chunks that may be held because one before them, or of the same message, is missing."""
_SACK_IMMEDIATELY = 8
"""The I bit of a DATA chunk: acknowledge it at once (RFC 7053). Browsers wait for a second chunk otherwise."""
_BROKEN = (ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError, struct.error)


class _BundledChunk(Chunk):
    """A DATA chunk with a SACK before it in the same packet."""

    def __init__(self, ack: SackChunk, chunk: DataChunk) -> None:
        super().__init__()
        self._bytes = bytes(ack) + bytes(chunk)

    def __bytes__(self) -> bytes:
        return self._bytes


class SctpAssociation(RTCSctpTransport):
    """An SCTP association over DTLS with one peer.

    `on_message` is given each message with the number of its stream. `room` bounds the bytes of messages that are not complete.
    `allows_forward_tsn`: whether the peer may skip what is missing (FORWARD-TSN, RFC 3758).
    """

    def __init__(
        self, transport: RTCDtlsTransport, on_message: Callable[[int, bytes], None], *, room: int, allows_forward_tsn: bool = False
    ) -> None:
        self._window = FIRST_WINDOW
        self._congested_window = MOST_WINDOW
        self._base_rto = FIRST_RTO
        self._backoff = 1
        self._srtt: float | None = None
        self._shortest_trip = math.inf
        super().__init__(transport)
        self._on_message = on_message
        self._allows_forward_tsn = allows_forward_tsn
        self._inbound_streams_max = self._outbound_streams_count = STREAMS
        self._advertised_rwnd = room
        self._resends = ProactiveResend()
        self._unacknowledged = 0
        self._ack_at_once = False
        self._delayed_ack: asyncio.TimerHandle | None = None
        self._tasks = Tasks()
        self.heard_at = 0.0
        """When the latest packet arrived, by the monotonic clock."""
        self.began_at = 0.0
        """When something was last sent while nothing was unacknowledged."""
        self.established = asyncio.Event()
        self.ended = asyncio.Event()
        self._progress = asyncio.Event()

    @property
    def _cwnd(self) -> int:
        return min(self._window, self._congested_window)

    @_cwnd.setter
    def _cwnd(self, window: int) -> None:
        """Follow aiortc's congestion control only while packets queue: then a loss means congestion."""
        if window > self._congested_window:
            self._congested_window = min(window, MOST_WINDOW)
        elif self.is_queueing:
            self._congested_window = max(window, LEAST_WINDOW)

    @property
    def is_queueing(self) -> bool:
        """Whether packets queue on the link: this viewer is sent too much, or other flows fill it."""
        return self._srtt is not None and self._srtt > 2 * self._shortest_trip + QUEUE_SECONDS

    @property
    def _rto_estimate(self) -> float:
        """The smoothed round trip and four times its variation."""
        return (self._srtt or 0.0) + 4 * (self._rttvar or 0.0)

    @property
    def _rto(self) -> float:
        """The retransmission timeout."""
        if self._srtt is None or self._flight_size > EARLY_BYTES:
            return min(MOST_RTO, self._base_rto * self._backoff)
        return min(MOST_RTO, self._backoff * min(self._base_rto, max(LEAST_EARLY_RTO, EARLY_ROUND_TRIPS * self._srtt, self._rto_estimate)))

    @_rto.setter
    def _rto(self, seconds: float) -> None:
        """Ignore aiortc's initial value."""

    def set_window(self, window: int, rate: float | None) -> None:
        """Let so many bytes be in flight. `rate` is what the link takes, in bytes a second, None while that is unknown."""
        self._window = max(LEAST_WINDOW, min(MOST_WINDOW, window))
        self._resends.rate = rate

    @property
    def answered(self) -> bool:
        """Whether the peer has all that was sent, or knows what it will not get."""
        return self._last_sacked_tsn == tsn_minus_one(self._local_tsn)

    async def send(self, stream: int, message: bytes, *, ordered: bool = True, once: bool = False) -> None:
        """Send a message, and return when all of it has left. Raises ConnectionError if the association ends meanwhile.

        `once`: it is not retransmitted if it is lost (RFC 3758), where the peer supports that.
        """
        if self.answered:
            self.began_at = time.monotonic()
        first, tries = self._local_tsn, 0 if once and self._remote_partial_reliability else None
        await self._send(stream, WEBRTC_BINARY, message, max_retransmits=tries, ordered=ordered)
        await self._fill()
        while self._outbound_queue and not self.ended.is_set():
            self._progress.clear()
            await self._progress.wait()
        if self.ended.is_set():
            raise ConnectionError("the channel has ended")
        if tries is None and not self.is_queueing and self._resends.take(len(message), time.monotonic()):
            self._resend_later([chunk for chunk in self._sent_queue if uint32_gte(chunk.tsn, first)])

    async def stop(self) -> None:
        """End the association."""
        self._cancel_delayed_ack()
        await self._tasks.close()
        await super().stop()

    def give_up(self) -> None:
        """Mark it as ended: it is used no more."""
        self.ended.set()
        self._progress.set()

    async def _fill(self) -> None:
        """Send as much as the window has room for: aiortc stops after four packets."""
        before = -1
        while self._outbound_queue and self._flight_size < self._cwnd and len(self._outbound_queue) != before:
            before = len(self._outbound_queue)
            await self._transmit()

    def _resend_later(self, chunks: list[DataChunk]) -> None:
        """Send packets a second time after RESEND_SECONDS, unless they are acknowledged or retransmitted by then."""
        if self.ended.is_set():
            return
        sent = [(chunk, chunk._sent_count) for chunk in chunks]

        async def resend() -> None:
            await asyncio.sleep(RESEND_SECONDS)
            for chunk, count in sent:
                if not chunk._acked and chunk._sent_count == count and uint32_gt(chunk.tsn, self._last_sacked_tsn):
                    await self._send_with_ack(chunk)

        self._tasks.start(resend(), name="resend a message")

    async def _retransmit_early(self) -> None:
        """Retransmit what is missing where no more acks can tell of it (early retransmit, RFC 5827).

        Then no packet follows it that is not known to be missing, too, or to have arrived. It is done once for each packet: a
        retransmission is in flight for a round trip, whatever is acknowledged meanwhile.
        """
        if self._outbound_queue:
            return
        missing = False
        for chunk in reversed(self._sent_queue):
            if chunk._acked or chunk._abandoned:
                continue
            if not chunk._misses or chunk._sent_count > 1:
                break
            chunk._misses, chunk._retransmit, missing = 0, not self._maybe_abandon(chunk), True
            self._flight_size_decrease(chunk)
        if missing:
            self._update_advanced_peer_ack_point()
            await self._transmit()

    async def _handle_data(self, data: bytes) -> None:
        """Take a packet if it is valid; end the association if it is not."""
        self.heard_at = time.monotonic()
        if self.ended.is_set():
            return
        try:
            valid = is_valid(data, allows_forward_tsn=self._allows_forward_tsn)
            if valid:
                await super()._handle_data(data)
                await self._retransmit_early()
                await self._fill()
            valid = valid and not self._holds_too_much
        except _BROKEN:
            valid = False
        self._progress.set()
        if not valid:
            await self.stop()

    @property
    def _holds_too_much(self) -> bool:
        chunks = sum(len(stream.reassembly) for stream in self._inbound_streams.values())
        return self._advertised_rwnd < 0 or chunks > MAX_HELD_CHUNKS or len(self._sack_misordered) > MAX_HELD_CHUNKS

    async def _receive_sack_chunk(self, chunk: SackChunk) -> None:
        """Take an ack. A retransmitted packet counts as missed only if the ack is of packets that were sent later."""
        latest = self._latest_of(chunk) - (self._shortest_trip * REORDERED if self._shortest_trip < math.inf else 0.0)
        for one in self._sent_queue:
            if one._sent_count > COPIES:
                one._misses = ALMOST_LOST if (one._sent_time or 0.0) < latest else -1
        await super()._receive_sack_chunk(chunk)

    def _latest_of(self, sack: SackChunk) -> float:
        """When the latest packet was sent that this ack is the first to acknowledge. An ack within a round trip is of an earlier copy."""
        there = {uint32_add(sack.cumulative_tsn, at) for first, last in sack.gaps for at in range(first, last + 1)}
        soonest = time.time() - self._shortest_trip
        new = [one for one in self._sent_queue if not one._acked and (one.tsn in there or uint32_gte(sack.cumulative_tsn, one.tsn))]
        times = [(one._sent_count, one._sent_time or 0.0) for one in new]
        return max((sent for count, sent in times if count == 1 or sent <= soonest), default=0.0)

    async def _receive_data_chunk(self, chunk: DataChunk) -> None:
        self._unacknowledged += 1
        self._ack_at_once = self._ack_at_once or bool(chunk.flags & _SACK_IMMEDIATELY)
        await super()._receive_data_chunk(chunk)

    async def _send_sack(self) -> None:
        """Acknowledge what has arrived, now or within ACK_SECONDS."""
        if self._unacknowledged != 1 or self._ack_at_once or self._sack_misordered or self._sack_duplicates:
            self._cancel_delayed_ack()
            await super()._send_sack()
        elif self._delayed_ack is None:
            send_sack = super()._send_sack
            self._delayed_ack = asyncio.get_running_loop().call_later(
                ACK_SECONDS, lambda: self._tasks.start(send_sack(), name="acknowledge")
            )

    def _cancel_delayed_ack(self) -> None:
        """Note that what has arrived is acknowledged now."""
        self._unacknowledged, self._ack_at_once = 0, False
        if self._delayed_ack:
            self._delayed_ack.cancel()
        self._delayed_ack = None

    def _with_ack(self, chunk: DataChunk) -> Chunk:
        """A DATA chunk, with the delayed ack if there is one and room for it."""
        ack = SackChunk()
        if self._delayed_ack is None or len(chunk.user_data) + len(bytes(ack)) > USERDATA_MAX_LENGTH:
            return chunk
        self._cancel_delayed_ack()
        self._sack_needed = False
        ack.cumulative_tsn, ack.advertised_rwnd = self._last_received_tsn, max(0, self._advertised_rwnd)
        return _BundledChunk(ack, chunk)

    async def _receive(self, stream_id: int, pp_id: int, data: bytes) -> None:
        if pp_id == WEBRTC_BINARY:
            self._on_message(stream_id, data)

    async def _send_chunk(self, chunk: Chunk) -> None:
        if isinstance(chunk, DataChunk) and chunk.flags & SCTP_DATA_LAST_FRAG:
            chunk.flags |= _SACK_IMMEDIATELY
        if isinstance(chunk, DataChunk):
            chunk._sent_time = time.time()
            self._resends.sent()
            if chunk._sent_count > 1 and not self.is_queueing:
                self._resends.lost(time.monotonic())
        await self._send_with_ack(chunk)

    async def _send_with_ack(self, chunk: Chunk) -> None:
        with suppress(ConnectionError, TlsError):  # of which the other layers have learned
            await super()._send_chunk(self._with_ack(chunk) if isinstance(chunk, DataChunk) else chunk)

    def _t3_expired(self) -> None:
        self._backoff = min(2 * self._backoff, MOST_BACKOFF)
        super()._t3_expired()
        for chunk in self._sent_queue:  # what the peer has is not retransmitted
            chunk._retransmit = chunk._retransmit and not chunk._acked

    def _set_state(self, state: RTCSctpTransport.State) -> None:
        super()._set_state(state)
        if state == self.State.ESTABLISHED:
            self.established.set()
        elif state == self.State.CLOSED:
            self.give_up()

    def _update_rto(self, R: float) -> None:  # noqa: N803 - the name that it has
        """Update the round trip as in RFC 9260, section 6.3.1, with another lower bound."""
        self._backoff, self._shortest_trip = 1, min(self._shortest_trip, R)
        if self._srtt is None or self._rttvar is None:
            self._srtt, self._rttvar = R, R / 2
        else:
            self._rttvar += (abs(self._srtt - R) - self._rttvar) * SCTP_RTO_BETA
            self._srtt += (R - self._srtt) * SCTP_RTO_ALPHA
        self._base_rto = max(LEAST_RTO, min(self._rto_estimate, MOST_RTO))
