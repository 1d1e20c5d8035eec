"""A viewer's input, asked of the API."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, unix_serve
from websockets.http11 import Request, Response

from sandbox_server.drivers.clients.lease import LeaseClient
from tests.patience import eventually

pytestmark = pytest.mark.anyio

CLOSE_SECONDS = 10.0
"""How long a WebSocket waits for the answer to its close."""


class Api:
    """What answers: control is free until it is lost."""

    def __init__(self, path: Path) -> None:
        self.path = str(path / "api.sock")
        self.heard: list[dict[str, Any]] = []
        self.asked_as: str | None = None
        self.answers = True
        self._connection: ServerConnection | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        async with unix_serve(self._serve, self.path):
            yield

    async def tell(self, **message: object) -> None:
        assert self._connection
        await self._connection.send(json.dumps(message))

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """Read nothing more, and end the connection after it."""
        assert self._connection
        self._connection.transport.pause_reading()
        yield
        self._connection.transport.abort()

    async def _serve(self, connection: ServerConnection) -> None:
        assert connection.request
        self._connection, self.asked_as = connection, connection.request.headers["X-Sandbox-Caller"]
        await self.tell(epoch=1, drives=False, sees=True)
        async for message in connection:
            self.heard.append(json.loads(message))
            if self.answers and "act" in self.heard[-1]:
                await self.tell(epoch=2, drives=True, sees=True, act=self.heard[-1]["act"])


class Released:
    def __init__(self) -> None:
        self.times = 0

    async def __call__(self) -> None:
        self.times += 1


async def test_the_first_act_takes_control_and_its_loss_releases_before_it_is_obeyed(tmp_path: Path) -> None:
    api, released = Api(tmp_path), Released()
    async with api.serving(), LeaseClient(api.path, {"X-Sandbox-Caller": "ann"}, released) as lease:
        await eventually(lambda: {"seen": 1} in api.heard)
        assert (api.asked_as, lease.drives, lease.sees) == ("ann", False, True)
        assert await lease.act()
        await api.tell(epoch=3, drives=False, sees=False, programs=True)
        await eventually(lambda: {"seen": 3} in api.heard)
        assert (lease.drives, lease.sees, lease.programs, released.times) == (False, False, True, 1)


async def test_who_leaves_does_not_wait_for_an_api_that_stalls(tmp_path: Path) -> None:
    api = Api(tmp_path)
    async with api.serving():
        lease = await LeaseClient(api.path, {"X-Sandbox-Caller": "ann"}, Released()).__aenter__()
        await eventually(lambda: {"seen": 1} in api.heard)
        with api.stalled():
            async with asyncio.timeout(CLOSE_SECONDS / 2):
                await lease.__aexit__(None, None, None)


async def test_nothing_counts_while_the_api_does_not_answer(tmp_path: Path) -> None:
    api, released = Api(tmp_path), Released()
    async with LeaseClient(api.path, {"X-Sandbox-Caller": "ann"}, released) as lease:
        assert not await lease.act()
        async with api.serving():
            await eventually(lambda: {"seen": 1} in api.heard)
            assert await lease.act()
        await eventually(lambda: not lease.drives)
        assert lease.sees is None, "while it is not known, nothing is seen"
        assert released.times == 1


async def test_input_of_who_drives_is_told_now_and_then(tmp_path: Path) -> None:
    api = Api(tmp_path)
    async with api.serving(), LeaseClient(api.path, {"X-Sandbox-Caller": "ann"}, Released()) as lease:
        await eventually(lambda: {"seen": 1} in api.heard)
        for _ in range(20):
            assert await lease.act()
        await asyncio.sleep(0)
        assert len([each for each in api.heard if "act" in each]) < 20


async def test_a_late_answer_to_an_earlier_input_is_not_taken_for_that_to_the_next(tmp_path: Path) -> None:
    api = Api(tmp_path)
    async with api.serving(), LeaseClient(api.path, {"X-Sandbox-Caller": "ann"}, Released()) as lease:
        assert await lease.act()
        api.answers = False
        await api.tell(epoch=3, drives=False, sees=True)
        await eventually(lambda: not lease.drives)
        next_one = asyncio.create_task(lease.act())
        await eventually(lambda: 2 in [each.get("act") for each in api.heard])
        await api.tell(epoch=4, drives=False, sees=True, act=1)
        await eventually(lambda: {"seen": 4} in api.heard)
        assert not next_one.done()
        await api.tell(epoch=5, drives=True, sees=True, act=2)
        assert await next_one


async def test_whoever_was_signed_out_is_asked_for_no_more(tmp_path: Path) -> None:
    def refuse(connection: ServerConnection, _: Request) -> Response:
        return connection.respond(401, "your session was ended")

    path = str(tmp_path / "api.sock")
    async with (
        unix_serve(lambda _: asyncio.sleep(0), path, process_request=refuse),
        LeaseClient(path, {"X-Sandbox-Caller": "ann"}, Released()) as lease,
    ):
        async with asyncio.timeout(30):
            await lease.ended.wait()
        assert not await lease.act()
