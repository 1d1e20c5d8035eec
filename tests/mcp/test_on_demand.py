"""The application is made for the first request, once, and its lifespan is that of the process."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import Message

from sandbox_server.mcp.on_demand import OnDemand

pytestmark = pytest.mark.anyio


class Made:
    """Makes applications and notes what becomes of them."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def make(self) -> Starlette:
        """One that answers `/` while it is open."""
        self.events.append("made")
        return Starlette(routes=[Route("/", self.answer)], lifespan=self.lifespan)

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Note when it is opened and closed."""
        self.events.append("opened")
        yield
        self.events.append("closed")

    async def answer(self, _: Request) -> PlainTextResponse:
        """Say something."""
        self.events.append("asked")
        return PlainTextResponse("yes")


@asynccontextmanager
async def running(app: OnDemand) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the application, between the server's start and end."""
    told: asyncio.Queue[Message] = asyncio.Queue()
    said: asyncio.Queue[Message] = asyncio.Queue()
    live = asyncio.create_task(app({"type": "lifespan"}, told.get, said.put))
    await told.put({"type": "lifespan.startup"})
    assert (await said.get())["type"] == "lifespan.startup.complete"
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://mcp") as client:
        yield client
    await told.put({"type": "lifespan.shutdown"})
    await live
    assert (await said.get())["type"] == "lifespan.shutdown.complete"


async def test_nothing_is_made_where_nobody_asks() -> None:
    made = Made()
    async with running(OnDemand(made.make)):
        pass
    assert made.events == []


async def test_it_is_made_and_opened_once_for_the_first_requests_and_closed_at_the_end() -> None:
    made = Made()
    async with running(OnDemand(made.make)) as client:
        answers = await asyncio.gather(*(client.get("/") for _ in range(3)))
    assert [answer.text for answer in answers] == ["yes"] * 3
    assert made.events == ["made", "opened", "asked", "asked", "asked", "closed"]


async def test_a_request_that_is_given_up_does_not_keep_it_from_being_made() -> None:
    made = Made()
    async with running(OnDemand(made.make)) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await client.get("/")
        assert (await client.get("/")).text == "yes"
    assert made.events == ["made", "opened", "asked", "closed"]


async def test_one_that_cannot_be_made_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[int] = []
    monkeypatch.setattr(signal, "raise_signal", raised.append)

    def broken() -> Starlette:
        raise RuntimeError("broken")

    async with running(OnDemand(broken)) as client:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="broken"):
                await client.get("/")
    assert raised == [signal.SIGTERM]


def test_the_protocols_library_is_not_imported_before() -> None:
    asked = (
        "import sys; import sandbox_server.mcp.on_demand; print([name for name in sys.modules if name in ('mcp', 'mcp_types', 'httpx2')])"
    )
    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.strip() == "[]"
