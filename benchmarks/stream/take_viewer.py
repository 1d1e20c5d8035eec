"""The viewer's side of `take`, in a container of the tests' image: `take_viewer.py watch DRIVES|take ROUNDS|join ROUNDS`."""

import asyncio
import json
import os
import statistics
import sys
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sandbox_server.stream import wire
from sandbox_server.stream.client import StreamClient, connect

BASE = "http://127.0.0.1:8080"
FULL_SECONDS = 1.25 / 30
"""Frames of a video with 30 pictures a second that are no further apart than this come at its full rate."""
RATE, DELAY, QUEUE = 5_000_000 / 8, 0.010, 64 * 1024
"""The link of a late viewer: bytes a second, seconds each way, and bytes that wait."""
PIECE = 1448
PORT = 8099


def asked(verb: str, path: str, headers: dict[str, str], body: object = None) -> Any:
    """Call the API."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, headers | {"Content-Type": "application/json"}, method=verb)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: it is what sets the cookie."""

    def redirect_request(self, *_: object) -> None:
        return None


def signed_in() -> dict[str, str]:
    """The headers of a person's browser."""
    ticket = asked("POST", "/tickets", {"Authorization": f"Bearer {os.environ['KEY']}"}, {})["ticket"]
    request = urllib.request.Request(f"{BASE}/stream/?ticket={ticket}", headers={"Accept": "text/html"})
    try:
        urllib.request.build_opener(_Stay).open(request, timeout=30)
    except urllib.error.HTTPError as answer:
        return {"Cookie": answer.headers["set-cookie"].partition(";")[0], "Origin": BASE}
    raise RuntimeError("the ticket was not taken")


@asynccontextmanager
async def viewing(headers: dict[str, str], arrived: Any = None) -> AsyncIterator[StreamClient]:
    """A viewer that has seen something."""
    async with connect("ws://127.0.0.1:8080/stream/socket", headers, arrived=arrived) as desktop:
        await desktop.until(lambda picture: picture.frame)
        yield desktop


async def drive(desktop: StreamClient) -> None:
    """Take control as a person does: by a click."""
    await desktop.send(wire.PointerInput(1200, 900, 0))
    await desktop.send(wire.PointerInput(1200, 900, 1))
    await desktop.send(wire.PointerInput(1200, 900, 0))


async def watch(*, drives: bool) -> None:
    """Watch, or drive, until nothing more is said."""
    headers = signed_in()
    async with viewing(headers) as desktop:
        if drives:
            await drive(desktop)
            await desktop.until(lambda picture: picture.rights & wire.DRIVES)
        await asyncio.sleep(3)  # the video is one by then
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        if drives:
            await asyncio.to_thread(asked, "POST", "/v1/control/release", headers, {})


async def take(rounds: int) -> dict[str, Any]:
    """Milliseconds from a click that takes control until frames are no further apart than those of the video."""
    headers, times, first, full = signed_in(), [], [], []
    async with viewing(headers, lambda _: times.append(time.monotonic())) as desktop:
        await asyncio.sleep(3)
        watched = times[-20:]
        for _ in range(rounds):
            start = time.monotonic()
            times.clear()
            await drive(desktop)
            await asyncio.sleep(1)
            gaps = [(after, after - before) for before, after in zip([start, *times], times, strict=False)]
            first.append((times[0] - start) * 1000)
            full.append((next(at for at, gap in gaps[1:] if gap <= FULL_SECONDS) - start) * 1000)
            await asyncio.to_thread(asked, "POST", "/v1/control/release", headers, {})
            await desktop.until(lambda picture: not picture.rights & wire.DRIVES)
            await asyncio.sleep(0.5)
    return {
        "frames a second while a person watches": round((len(watched) - 1) / (watched[-1] - watched[0]), 1),
        "take to first frame, median ms": round(statistics.median(first)),
        "take to first full-rate frame, median ms": round(statistics.median(full)),
        "take to first full-rate frame, worst ms": round(max(full)),
    }


class Link:
    """A link in front of the gateway, so long and so wide as said above."""

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rate: float) -> None:
        free = time.monotonic()
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(QUEUE // PIECE)

        async def leave() -> None:
            while True:
                due, piece = await queue.get()
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                writer.write(piece)

        leaving = asyncio.create_task(leave())
        try:
            while piece := await reader.read(PIECE):
                free = max(free, time.monotonic()) + len(piece) / rate
                await queue.put((free + DELAY, piece))
        finally:
            leaving.cancel()
            writer.close()

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection both ways."""
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", 8080, limit=PIECE)
        await asyncio.gather(self._carry(reader, inner_writer, 1e9), self._carry(inner_reader, writer, RATE))


async def join(rounds: int) -> dict[str, Any]:
    """How late viewers of a busy page come to the whole picture, over a link of 5 Mbit/s."""
    headers, seconds, sizes, exact = signed_in() | {"Origin": f"http://127.0.0.1:{PORT}"}, [], [], []
    server = await asyncio.start_server(Link().meet, "127.0.0.1", PORT, limit=PIECE)
    async with server:
        for _ in range(rounds):
            start = time.monotonic()
            async with connect(f"ws://127.0.0.1:{PORT}/stream/socket", headers) as desktop:
                await desktop.until(lambda picture: picture.done)
                seconds.append(time.monotonic() - start)
                sizes.append(desktop.received)
                frames = desktop.frames
                await desktop.still()
                exact.append(desktop.received)
        server.close()
    return {
        "join at 5 Mbit/s: whole after frames": frames,
        "join at 5 Mbit/s: whole after, median s": round(statistics.median(seconds), 2),
        "join at 5 Mbit/s: kB of the whole picture": round(statistics.median(sizes) / 1000),
        "join at 5 Mbit/s: kB until it is exact": round(statistics.median(exact) / 1000),
    }


def main() -> None:
    """Do what is asked, and say what was found."""
    what, number = sys.argv[1], int(sys.argv[2])
    if what == "watch":
        asyncio.run(watch(drives=bool(number)))
    else:
        sys.stdout.write(json.dumps(asyncio.run(take(number) if what == "take" else join(number))) + "\n")


main()
