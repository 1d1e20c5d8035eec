"""A viewer's seat: keeps to what the API says, asks once, and lets nothing count while the API is away."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, unix_serve

from sandbox_server.core.tasks import Tasks
from sandbox_server.stream.seat import Seat

pytestmark = pytest.mark.anyio


class Api:
    """Keeps a lease, as the API does for seats."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.grants = True
        self.asked = 0
        self.callers: list[str | None] = []
        self._connection: ServerConnection | None = None

    async def serve(self, connection: ServerConnection) -> None:
        self._connection = connection
        assert connection.request
        self.callers.append(connection.request.headers.get("x-sandbox-caller"))
        await self.tell(drives=False)
        async for _ in connection:
            self.asked += 1
            await self.tell(drives=self.grants, answer=True)

    async def tell(self, *, drives: bool, answer: bool = False) -> None:
        assert self._connection
        await self._connection.send(json.dumps({"drives": drives, "epoch": 1, "answer": answer}))

    async def hang_up(self) -> None:
        assert self._connection
        await self._connection.close()


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    api = Api(str(tmp_path / "api.sock"))
    async with unix_serve(api.serve, api.path, compression=None):
        yield api


class Followed:
    """A seat that is followed, and how it changed."""

    def __init__(self, api: Api, tasks: Tasks) -> None:
        self.seat = Seat(api.path, {"x-sandbox-caller": "ann"})
        self._changed = asyncio.Event()
        tasks.start(self.seat.follow(self._changed.set))

    async def until(self, *, drives: bool) -> None:
        async with asyncio.timeout(30):
            while self.seat.drives != drives:
                await self._changed.wait()
                self._changed.clear()

    async def drives_when_it_answers(self) -> bool:
        async with asyncio.timeout(30):
            while not await self.seat.drive():  # noqa: ASYNC110 - nobody tells when it can ask
                await asyncio.sleep(0.01)
        return True


async def test_who_asks_is_answered_and_drives_from_then_on(api: Api) -> None:
    async with Tasks() as tasks:
        followed = Followed(api, tasks)
        assert not followed.seat.drives
        assert await followed.drives_when_it_answers()
        assert followed.seat.drives
        assert api.callers == ["ann"]
        asked = api.asked
        for _ in range(20):
            assert await followed.seat.drive()
        assert api.asked <= asked + 2


async def test_what_the_lease_says_is_kept_to_at_once(api: Api) -> None:
    async with Tasks() as tasks:
        followed = Followed(api, tasks)
        await followed.drives_when_it_answers()
        await api.tell(drives=False)
        await followed.until(drives=False)
        api.grants = False
        assert not await followed.seat.drive()


async def test_nothing_counts_while_the_api_is_away_and_it_is_reached_again(api: Api) -> None:
    async with Tasks() as tasks:
        followed = Followed(api, tasks)
        await followed.drives_when_it_answers()
        await api.hang_up()
        await followed.until(drives=False)
        assert await followed.drives_when_it_answers()
        assert len(api.callers) == 2


async def test_without_an_api_nothing_counts(tmp_path: Path) -> None:
    seat = Seat(str(tmp_path / "none.sock"), {})
    assert not await seat.drive()
