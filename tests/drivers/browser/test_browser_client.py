import asyncio
import json
from operator import not_
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, unix_serve

from sandbox_server.core.errors import Conflict, NotFound, ResourceExhausted, Unavailable
from sandbox_server.drivers.browser.browser_client import BrowserClient
from tests.patience import eventually

pytestmark = pytest.mark.anyio

Process = Any


async def test_tabs_are_opened_brought_to_the_front_and_closed(shared: Process, web: str) -> None:
    owner = BrowserClient(shared.socket)
    first = (await owner.tabs())[0].page
    url = f"{web}/form?a=b&c=d#e"
    opened = await owner.open(url)
    await eventually(owner.tabs, lambda tabs: [(tab.page, tab.url) for tab in tabs if tab.active] == [(opened, url)])
    assert (await owner.tabs())[-1].page == opened
    await owner.activate(first)
    await eventually(owner.tabs, lambda tabs: [tab.page for tab in tabs if tab.active] == [first])
    await owner.close(opened)
    await eventually(owner.tabs, lambda tabs: len(tabs) == 1)


async def test_the_pages_are_told_when_they_are_others(shared: Process) -> None:
    owner = BrowserClient(shared.socket)
    state, before = await owner.pages("")
    waiting = asyncio.create_task(owner.pages(state))
    opened = await owner.open("about:blank")
    async with asyncio.timeout(30):
        later, pages = await waiting
        while opened not in pages:
            later, pages = await owner.pages(later)
    assert opened not in before
    await owner.close(opened)


async def test_a_page_answers_and_can_be_made_blank(shared: Process, web: str) -> None:
    owner = BrowserClient(shared.socket)
    page = (await owner.tabs())[0].page
    await owner.reset(page)

    assert await owner.answers(page, 20)
    assert (await owner.tabs())[0].url == "data:text/html,"


async def test_a_page_that_is_closed_before_it_can_be_made_blank_is_a_conflict(shared: Process) -> None:
    with pytest.raises(Conflict, match="the tab was closed") as closed:
        await BrowserClient(shared.socket).reset("nothing")
    assert closed.value.details["reason"] == "closed"


async def test_a_page_that_is_stuck_in_a_script_does_not_answer(shared: Process) -> None:
    owner = BrowserClient(shared.socket)
    page = await owner.open("about:blank")
    assert await owner.answers(page, 20)
    with shared.connect(f"/devtools/page/{page}") as client:
        await asyncio.to_thread(client.send, "Runtime.evaluate", expression="for (;;);")
        await eventually(lambda: owner.answers(page, 0.5), not_)  # it may be asked before the script begins
    await owner.close(page)


async def test_a_page_that_is_not_there_is_not_found(shared: Process) -> None:
    owner = BrowserClient(shared.socket)

    with pytest.raises(NotFound):
        await owner.close("nothing")
    assert not await owner.answers("nothing", 5)


async def test_without_the_process_the_browser_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="the browser is not there yet") as failed:
        await BrowserClient("/nowhere/cdp.sock").tabs()
    assert failed.value.retry_after


async def test_a_page_that_closes_while_it_is_asked_does_not_answer(tmp_path: Path) -> None:
    socket = str(tmp_path / "cdp.sock")

    async def close(client: ServerConnection) -> None:
        asked = json.loads(await client.recv())
        await client.send(json.dumps({"id": asked["id"], "error": {"code": -32000, "message": "Target closed"}}))

    async with unix_serve(close, socket):
        assert not await BrowserClient(socket).answers("page", 60)


async def test_lanes_are_made_listed_and_deleted(shared: Process) -> None:
    owner = BrowserClient(shared.socket)
    await owner.create_lane("one", "ann")
    try:
        with pytest.raises(Conflict, match="a lane 'one' already"):
            await owner.create_lane("one", "bob")
        assert [(lane["name"], lane["created_by"], lane["pages"]) for lane in await owner.lanes()] == [("one", "ann", 1)]
        assert len(await owner.tabs()) == 1
        for number in range(7):
            await owner.create_lane(f"more-{number}", "ann")
        with pytest.raises(ResourceExhausted):
            await owner.create_lane("last", "ann")
    finally:
        for lane in await owner.lanes():
            await owner.delete_lane(lane["name"])
    with pytest.raises(NotFound, match="no lane 'one'"):
        await owner.delete_lane("one")
