"""What the owning process tells of tabs and does with them, on a real browser."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.errors import NotFound, Unavailable
from sandbox_server.drivers.browser.owner import Owner
from tests.cdp.conftest import display, shared
from tests.waiting import eventually

__all__ = ["display", "shared"]

pytestmark = pytest.mark.anyio


@pytest.fixture
def owner(shared: Any) -> Owner:
    return Owner(shared.socket)


async def shows(owner: Owner, page: str, url: str) -> bool:
    return any(tab.page == page and tab.url == url and tab.active for tab in await owner.tabs())


async def is_closed(owner: Owner, page: str) -> bool:
    return page not in [tab.page for tab in await owner.tabs()]


async def test_a_tab_is_opened_in_front_brought_back_and_closed(owner: Owner) -> None:
    first = await owner.open("data:text/html,first")
    second = await owner.open("data:text/html,second%20%26%20last")
    await eventually(lambda: shows(owner, second, "data:text/html,second%20%26%20last"))
    await owner.activate(first)
    await eventually(lambda: shows(owner, first, "data:text/html,first"))
    for page in (first, second):
        await owner.close(page)
        await eventually(partial(is_closed, owner, page))
    with pytest.raises(NotFound):
        await owner.activate(first)


async def test_a_page_that_is_stuck_in_a_script_does_not_answer(owner: Owner, shared: Any) -> None:
    page = await owner.open("about:blank")
    assert await owner.answers(page, 20)
    with shared.connect(f"/devtools/page/{page}") as client:
        await asyncio.to_thread(client.send, "Runtime.evaluate", expression="for (;;);")
        assert not await owner.answers(page, 0.5)
    await owner.close(page)


async def test_without_the_owning_process_there_are_no_tabs(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="not there yet"):
        await Owner(str(tmp_path / "none.sock")).tabs()
