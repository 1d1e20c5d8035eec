"""Work that ends with its client."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from sandbox_server.core import InvalidArgument, operation
from sandbox_server.core.dispatch import Dispatcher
from sandbox_server.core.http import create_app
from sandbox_server.core.operation import operations
from tests.patience import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.anyio

CALLER = {"X-Sandbox-Caller": "test"}


class Work:
    """Operations that take until they are cancelled, and one that fails."""

    tag = "work"

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0

    @operation("POST /v1/work", scope="any", ends_with_client=True)
    async def work(self) -> str:
        """Work until nobody wants it."""
        self.begun += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1
        return "never"

    @operation("POST /v1/work/fail", scope="any", ends_with_client=True)
    async def fail(self) -> str:
        """Fail."""
        raise InvalidArgument("it is wrong")

    @operation("POST /v1/work/done", scope="any", ends_with_client=True)
    async def done(self) -> str:
        """Be done."""
        return "done"


async def test_work_is_cancelled_when_its_client_hangs_up_and_is_answered_otherwise(serving: Callable[..., Any]) -> None:
    work = Work()
    with serving(create_app(operations(work), Dispatcher([]))) as url:
        async with httpx2.AsyncClient(base_url=url, headers=CALLER, timeout=PATIENCE_SECONDS) as client:
            call = asyncio.create_task(client.post("/v1/work", json={}))
            await eventually(lambda: work.begun)
            call.cancel()
            await eventually(lambda: work.ended)
            done, failed = await client.post("/v1/work/done"), await client.post("/v1/work/fail")

    assert done.json()["data"] == "done"
    assert (failed.status_code, failed.json()["message"]) == (400, "it is wrong")
