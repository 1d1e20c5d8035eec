"""Following which field has the focus, over ends of the other process."""

import asyncio
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, unix_serve

from sandbox_server.drivers.browser import browser_events
from tests.patience import eventually

pytestmark = pytest.mark.anyio


async def test_every_change_is_told_and_what_was_told_last_holds_until_there_is_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_events, "AGAIN_SECONDS", 0.01)
    told: list[bool] = []

    async def serve(connection: ServerConnection) -> None:
        assert connection.request
        assert connection.request.headers["X-Sandbox-Scopes"] == "browser server"
        await connection.send('{"secret": false}')
        await connection.send('{"secret": true}')

    path = str(tmp_path / "cdp.sock")
    following = asyncio.create_task(browser_events.follow_focus(path, told.append))
    async with unix_serve(serve, path):
        await eventually(lambda: told[:4] == [False, True, False, True])
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
