"""How the relay gets through to kernels. What it passes on is in `run`; that it speaks with kernels is seen through `relayed`."""

import asyncio

import anyio
import pytest

from sandbox_server.drivers.kernels.relay import KNOCK_SECONDS, Message, knock


@pytest.mark.anyio
async def test_an_answer_that_comes_later_than_the_next_question_is_one_too() -> None:
    loop, heard = asyncio.get_running_loop(), asyncio.Event()
    heard.set()
    asked: list[asyncio.Future[Message]] = []

    def ask() -> asyncio.Future[Message]:
        asked.append(loop.create_future())
        if len(asked) == 2:
            loop.call_later(KNOCK_SECONDS / 2, asked[0].set_result, {})
        return asked[-1]

    with anyio.fail_after(30):
        await knock(ask, heard)
    assert asked[0].done()
