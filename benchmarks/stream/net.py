"""One half of a link between two containers: a TUN device, and a UDP socket to the other half. Delay, rate, queue and loss in user space.

`net.py OWN_ADDRESS PEER_HOST DELAY_MS RATE_MBIT LOSS`: what this side sends is delayed, queued at the rate (0: none) and lost by chance.
Counts go to /tmp/net.json. netem is not in every kernel; this needs only /dev/net/tun and NET_ADMIN.
"""

import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

PORT = 7800
QUEUE_BYTES = 64 * 1024
BUFFER_BYTES = 4 << 20
"""What waits between the two halves is not lost there."""
COUNT_SECONDS = 0.2


class Way:
    """What this side sends."""

    def __init__(self, delay: float, rate: float, loss: float) -> None:
        self._delay, self._rate, self._loss = delay, rate, loss
        self._free = 0.0
        self._number = 0
        self._chance = random.Random(1)
        self.due: list[tuple[float, int, bytes]] = []
        self.sent = 0

    def take(self, packet: bytes, now: float) -> None:
        """Take a packet: it is lost, or due later, after those before it."""
        self.sent += len(packet)
        if self._chance.random() < self._loss:
            return
        at = now
        if self._rate:
            begin = max(self._free, now)
            if (begin - now) * self._rate > QUEUE_BYTES:
                return
            at = self._free = begin + len(packet) / self._rate
        self._number += 1
        heapq.heappush(self.due, (at + self._delay, self._number, packet))


def tun(address: str) -> int:
    """A TUN device with an address of its own."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, 0x400454CA, struct.pack("16sH", b"link0", 0x0001 | 0x1000))
    for words in (["addr", "add", f"{address}/24", "dev", "link0"], ["link", "set", "link0", "up", "mtu", "1500", "txqueuelen", "1000"]):
        subprocess.run(["ip", *words], check=True)
    return device


def main() -> None:
    """Carry packets until killed."""
    address, peer, delay, rate, loss = sys.argv[1:]
    way = Way(float(delay) / 1000, float(rate) * 1e6 / 8, float(loss))
    device = tun(address)
    wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for size in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        wire.setsockopt(socket.SOL_SOCKET, size, BUFFER_BYTES)
    wire.bind(("", PORT))
    wire.setblocking(False)
    other, counted, received = (socket.gethostbyname(peer), PORT), 0.0, 0
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        now = time.monotonic()
        wait = min(way.due[0][0] - now if way.due else COUNT_SECONDS, COUNT_SECONDS)
        ready, _, _ = select.select([device, wire.fileno()], [], [], max(0.0, wait))
        now = time.monotonic()
        if device in ready:
            for packet in pending(lambda: os.read(device, 2048)):
                way.take(packet, now)
        if wire.fileno() in ready:
            for packet in pending(lambda: wire.recv(2048)):
                received += len(packet)
                os.write(device, packet)
        while way.due and way.due[0][0] <= time.monotonic():
            wire.sendto(heapq.heappop(way.due)[2], other)
        if now - counted > COUNT_SECONDS:
            counted = now
            with open("/tmp/net.json.new", "w", encoding="ascii") as file:
                json.dump({"sent": way.sent, "received": received}, file)
            os.rename("/tmp/net.json.new", "/tmp/net.json")


def pending(read: Callable[[], bytes]) -> Iterator[bytes]:
    """What can be read now, up to a bounded number of packets."""
    for _ in range(64):
        try:
            yield read()
        except BlockingIOError:
            return


main()
