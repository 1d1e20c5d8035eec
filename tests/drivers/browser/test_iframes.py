import pytest

from sandbox_server.core.errors import NotFound
from sandbox_server.drivers.browser.iframes import frame_of
from sandbox_server.drivers.browser.session import BrowserSession
from tests.drivers.browser.conftest import visit

pytestmark = pytest.mark.anyio


async def test_a_frame_goes_by_its_name_its_address_or_its_element(session: BrowserSession, web: str) -> None:
    await visit(session, f"{web}/frames")
    page = await session.page()

    assert await frame_of(page, None) is page.main_frame
    for name in ("inner", f"{web}/inside", "iframe[src='/inside']"):
        assert (await frame_of(page, name)).url == f"{web}/inside"
    for name in ("nothing", "p"):
        with pytest.raises(NotFound, match="there is no frame"):
            await frame_of(page, name)
