import pytest

from tests.drivers.browser.conftest import anyio_backend, attached, display, programs, shared, web
from tests.features.browser.driven import Pages, pages

__all__ = ["anyio_backend", "attached", "display", "pages", "programs", "shared", "web"]

pytestmark = pytest.mark.anyio


async def test_tabs_are_opened_listed_brought_to_the_front_and_closed(pages: Pages) -> None:
    opened = await pages("POST tabs", url=f"{pages.web}/form")
    hint = pages.hint
    shown = await pages("PUT tabs/{index}/activate", index=0)
    listed = await pages("GET tabs")
    await pages("DELETE tabs/{index}", index=1)

    assert (opened.index, opened.active, hint) == (1, True, None)
    assert (shown.index, shown.active) == (0, True)
    assert [(tab.index, tab.active) for tab in listed] == [(0, True), (1, False)]
    assert len(await pages("GET tabs")) == 1


async def test_closing_the_last_tab_leaves_a_blank_one(pages: Pages) -> None:
    await pages.visit("/form")
    await pages("DELETE tabs/{index}", index=0)
    [left] = await pages("GET tabs")

    assert left.url == "about:blank"
    assert await pages.js("1") == 1


async def test_a_tab_that_asks_to_stay_is_closed(pages: Pages) -> None:
    await pages.visit("/dialogs")
    await pages("POST tabs")
    await pages("POST page/click", tab=0, selector="#stay")
    await pages("DELETE tabs/{index}", index=0)

    assert len(await pages("GET tabs")) == 1


async def test_a_tab_whose_page_crashed_is_closed(pages: Pages) -> None:
    await pages("POST tabs", url=f"{pages.web}/form")
    await pages.crash()
    await pages("DELETE tabs/{index}", index=1)

    assert len(await pages("GET tabs")) == 1


async def test_a_tab_that_is_not_there_is_not_found(pages: Pages) -> None:
    assert (await pages.fails("DELETE tabs/{index}", index=7)).status == 404
    assert (await pages.fails("PUT tabs/{index}/activate", index=7)).status == 404
