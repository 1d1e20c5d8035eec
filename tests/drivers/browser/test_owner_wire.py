"""The client of the process that owns the browser, against a server of canned answers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.core.errors import Conflict, NotFound, Unavailable
from sandbox_server.drivers.browser.browser_client import BrowserClient, BrowserTab

pytestmark = pytest.mark.anyio


class Canned:
    """Answers every request with `status` and `body`, and remembers what was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.body = b"{}"
        self.asked: list[tuple[str, bytes]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(next(line for line in head.splitlines() if line.startswith("Content-Length")).partition(":")[2])
        self.asked.append((head.splitlines()[0], await reader.readexactly(length)))
        writer.write(b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n\r\n%b" % (self.status, len(self.body), self.body))
        await writer.drain()
        writer.close()


@pytest.fixture
async def canned(tmp_path: Path) -> AsyncIterator[Canned]:
    canned = Canned()
    async with await asyncio.start_unix_server(canned.serve, str(tmp_path / "cdp.sock")):
        yield canned


@pytest.fixture
def owner(tmp_path: Path) -> BrowserClient:
    return BrowserClient(str(tmp_path / "cdp.sock"))


async def test_tabs_come_in_the_order_of_the_strip(canned: Canned, owner: BrowserClient) -> None:
    canned.body = b'[{"page": "A", "url": "u", "title": "t", "index": 0, "active": true}]'
    assert await owner.tabs() == [BrowserTab("A", "u", "t", active=True)]


async def test_an_address_is_passed_on_whole(canned: Canned, owner: BrowserClient) -> None:
    canned.body = b'{"id": "A"}'
    assert await owner.open("https://a.example/?b=c&d#e") == "A"
    assert canned.asked == [("PUT /json/new?https%3A%2F%2Fa.example%2F%3Fb%3Dc%26d%23e HTTP/1.1", b"")]


async def test_policies_travel_as_they_are(canned: Canned, owner: BrowserClient) -> None:
    await owner.restart({"allow_file_selection_dialogs": None})
    assert canned.asked == [("POST /browser/restart HTTP/1.1", b'{"allow_file_selection_dialogs":null}')]


async def test_no_emulation_is_said_so(canned: Canned, owner: BrowserClient) -> None:
    await owner.emulate(None)
    assert canned.asked == [("PUT /browser/emulation HTTP/1.1", b"null")]


async def test_a_page_that_went_is_not_there(canned: Canned, owner: BrowserClient) -> None:
    canned.status = 404
    with pytest.raises(NotFound):
        await owner.activate("A")


async def test_why_there_is_no_browser_is_passed_on(canned: Canned, owner: BrowserClient) -> None:
    canned.status, canned.body = 503, b'{"message": "the host refuses it"}'
    with pytest.raises(Unavailable, match="the host refuses it"):
        await owner.version()


async def test_without_its_process_the_browser_is_not_there_yet(owner: BrowserClient) -> None:
    with pytest.raises(Unavailable, match="not there yet"):
        await owner.page_size()


async def test_what_was_kept_of_a_profile_is_forgotten_before_and_after_its_change(canned: Canned, owner: BrowserClient) -> None:
    forgotten: list[int] = []

    async def forget() -> None:
        forgotten.append(len(canned.asked))
        with pytest.raises(Conflict, match="is being changed"):
            await owner.profile()

    owner.follow_profile(forget)
    await owner.use_profile("mail")
    assert (canned.asked, forgotten) == ([("PUT /browser/profile HTTP/1.1", b'"mail"')], [0, 1])
    canned.body = b'{"profile": "mail"}'
    assert await owner.profile() == "mail"


async def test_why_a_profile_cannot_be_used_is_passed_on(canned: Canned, owner: BrowserClient) -> None:
    canned.status, canned.body = 409, b'{"message": "it is in use", "data": {"reason": "in_use"}}'
    with pytest.raises(Conflict, match="it is in use") as caught:
        await owner.use_profile("mail")
    assert caught.value.details["reason"] == "in_use"
    canned.status = 404
    with pytest.raises(NotFound, match="no profile 'mail'"):
        await owner.use_profile("mail")
    canned.status, canned.body = 200, b'{"profile": "default"}'
    assert await owner.profile() == "default"
