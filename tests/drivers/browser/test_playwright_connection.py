import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.errors import Conflict, Unavailable
from sandbox_server.drivers.browser import playwright_connection
from sandbox_server.drivers.browser.browser_client import BrowserClient
from sandbox_server.drivers.browser.playwright_connection import attached
from tests.patience import eventually, until

pytestmark = pytest.mark.anyio

Process = Any


async def test_every_page_is_known_by_its_target(shared: Process) -> None:
    seen: list[str] = []

    async def on_page(page: Any, target: str) -> None:
        seen.append(target)

    async with attached(shared.socket, [], [on_page], 30) as link:
        assert await link.alive()
        assert list(link.pages) == seen
        assert link.targets == set(seen)
        assert (await link.page(seen[0])).url


async def test_a_hook_that_fails_keeps_no_page_from_being_driven(shared: Process) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a hook")

    async with attached(shared.socket, [broken], [broken], 30) as link:
        [target] = link.pages
        assert await (await link.page(target)).evaluate("1") == 1


async def test_a_page_that_is_never_seen_is_a_conflict(shared: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playwright_connection, "APPEAR_SECONDS", 0.1)
    async with attached(shared.socket, [], [], 30) as link:
        with pytest.raises(Conflict, match="crashed, or hangs"):
            await link.page("nothing")


async def test_nothing_is_attached_where_there_is_no_browser() -> None:
    with pytest.raises(Unavailable, match="the browser cannot be reached"):
        async with attached("/nowhere/cdp.sock", [], [], 30):
            pass


async def test_the_end_of_the_browser_is_told_without_asking(make_browser_server: Any) -> None:
    process = make_browser_server()
    process.start()
    await asyncio.to_thread(until, process.answers)
    async with attached(process.socket, [], [], 30) as link:
        assert not link.lost
        await BrowserClient(process.socket).restart({})
        await eventually(lambda: link.lost)
        assert not await link.alive()


async def test_the_end_of_the_driver_is_told_without_asking(shared: Process) -> None:
    async with attached(shared.socket, [], [], 30) as link:
        assert not link.lost
        for pid in _children():
            os.kill(pid, signal.SIGKILL)
        await eventually(lambda: link.lost)


async def test_a_page_that_opens_has_arrived_once_it_can_be_had(shared: Process, web: str) -> None:
    owner = BrowserClient(shared.socket)
    async with attached(shared.socket, [], [], 30) as link:
        opened = await owner.open(f"{web}/form")
        await eventually(lambda: opened in link.targets)
        await link.arrived(20)
        assert (await link.page(opened)).url == f"{web}/form"
    await owner.close(opened)


def _children() -> list[int]:
    """The drivers that this process started."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            place = Path("/proc", name)
            own = f"PPid:\t{os.getpid()}\n" in (place / "status").read_text()
            if own and b"playwright/driver" in (place / "cmdline").read_bytes():
                found.append(int(name))
    return found
