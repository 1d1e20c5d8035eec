import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.errors import Conflict
from sandbox_server.core.results import Reply
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.downloads import Downloads
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.browser.page.waiting import Waited, Waiting, WaitRequest
from tests.features.browser.driven import Pages

pytestmark = pytest.mark.anyio


class Saved:
    """The browser's folder of downloads, and what tells of them, by hand."""

    def __init__(self, downloads: Downloads, folder: Path, listeners: list[Any]) -> None:
        self.downloads = downloads
        self._folder = folder
        self._listeners = listeners

    def save(self, name: str, content: bytes) -> None:
        """Have a download begin and end."""
        for listener in self._listeners:
            listener(None, "Browser.downloadWillBegin", {"guid": name, "url": f"http://a/{name}", "suggestedFilename": name})
        (self._folder / f"{name}.part").write_bytes(content)
        (self._folder / f"{name}.part").rename(self._folder / name)
        for listener in self._listeners:
            listener(None, "Browser.downloadProgress", {"guid": name, "receivedBytes": 1, "totalBytes": 1, "state": "completed"})


class Told(Devtools):
    """DevTools that keep who listens."""

    def __init__(self) -> None:
        super().__init__("/nowhere")
        self.told: list[Any] = []

    def listen(self, listener: Any) -> None:
        self.told.append(listener)


@pytest.fixture
async def saved(files: Files, tmp_path: Path) -> AsyncIterator[Saved]:
    (tmp_path / "saved").mkdir()
    devtools = Told()
    async with Downloads(devtools, files, str(tmp_path / "saved"), "~/Downloads") as downloads:
        yield Saved(downloads, tmp_path / "saved", devtools.told)


@pytest.fixture
def waiting(attached: BrowserSession, saved: Saved, files: Files) -> Waiting:
    return Waiting(attached, Told(), saved.downloads, files)


async def wait(waiting: Waiting, **fields: Any) -> Waited:
    reply: Reply[Waited] = await waiting.wait(WaitRequest(**fields))
    return reply.data


async def test_what_a_page_does_is_waited_for(pages: Pages, waiting: Waiting) -> None:
    await pages.visit("/late")
    response = asyncio.ensure_future(wait(waiting, type="response", url_pattern="**/data"))
    request = asyncio.ensure_future(wait(waiting, type="request", url_pattern="**/data"))
    page = await pages.session.page()
    async with asyncio.timeout(60):
        while not response.done():
            await page.evaluate("later()")
            await wait(waiting, type="selector", selector="#here")
            await asyncio.wait([response], timeout=0.5)

    assert (await wait(waiting, type="url", url="**/arrived")).url == f"{pages.web}/arrived"
    assert (await wait(waiting, type="function", expression="done === true")).type == "function"
    assert (await wait(waiting, type="load")).type == "load"
    assert (await wait(waiting, type="network_idle")).type == "network_idle"
    assert (await wait(waiting, type="timeout", timeout=0.01)).type == "timeout"
    assert (response.result().url, response.result().status, response.result().method) == (f"{pages.web}/data", 200, "GET")
    assert (await request).method == "GET"


@pytest.mark.parametrize(
    "fields",
    [{"type": "selector", "selector": "#nowhere"}, {"type": "url", "url": "**/never"}, {"type": "function", "expression": "false"}],
)
async def test_what_does_not_happen_is_a_conflict_at_the_timeout(pages: Pages, waiting: Waiting, fields: dict[str, Any]) -> None:
    await pages.visit("/form")
    with pytest.raises(Conflict, match="did not end in time") as failed:
        await wait(waiting, timeout=0.3, **fields)
    assert failed.value.details["reason"] == "timeout"


async def test_a_download_is_waited_for_and_put_where_it_is_wanted(pages: Pages, waiting: Waiting, saved: Saved, home: Path) -> None:
    coming = asyncio.ensure_future(wait(waiting, type="download", save_path="~/kept/mine.txt"))
    while not coming.done():
        saved.save("notes.txt", b"notes")
        await asyncio.wait([coming], timeout=2)
    waited = coming.result()

    assert (waited.url, waited.filename, waited.path) == ("http://a/notes.txt", "notes.txt", "~/kept/mine.txt")
    assert (home / "kept" / "mine.txt").read_bytes() == b"notes"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"type": "selector"}, "type selector needs selector"),
        ({"type": "response"}, "type response needs url_pattern"),
        ({"type": "load", "state": "visible"}, "state of type load is one of load, domcontentloaded, networkidle"),
        ({"type": "timeout", "timeout": 0}, "greater than 0"),
    ],
)
def test_a_wait_that_cannot_be_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        WaitRequest(**fields)
