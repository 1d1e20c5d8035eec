import asyncio
import gc
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.errors import Conflict, NotFound, Unavailable
from sandbox_server.drivers.browser import playwright_connection
from sandbox_server.drivers.browser import session as module
from sandbox_server.drivers.browser.browser_client import BrowserClient, BrowserTab
from sandbox_server.drivers.browser.dialogs import DialogAnswer
from sandbox_server.drivers.browser.session import BrowserSession
from tests.drivers.browser.conftest import visit

pytestmark = pytest.mark.anyio

Process = Any


async def evaluate(session: BrowserSession, expression: str, tab: int | None = None) -> Any:
    async with session.driving("the script", tab=tab, answer=DialogAnswer(), timeout=30) as driven:
        return await driven.page.evaluate(expression)


async def hang(session: BrowserSession, web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the tab in front in an endless script; from then on a page that does not answer is given up as usual."""
    await visit(session, f"{web}/hang")
    await (await session.page()).evaluate("setTimeout(hang)")
    monkeypatch.setattr(module, "ANSWER_SECONDS", 3.0)


async def test_the_page_in_front_is_driven_and_a_tab_by_its_place(session: BrowserSession, web: str) -> None:
    await visit(session, f"{web}/form")
    await session.open(f"{web}/article")
    page = await session.page()
    await page.wait_for_load_state()

    assert await evaluate(session, "document.title") == "An article"
    assert await evaluate(session, "document.title", tab=0) == "Form"
    with pytest.raises(NotFound, match="there is no tab 7; there are 2"):
        await session.tab(7)


async def test_hooks_see_the_context_and_every_page_old_and_new(session: BrowserSession, shared: Process) -> None:
    contexts, pages = [], []

    async def on_context(context: Any, devtools: Any) -> None:
        contexts.append((await devtools.send("Browser.getVersion"))["product"])

    async def on_page(page: Any, target: str) -> None:
        pages.append(target)

    async with BrowserSession(BrowserClient(shared.socket)) as other:
        other.on_context(on_context)
        other.on_page(on_page)
        await other.page()
        opened = await other.open("about:blank")
        await (await other.attachment()).page(opened)

        assert contexts[0].startswith("Chrome/")
        assert sorted(pages) == sorted(tab.page for tab in await other.tabs())


async def test_the_hint_tells_of_tabs_that_were_opened_once(session: BrowserSession, web: str) -> None:
    await visit(session, f"{web}/popup")
    page = await session.page()
    async with page.expect_popup() as opened:
        await page.click("button")
    await (await opened.value).wait_for_url(f"{web}/")

    assert await session.hint() == f"A tab was opened: 1 (in front), {web}/"
    assert await session.hint() is None


async def test_a_page_that_is_not_in_front_is_acted_on(session: BrowserSession, web: str) -> None:
    await visit(session, f"{web}/dialogs")
    await session.open("about:blank")

    async with session.driving("the click", tab=0, answer=DialogAnswer("accept"), timeout=10) as driven:
        await driven.page.click("#confirm", timeout=10_000)
        assert await driven.page.title() == "true"


@pytest.mark.slow
async def test_a_page_that_hangs_is_a_conflict_until_it_is_revived(
    session: BrowserSession, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await hang(session, web, monkeypatch)

    with pytest.raises(Conflict, match="has not answered for 3 s and nothing was done") as stuck:
        await evaluate(session, "1")
    assert stuck.value.details["reason"] == "not_responding"
    async with session.driving("loading", answer=DialogAnswer(), timeout=30, revive=True) as driven:
        await driven.page.goto(f"{web}/")
        assert await driven.page.title() == "Home"


async def test_a_page_that_crashed_is_a_conflict_until_it_is_revived(session: BrowserSession, web: str) -> None:
    await session.open(f"{web}/")
    page = await session.page()
    async with page.expect_event("crash"):
        with suppress(Exception):  # it never arrives there
            await page.goto("chrome://crash")

    with pytest.raises(Conflict, match="the page in this tab crashed, or hangs"):
        await evaluate(session, "1")
    assert await evaluate(session, "1 + 1", tab=0) == 2
    async with session.driving("loading", answer=DialogAnswer(), timeout=30, revive=True) as driven:
        await driven.page.goto(f"{web}/form")
        assert await driven.page.title() == "Form"


async def test_a_crash_is_told_without_a_wait_for_the_page_to_appear(
    session: BrowserSession, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await session.open(f"{web}/")
    page = await session.page()
    async with page.expect_event("crash"):
        with suppress(Exception):  # it never arrives there
            await page.goto("chrome://crash")
    monkeypatch.setattr(playwright_connection, "APPEAR_SECONDS", 3600.0)

    with pytest.raises(Conflict, match="the page in this tab crashed"):
        await evaluate(session, "1")


async def test_a_tab_that_closes_when_it_is_to_be_driven_is_a_conflict(session: BrowserSession, monkeypatch: pytest.MonkeyPatch) -> None:
    going = await session.tab(None)
    await session.open("about:blank")
    await session.close(going, DialogAnswer())

    async def tab(_: int | None) -> BrowserTab:
        return going

    monkeypatch.setattr(session, "tab", tab)
    monkeypatch.setattr(playwright_connection, "APPEAR_SECONDS", 0.1)
    with pytest.raises(Conflict) as closed:
        async with session.driving("loading", answer=DialogAnswer(), timeout=30, revive=True):
            pass
    assert closed.value.details["reason"] in ("closed", "not_responding")  # the strip may have it for a moment longer


@pytest.mark.slow
async def test_a_page_that_hangs_before_anything_is_attached_is_named(
    session: BrowserSession, shared: Process, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await session.open("about:blank")
    await hang(session, web, monkeypatch)
    async with BrowserSession(BrowserClient(shared.socket)) as other:
        with pytest.raises(Conflict, match="keeps the browser from being driven: tab 1"):
            await evaluate(other, "1", tab=0)
        async with other.driving("loading", tab=1, answer=DialogAnswer(), timeout=30, revive=True) as driven:
            assert await driven.page.evaluate("1 + 1") == 2


async def test_a_driver_that_was_killed_is_replaced(session: BrowserSession, web: str) -> None:
    await visit(session, f"{web}/form")
    complaints: list[str] = []
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: complaints.append(str(context.get("exception"))))
    for pid in _drivers():
        os.kill(pid, signal.SIGKILL)

    assert await evaluate(session, "document.title") == "Form"
    gc.collect()  # Playwright leaves behind what nobody asks for
    loop.set_exception_handler(before)
    assert set(complaints) <= {"Connection closed while reading from the driver"}


async def test_a_browser_that_was_killed_is_found_again_with_its_tabs(session: BrowserSession, shared: Process, web: str) -> None:
    await visit(session, f"{web}/form")
    await asyncio.to_thread(os.kill, shared.pid, signal.SIGKILL)

    async with asyncio.timeout(90):
        while True:
            with suppress(Unavailable, Conflict):
                if await evaluate(session, "document.title") == "Form":
                    break


async def test_nothing_is_imported_before_the_first_use(tmp_path: Any) -> None:
    program = "import sys; from sandbox_server.composition import browser; print('playwright' in sys.modules, 'markdownify' in sys.modules)"
    process = await asyncio.create_subprocess_exec(
        "/opt/venv/bin/python", "-c", program, stdout=asyncio.subprocess.PIPE, env={"PYTHONPATH": os.getcwd()}
    )
    out, _ = await process.communicate()

    assert out.decode().split() == ["False", "False"]


async def test_without_a_browser_the_caller_is_told_to_come_again() -> None:
    async with BrowserSession(BrowserClient("/nowhere/cdp.sock")) as nobody:
        with pytest.raises(Unavailable, match="the browser is not there yet"):
            await nobody.page()
        assert await nobody.hint() is None


def _drivers() -> list[int]:
    """The driver processes of this test run."""
    found = []
    for name in os.listdir("/proc"):
        with suppress(OSError):
            if name.isdigit() and b"playwright/driver" in Path(f"/proc/{name}/cmdline").read_bytes():
                found.append(int(name))
    return found
