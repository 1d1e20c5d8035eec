"""Redundant audio as in RFC 2198: while packets are lost, each message repeats the packets before it. Sans-io.

Sound over datagrams is never retransmitted, as it would arrive too late. With redundancy a lost packet arrives 20 ms later.
"""

import itertools
import struct
from collections import deque

from sandbox_server.stream import wire

HEAVY_LOSS = 13
"""From this loss on, in 255ths, each message repeats two packets: of one in twenty lost, one in eight thousand is missed then."""
MOST_REPEATED = 2
HOLD_SECONDS = 10.0
"""How long packets are repeated after a loss."""
_HEAD = struct.Struct("<BI")


class AudioRedundancy:
    """Turns the `sound` messages of one viewer into `sounds`, with as much redundancy as its losses call for."""

    def __init__(self) -> None:
        self._before: deque[tuple[int, bytes]] = deque(maxlen=MOST_REPEATED)
        self._sequence = itertools.count(1)
        self._repeats = 0
        self._until = 0.0

    def missed(self, share: int, now: float) -> None:
        """Note that the viewer missed this share of the messages of the last second, in 255ths."""
        if not share:
            return
        held = self._repeats if now < self._until else 0
        self._repeats, self._until = max(held, 1 if share < HEAVY_LOSS else MOST_REPEATED), now + HOLD_SECONDS

    def message(self, sound: bytes, now: float) -> bytes:
        """A message with this sound, and the packets before it that are to be repeated."""
        _, number = _HEAD.unpack_from(sound)
        packets = [sound[_HEAD.size :]]
        for before, packet in itertools.islice(reversed(self._before), self._repeats if now < self._until else 0):
            if before != number - len(packets):  # a silence was between them
                break
            packets.insert(0, packet)
        self._before.append((number, packets[-1]))
        return wire.sounds(next(self._sequence) & 0xFFFF, number - len(packets) + 1, packets)
