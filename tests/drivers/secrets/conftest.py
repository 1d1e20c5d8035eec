from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.drivers.secrets.stores import Respond, StoreServer

type Serve = Callable[[Respond], Awaitable[tuple[str, StoreServer]]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts a stand-in for a store."""
    made: list[StoreServer] = []

    async def start(respond: Respond) -> tuple[str, StoreServer]:
        made.append(StoreServer(respond))
        return await made[-1].start(), made[-1]

    yield start
    for each in made:
        each.close()
