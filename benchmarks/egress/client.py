"""What a program in the box does, or one beside it: connects, fetches, and says how long it took. Prints one JSON object."""

import json
import socket
import sys
import threading
import time
from typing import Any

HELLO = b"\0"
"""No text, so that it is known at once what is spoken."""
SECONDS = 60.0
THREADS = 8


def exchange(place: tuple[str, int]) -> float:
    """Connect, say a byte and hear two; returns milliseconds."""
    begin = time.perf_counter()
    with socket.create_connection(place, SECONDS) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(HELLO)
        heard = sock.recv(2)
        took = time.perf_counter() - begin
    if heard != b"ok":
        raise SystemExit(f"heard {heard!r}")
    return took * 1000


def connects(host: str, port: int, count: int) -> dict[str, float]:
    """One connection after the other."""
    found = sorted(exchange((host, port)) for _ in range(count))
    return {"p10": found[count // 10], "p50": found[count // 2], "p99": found[count * 99 // 100]}


def fetches(host: str, port: int, mebibytes: int) -> dict[str, float]:
    """Many bytes on one connection."""
    left, begin = mebibytes << 20, time.perf_counter()
    with socket.create_connection((host, port), SECONDS) as sock:
        sock.sendall(HELLO + left.to_bytes(8))
        room = bytearray(1 << 20)
        while left:
            got = sock.recv_into(room)
            if not got:
                raise SystemExit("the connection ended")
            left -= got
    return {"gbit_s": (mebibytes << 23) / (time.perf_counter() - begin) / 1e9}


def arrives(host: str, port: int, rate: int, seconds: float) -> dict[str, float]:
    """Begin connections at a fixed rate, whatever becomes of earlier ones."""
    total = int(rate * seconds)
    begin, took, lock = time.perf_counter(), [], threading.Lock()

    def work(first: int) -> None:
        for number in range(first, total, THREADS):
            due = begin + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            exchange((host, port))
            with lock:
                took.append((time.perf_counter() - due) * 1000)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took.sort()
    return {"a_second": total / (time.perf_counter() - begin), "p50": took[total // 2], "p99": took[total * 99 // 100]}


if __name__ == "__main__":
    name, host, port, *amounts = sys.argv[1:]
    run: Any = {"connects": connects, "fetches": fetches, "arrives": arrives}[name]
    sys.stdout.write(json.dumps(run(host, int(port), *(int(amount) for amount in amounts))) + "\n")
