import pytest

from sandbox_server.core.errors import Conflict, NotFound
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.drivers.browser.session import BrowserSession
from tests.drivers.browser.conftest import visit

pytestmark = pytest.mark.anyio


async def test_an_element_is_found_by_its_index_until_it_is_gone(session: BrowserSession, web: str) -> None:
    await visit(session, f"{web}/changing")
    page, elements = await session.page(), ElementIndex()
    listing = await elements.list(page, page.main_frame)
    found = await elements.find(page, 0)

    assert [item["name"] for item in listing.items] == ["Old"]
    assert await found.inner_text() == "Old"
    with pytest.raises(NotFound, match="there is no element 5; 1 were listed"):
        await elements.find(page, 5)
    await page.evaluate("replace()")
    with pytest.raises(Conflict, match="the element 0 is stale"):
        await elements.find(page, 0)
    assert (await elements.list(page, page.main_frame)).items[0]["index"] == 1


async def test_after_a_navigation_every_index_is_stale_and_counting_begins_anew(session: BrowserSession, web: str) -> None:
    await visit(session, f"{web}/")
    page, elements = await session.page(), ElementIndex()
    with pytest.raises(Conflict):
        await elements.find(page, 0)
    await elements.list(page, page.main_frame)
    await page.goto(f"{web}/form")
    for index in (0, 50):
        with pytest.raises(Conflict, match="stale"):
            await elements.find(page, index)
    assert (await elements.list(page, page.main_frame)).items[0]["index"] == 0


async def test_plain_text_stands_between_the_elements_where_it_is_asked_for(session: BrowserSession, web: str) -> None:
    await visit(session, f"{web}/frames")
    page = await session.page()
    listing = await ElementIndex().list(page, page.main_frame, texts=True)

    assert [item.get("text") or item["name"] for item in listing.items] == ["Outside", "Within the frame", "Framed", ""]


async def test_of_too_many_elements_the_rest_is_counted(session: BrowserSession, web: str) -> None:
    await visit(session, f"{web}/")
    page = await session.page()
    await page.evaluate("document.body.innerHTML = '<button>x</button>'.repeat(1005)")
    listing = await ElementIndex().list(page, page.main_frame)

    assert (len(listing.items), listing.left) == (1000, 5)
