"""Measures the wall in Chromium. The service has a thread of its own, whose processor time is counted."""

import asyncio
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from playwright.async_api import CDPSession, Page, async_playwright

from tests.fleet.stub_fleet import StubFleet, stub_fleet
from tests.fleet.stub_sandbox import StubSandbox
from tests.pages.test_fleet_wall import screen, stubs

TICK = os.sysconf("SC_CLK_TCK")
SETTLE_SECONDS = 10


def browser_seconds() -> float:
    """Processor time of all processes of Chromium until now."""

    def times() -> Iterator[int]:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if b"chromium" in (folder / "cmdline").read_bytes():
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                    yield int(fields[11]) + int(fields[12])
            except OSError:
                continue

    return sum(times()) / TICK


class Traffic:
    """What the page receives."""

    def __init__(self) -> None:
        self.bytes = self.requests = 0

    async def follow(self, session: CDPSession) -> None:
        """Count from now on."""

        def received(told: dict[str, Any]) -> None:
            self.bytes += int(told.get("encodedDataLength") or told.get("dataLength") or 0)

        def asked(_: dict[str, Any]) -> None:
            self.requests += 1

        session.on("Network.dataReceived", received)
        session.on("Network.requestWillBeSent", asked)
        await session.send("Network.enable")


class Service:
    """A fleet of stubs in a thread."""

    def __init__(self, folder: Path, sandboxes: dict[str, StubSandbox]) -> None:
        self._folder, self._sandboxes = folder, sandboxes
        self._begun: Future[StubFleet] = Future()
        self._ended = asyncio.Event()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> StubFleet:
        self._thread.start()
        return self._begun.result(120)

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(60)

    def _run(self) -> None:
        self.loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        async with stub_fleet(self._folder, self._sandboxes, {}) as fleet:
            self._begun.set_result(fleet)
            await self._ended.wait()

    async def do(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do something in the service's thread."""

        async def run() -> Any:
            return await work()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), self.loop))


async def thread_seconds() -> float:
    """Processor time of the thread that this runs in. It has the stubs' part in it."""
    return time.thread_time()


async def measured(page: Page, service: Service, traffic: Traffic, seconds: int, changing: list[StubSandbox]) -> dict[str, float]:
    """What a second costs while the pictures of some change each second."""
    await asyncio.sleep(SETTLE_SECONDS)
    before = (traffic.bytes, traffic.requests, await service.do(thread_seconds), browser_seconds(), time.monotonic())
    for version in range(1, seconds + 1):
        for number, stub in enumerate(changing):
            stub.picture = PICTURES[number % len(PICTURES)][version % 2]
        await asyncio.sleep(1)
    after = (traffic.bytes, traffic.requests, await service.do(thread_seconds), browser_seconds(), time.monotonic())
    took = after[4] - before[4]
    sent, asked, service_time, browser_time = (round((after[at] - before[at]) / took, 3) for at in range(4))
    return {
        "bytes": round(sent),
        "requests": round(asked, 1),
        "service": round(service_time * 100, 1),
        "browser": round(browser_time * 100, 1),
    }


PICTURES = [(screen(number, 1), screen(number, 2)) for number in range(50)]


async def main(seconds: int, count: int) -> None:
    """All scenarios."""
    found: dict[str, Any] = {}
    sandboxes = stubs(count)
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), sandboxes)
        with service as fleet:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(
                    executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"]
                )
                page = await browser.new_page(viewport={"width": 2560, "height": 1440})
                traffic = Traffic()
                await traffic.follow(await page.context.new_cdp_session(page))
                await page.goto(await service.do(fleet.link))
                await page.locator("#tiles > li").nth(count - 1).wait_for()
                found["in_sight"] = await page.locator("#tiles img:visible").count()
                everybody = list(sandboxes.values())
                for name, changing in (("still", []), ("ten_change", everybody[:10]), ("all_change", everybody)):
                    found[name] = await measured(page, service, traffic, seconds, changing)
                found["in_sight"] = await page.locator("#tiles img:visible").count()
                await browser.close()
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    asyncio.run(main(*(int(word) for word in (sys.argv[1:] + ["20", "50"][len(sys.argv) - 1 :]))))
