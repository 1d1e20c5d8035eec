"""The page's elements on the screen: found where they are, and clicked by the pointer where it gets to them."""

from collections.abc import AsyncIterator

import pytest
from Xlib import display as xlib

from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.drivers.browser.screen_elements import PageOnScreen, Point, Shown
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.drivers.x11.desktop import Desktop
from tests.drivers.browser.conftest import visit
from tests.patience import eventually

pytestmark = pytest.mark.anyio


class PointerClicks:
    """A pointer on the screen, and how often it pressed."""

    def __init__(self, desktop: Desktop, display: str) -> None:
        self.desktop = desktop
        self.display = display
        self.pressed = 0

    async def point(self, at: Point) -> None:
        await self.desktop.pointer.move(*at)

    async def press(self, _: Point) -> None:
        self.pressed += 1
        await self.desktop.pointer.click("left", 1)

    async def click(self, page: PageOnScreen, ref: str) -> Point | None:
        return await page.click(ref, button="left", times=1, point=self.point, press=self.press)


@pytest.fixture
async def clicks(display: str) -> AsyncIterator[PointerClicks]:
    async with Desktop(display) as desktop:
        yield PointerClicks(desktop, display)


@pytest.fixture
def page(session: BrowserSession) -> PageOnScreen:
    return PageOnScreen(session, ElementIndex())


def named(found: list[Shown], name: str) -> Shown:
    return next(shown for shown in found if shown.about["name"] == name)


async def title(session: BrowserSession) -> str:
    return await (await session.page()).title()


@pytest.mark.parametrize(
    ("path", "name", "result"), [("form", "Send", "sent"), ("shadow", "Deep", "pressed"), ("frames", "Framed", "from the frame")]
)
async def test_the_pointer_clicks_an_element_where_it_is(
    session: BrowserSession, web: str, page: PageOnScreen, clicks: PointerClicks, path: str, name: str, result: str
) -> None:
    await visit(session, f"{web}/{path}")
    shown = named(await page.list(), name)
    at = await clicks.click(page, shown.ref)
    assert at is not None
    assert (shown.x <= at[0] <= shown.x + shown.width, shown.y <= at[1] <= shown.y + shown.height) == (True, True)
    assert clicks.pressed == 1
    await eventually(lambda: title(session), lambda found: found == result)


async def test_the_browser_clicks_what_another_window_covers(
    session: BrowserSession, web: str, page: PageOnScreen, clicks: PointerClicks
) -> None:
    await visit(session, f"{web}/form")
    shown = named(await page.list(), "Send")
    other = xlib.Display(f"unix/{clicks.display}")
    screen = other.screen()
    cover = screen.root.create_window(shown.x, shown.y, shown.width, shown.height, 0, screen.root_depth, override_redirect=True)
    cover.map()
    other.sync()
    assert await clicks.click(page, shown.ref) is None
    assert clicks.pressed == 0
    await eventually(lambda: title(session), lambda found: found == "sent")
    other.close()


async def test_a_ref_of_another_document_is_stale(session: BrowserSession, web: str, page: PageOnScreen, clicks: PointerClicks) -> None:
    await visit(session, f"{web}/form")
    shown = named(await page.list(), "Send")
    assert named(await page.list(), "Send").ref == shown.ref
    await visit(session, f"{web}/shadow")
    await page.list()
    with pytest.raises(Conflict, match="another page"):
        await clicks.click(page, shown.ref)
    assert clicks.pressed == 0


async def test_what_the_page_itself_covers_is_a_conflict(
    session: BrowserSession, web: str, page: PageOnScreen, clicks: PointerClicks
) -> None:
    await visit(session, f"{web}/covered")
    with pytest.raises(Conflict):
        await clicks.click(page, named(await page.list(), "Under").ref)
    assert (clicks.pressed, await title(session)) == (0, "Covered")
