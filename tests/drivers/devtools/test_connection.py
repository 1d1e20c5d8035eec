"""Commands get their replies and events get told, until the connection ends."""

import asyncio
from typing import Any

import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.devtools.connection import DevtoolsRefused, connected
from tests.patience import eventually, until

pytestmark = pytest.mark.anyio


async def test_a_command_gets_its_reply_or_a_refusal(shared: Any) -> None:
    async with connected(shared.socket, lambda *_: None) as connection:
        assert "Chrome" in (await connection.command("Browser.getVersion"))["product"]
        with pytest.raises(DevtoolsRefused, match="wasn't found"):
            await connection.command("No.such")


async def test_events_are_told_with_their_session(shared: Any) -> None:
    told: list[tuple[str | None, str]] = []
    async with connected(shared.socket, lambda session, method, _: told.append((session, method))) as connection:
        page = await connection.command("Target.createTarget", {"url": "about:blank"})
        session = (await connection.command("Target.attachToTarget", {**page, "flatten": True}))["sessionId"]
        await connection.command("Page.enable", {}, session)
        await connection.command("Page.navigate", {"url": "data:text/html,hi"}, session)
        await eventually(lambda: (session, "Page.loadEventFired") in told)
        await connection.command("Target.closeTarget", page)
    assert (None, "Target.attachedToTarget") in told


async def test_what_waits_when_the_browser_ends_is_told(make_browser_server: Any) -> None:
    owner = make_browser_server()
    owner.start()
    await asyncio.to_thread(until, owner.answers)
    async with connected(owner.socket, lambda *_: None) as connection:
        page = await connection.command("Target.createTarget", {"url": "about:blank"})
        session = (await connection.command("Target.attachToTarget", {**page, "flatten": True}))["sessionId"]
        endless = {"expression": "new Promise(() => {})", "awaitPromise": True}
        waiting = asyncio.create_task(connection.command("Runtime.evaluate", endless, session, timeout=60))
        await asyncio.sleep(0)
        await connection.command("Browser.getVersion")
        await asyncio.to_thread(owner.stop)
        with pytest.raises(Unavailable, match="ended"):
            await waiting
        with pytest.raises(Unavailable, match="ended"):
            await connection.command("Browser.getVersion")
