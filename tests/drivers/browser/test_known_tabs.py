"""The tab strip over the kept connection, beside what the browser's process says of it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from sandbox_server.drivers.browser.browser_client import BrowserClient, BrowserTab
from sandbox_server.drivers.browser.known_tabs import KnownTabs
from sandbox_server.drivers.devtools.page_commands import PageCommands
from tests.patience import eventually

pytestmark = pytest.mark.anyio

SECONDS = 20.0


class CountingOwner(BrowserClient):
    """The browser's process, which counts how often it is asked for the strip."""

    asked = 0

    async def tabs(self) -> list[BrowserTab]:
        self.asked += 1
        return await super().tabs()


@pytest.fixture
async def commands(shared: Any) -> AsyncIterator[PageCommands]:
    made = PageCommands(shared.socket)
    yield made
    await made.close()


async def test_once_the_pages_are_known_the_strip_is_read_over_the_connection(shared: Any, commands: PageCommands) -> None:
    owner = CountingOwner(shared.socket)
    known = KnownTabs(owner, commands)
    first = await known.read()
    assert await commands.answers(first[0].page, SECONDS)
    again = await known.read()
    assert owner.asked == 1
    assert [(tab.page, tab.tab, tab.active) for tab in again] == [(tab.page, tab.tab, tab.active) for tab in first]


async def test_a_new_tab_is_asked_for_once_and_the_order_is_that_of_the_strip(shared: Any, commands: PageCommands) -> None:
    owner = CountingOwner(shared.socket)
    known = KnownTabs(owner, commands)
    before = await known.read()
    assert await commands.answers(before[0].page, SECONDS)
    opened = await owner.open("about:blank")
    await eventually(known.read, lambda tabs: [tab.page for tab in tabs if tab.active] == [opened])
    asked = owner.asked
    tabs = await known.read()
    assert owner.asked == asked
    assert [(tab.page, tab.tab) for tab in tabs] == [(tab.page, tab.tab) for tab in await owner.tabs()]
    assert [tab.page for tab in tabs] == [*[tab.page for tab in before], opened]
    await owner.close(opened)
    await eventually(known.read, lambda tabs: opened not in {tab.page for tab in tabs})


async def test_without_the_connection_the_browsers_process_is_asked(shared: Any, commands: PageCommands) -> None:
    owner = CountingOwner(shared.socket)
    known = KnownTabs(owner, commands)
    page = (await known.read())[0].page
    assert await commands.answers(page, SECONDS)
    await commands.close()
    assert page in {tab.page for tab in await known.read()}
    assert owner.asked == 2
