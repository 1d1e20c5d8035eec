"""Commands to pages over one connection that outlives pages and browsers."""

import asyncio
from collections.abc import AsyncIterator
from operator import not_
from typing import Any

import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.browser.browser_client import BrowserClient
from sandbox_server.drivers.devtools.connection import DevtoolsRefused
from sandbox_server.drivers.devtools.page_commands import PageCommands
from tests.patience import eventually, until

pytestmark = pytest.mark.anyio

SECONDS = 20.0


@pytest.fixture
async def commands(shared: Any) -> AsyncIterator[PageCommands]:
    made = PageCommands(shared.socket)
    yield made
    await made.close()


async def page_of(process: Any) -> str:
    return (await BrowserClient(process.socket).tabs())[0].page


async def test_a_page_is_attached_to_once_for_all_its_commands(shared: Any, commands: PageCommands) -> None:
    page = await page_of(shared)
    for number in range(3):
        given = await commands.send(page, "Runtime.evaluate", {"expression": f"self.sum = (self.sum ?? 0) + {number}"}, SECONDS)
        assert given["result"]["type"] == "number"
    with shared.connect() as client:
        sessions = await asyncio.to_thread(client.result, "Target.getTargets")
    assert given["result"]["value"] == 3
    assert len([info for info in sessions["targetInfos"] if info["targetId"] == page]) == 1


async def test_a_command_that_the_page_refuses_says_so(shared: Any, commands: PageCommands) -> None:
    with pytest.raises(DevtoolsRefused, match="not enabled"):
        await commands.send(await page_of(shared), "Runtime.compileScript", {"expression": "1", "sourceURL": "", "persistScript": False}, 5)
    with pytest.raises(DevtoolsRefused, match="No target with given id"):
        await commands.send("nothing", "Runtime.evaluate", {"expression": "1"}, SECONDS)


async def test_a_page_that_is_stuck_does_not_answer_and_holds_up_no_other(shared: Any, commands: PageCommands) -> None:
    owner, other = BrowserClient(shared.socket), await page_of(shared)
    page = await owner.open("about:blank")
    assert await commands.answers(page, SECONDS)
    with shared.connect(f"/devtools/page/{page}") as client:
        await asyncio.to_thread(client.send, "Runtime.evaluate", expression="for (;;);")
        await eventually(lambda: commands.answers(page, 0.5), not_)  # it may be asked before the script begins
        assert await commands.answers(other, SECONDS)
    await owner.close(page)


async def test_a_page_that_closed_is_forgotten(shared: Any, commands: PageCommands) -> None:
    owner = BrowserClient(shared.socket)
    page = await owner.open("about:blank")
    assert await commands.answers(page, SECONDS)
    await owner.close(page)
    await eventually(lambda: commands.answers(page, SECONDS), not_)
    commands.post(page, "Runtime.releaseObjectGroup", {"objectGroup": "none"})
    assert await commands.answers(await page_of(shared), SECONDS)


async def test_the_next_browser_is_connected_to_after_the_end_of_one(make_browser_server: Any) -> None:
    process = make_browser_server()
    process.start()
    await asyncio.to_thread(until, process.answers)
    commands = PageCommands(process.socket)
    assert await commands.answers(await page_of(process), SECONDS)
    await BrowserClient(process.socket).restart({})

    async def answers() -> bool:
        return await commands.answers(await page_of(process), SECONDS)

    await eventually(answers)
    await commands.close()


async def test_without_a_browser_nothing_is_sent() -> None:
    with pytest.raises(Unavailable, match="cannot be reached"):
        await PageCommands("/nowhere/cdp.sock").send("page", "Runtime.evaluate", {"expression": "1"}, 5)
