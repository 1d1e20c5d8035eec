import asyncio

import pytest

from sandbox_server.mcp.servers import delivery as module
from sandbox_server.mcp.servers.delivery import BoundedDelivery
from tests.patience import eventually

pytestmark = pytest.mark.anyio


async def test_messages_over_the_limit_are_dropped_until_the_others_are_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNDELIVERED", 2)
    delivery, is_read, sent, delivered = BoundedDelivery(), asyncio.Event(), list[int](), list[int]()

    async def message(number: int) -> None:
        sent.append(number)
        await is_read.wait()
        delivered.append(number)

    async with asyncio.TaskGroup() as tasks:
        for number in (1, 2):
            tasks.create_task(delivery.deliver(message(number)))
        await eventually(lambda: sent == [1, 2])
        await delivery.deliver(message(3))
        is_read.set()
    await delivery.deliver(message(4))

    assert delivered == [1, 2, 4]


async def test_a_message_that_fails_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNDELIVERED", 1)
    delivery, delivered = BoundedDelivery(), list[str]()

    async def fails() -> None:
        raise ConnectionError

    async def works() -> None:
        delivered.append("it")

    with pytest.raises(ConnectionError):
        await delivery.deliver(fails())
    await delivery.deliver(works())

    assert delivered == ["it"]
