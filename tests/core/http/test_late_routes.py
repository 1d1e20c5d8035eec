"""A request for what is not there yet waits; every other one is answered."""

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

from sandbox_server.core.http.late_routes import LateRoutes

pytestmark = pytest.mark.anyio


async def answer(request: Request) -> Response:
    """Say which path was asked for."""
    return PlainTextResponse(request.url.path)


EARLY, LATE = Route("/early", answer), Route("/late", answer)


@pytest.fixture
def late_routes() -> LateRoutes:
    """An application that knows one route."""
    return LateRoutes(Starlette(routes=[EARLY]))


async def status(late_routes: LateRoutes, verb: str, path: str) -> int:
    """The status that a request is answered with."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    await late_routes({"type": "http", "method": verb, "path": path, "headers": [], "query_string": b""}, receive, send)
    found: int = sent[0]["status"]
    return found


async def test_what_is_there_is_answered_at_once(late_routes: LateRoutes) -> None:
    assert await status(late_routes, "GET", "/early") == 200


@pytest.mark.parametrize(("verb", "path", "expected"), [("GET", "/late", 200), ("GET", "/never", 404), ("POST", "/early", 405)])
async def test_anything_else_waits_until_everything_is_there(late_routes: LateRoutes, verb: str, path: str, expected: int) -> None:
    asked = asyncio.create_task(status(late_routes, verb, path))
    for _ in range(10):  # it would be answered by then
        await asyncio.sleep(0)
    assert not asked.done()

    late_routes.complete([EARLY, LATE])

    assert await asked == expected


async def test_the_first_routes_stay(late_routes: LateRoutes) -> None:
    late_routes.complete([EARLY, LATE])

    assert [await status(late_routes, "GET", path) for path in ("/early", "/late")] == [200, 200]


async def test_quiet_returns_once_no_request_is_open(late_routes: LateRoutes) -> None:
    asked = asyncio.create_task(status(late_routes, "GET", "/late"))
    await asyncio.sleep(0)
    quiet = asyncio.create_task(late_routes.quiet(30))
    await asyncio.sleep(0)
    assert not quiet.done()

    late_routes.complete([EARLY, LATE])
    await quiet

    assert await asked == 200
    assert await status(late_routes, "GET", "/early") == 200


async def test_a_request_that_lasts_is_not_waited_for_without_end(late_routes: LateRoutes) -> None:
    asked = asyncio.create_task(status(late_routes, "GET", "/late"))
    await asyncio.sleep(0)

    await late_routes.quiet(0.01)

    assert not asked.done()
    late_routes.complete([EARLY, LATE])
    assert await asked == 200
