"""Sound over datagrams is sent once: sent anew, it would come too late. A viewer that misses some is sent each packet again with those
that follow it (as RFC 2198 does), so what is lost comes 20 ms later. Sans-io.
"""

import itertools
import struct
from collections import deque

from sandbox_server.stream import wire

MUCH = 13
"""From this share on, in 255ths, two are sent again with each: of a twentieth that is lost, one in eight thousand is missed then."""
KEPT = 2
HOLD_SECONDS = 10.0
"""After a loss packets are sent again for so long."""
_HEAD = struct.Struct("<BI")


class AudioRedundancy:
    """Makes a viewer's messages of sound what goes over its channel."""

    def __init__(self) -> None:
        self._before: deque[tuple[int, bytes]] = deque(maxlen=KEPT)
        self._sequence = itertools.count(1)
        self._repeats = 0
        self._until = 0.0

    def missed(self, share: int, now: float) -> None:
        """Take that a viewer missed this share of the messages, in 255ths, in the last second."""
        if not share:
            return
        held = self._repeats if now < self._until else 0
        self._repeats, self._until = max(held, 1 if share < MUCH else KEPT), now + HOLD_SECONDS

    def message(self, sound: bytes, now: float) -> bytes:
        """Give a message of sound with the packets before it that are to be sent again."""
        _, number = _HEAD.unpack_from(sound)
        packets = [sound[_HEAD.size :]]
        for before, packet in itertools.islice(reversed(self._before), self._repeats if now < self._until else 0):
            if before != number - len(packets):  # a silence was between them
                break
            packets.insert(0, packet)
        self._before.append((number, packets[-1]))
        return wire.sounds(next(self._sequence) & 0xFFFF, number - len(packets) + 1, packets)
