"""The page API on a real browser, called as every surface calls it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.dispatch import Dispatcher, InvalidFields
from sandbox_server.core.errors import Failure
from sandbox_server.core.operation import operations
from sandbox_server.core.results import Call, Caller, Reply
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.drivers.browser.uploads import PageUploads
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.parts.screen import page_features
from tests.drivers.browser.conftest import one_blank_tab


class Pages:
    """Calls operations by verb and path, as in `await pages("POST page/click", selector="a")`."""

    def __init__(self, session: BrowserSession, uploads: PageUploads, processes: Processes, web: str) -> None:
        self.session = session
        self.web = web
        self.hint: str | None = None
        self._operations = {
            f"{operation.spec.verb} {operation.spec.path.removeprefix('/v1/browser/')}": operation
            for feature in page_features(session, ElementIndex(), uploads, processes)
            for operation in operations(feature)
        }

    async def __call__(self, route: str, /, **fields: Any) -> Any:
        """The data of the answer; its hint is kept."""
        result = await Dispatcher([]).call(self._operations[route], fields, Call(Caller("test"), "1"))
        self.hint = result.hint if isinstance(result, Reply) else None
        return result.data if isinstance(result, Reply) else result

    async def fails(self, route: str, /, **fields: Any) -> Failure:
        """The failure of a call that must fail."""
        with pytest.raises(Failure) as failed:
            await self(route, **fields)
        return failed.value

    async def refuses(self, route: str, /, **fields: Any) -> str:
        """What is wrong with the fields of a call."""
        with pytest.raises(InvalidFields) as refused:
            await self(route, **fields)
        return str(refused.value)

    async def visit(self, path: str, **fields: Any) -> None:
        """Go to a page of the test site."""
        await self("POST page/navigate", url=f"{self.web}{path}", **fields)

    async def js(self, expression: str, **fields: Any) -> Any:
        """The value of an expression in the page."""
        return await self("POST page/evaluate", expression=expression, **fields)

    async def crash(self) -> None:
        """Crash the page in front."""
        page = await self.session.page()
        session = await page.context.new_cdp_session(page)
        async with page.expect_event("crash"):
            crashing = asyncio.ensure_future(session.send("Page.crash"))
        crashing.cancel()
        await asyncio.wait([crashing])

    async def title(self) -> str:
        return str(await self.js("document.title"))


@pytest.fixture
async def pages(attached: BrowserSession, files: Files, tmp_path: Path, programs: Processes, web: str) -> AsyncIterator[Pages]:
    """The operations, with one blank tab before each test."""
    await one_blank_tab(attached)
    place = tmp_path / "uploads"
    for folder in (place, *list(place.parents)[:3]):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
    async with PageUploads(files, str(place)) as uploads:
        yield Pages(attached, uploads, programs, web)
