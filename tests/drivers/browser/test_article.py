import pytest

from sandbox_server.core.errors import TooLarge
from sandbox_server.drivers.browser.article import Readable
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.drivers.spawn.process import Processes
from tests.drivers.browser.conftest import visit

pytestmark = pytest.mark.anyio


async def test_reading_a_page_leaves_it_as_it_was(session: BrowserSession, programs: Processes, web: str) -> None:
    await visit(session, f"{web}/article")
    page = await session.page()
    before = await page.content()
    article = await Readable(programs).read(page.main_frame)

    assert article.url == f"{web}/article"
    assert "Paragraph 11" in article.content
    assert await page.content() == before


async def test_a_page_without_main_content_is_read_whole_with_whole_addresses(
    session: BrowserSession, programs: Processes, web: str
) -> None:
    await visit(session, f"{web}/")
    page = await session.page()
    await page.evaluate(
        "document.body.innerHTML = '<table><tr><th>a</th></tr><tr><td><a href=/x>b</a></td></tr></table><script>1</script>'"
    )
    article = await Readable(programs).read(page.main_frame)

    assert f"[b]({web}/x)" in article.content
    assert "| a |" in article.content
    assert "script" not in article.content


async def test_too_large_a_page_is_refused(session: BrowserSession, programs: Processes, web: str) -> None:
    await visit(session, f"{web}/")
    page = await session.page()
    await page.evaluate("document.body.textContent = 'x'.repeat(8000001)")
    with pytest.raises(TooLarge):
        await Readable(programs).read(page.main_frame)
