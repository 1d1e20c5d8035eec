"""Decides for the browser's process on the requests that it holds up: pages that open, and data that pages send."""

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.browser.browser_client import HEADERS

AGAIN_SECONDS = 0.5
MAX_MESSAGE = 256 << 20
"""Limit in bytes of a question. A page's URL may be long."""

log = logging.getLogger(__name__)


class RequestJudge(Protocol):
    """Decides on requests of the browser."""

    def subjects(self) -> Sequence[str]:
        """Return what rules on requests are about: `navigation`, `submit`, both or neither."""
        ...

    async def admit(self, subjects: Sequence[str], url: str, method: str) -> bool:
        """Wait for the decision on a request that is about these subjects: whether it goes on."""
        ...


class RequestGateClient:
    """The API's connection to the gate of the browser's process, for as long as the context is open. No browser is started for it."""

    def __init__(self, socket: str, judge: RequestJudge) -> None:
        self._socket = socket
        self._judge = judge
        self._connection: Any = None
        self._tasks = Tasks()
        self._judging: dict[int, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        self._tasks.start(self._keep(), name="gate of the browser's requests")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def changed(self) -> None:
        """Tell the browser's process, in the background, what rules are about now."""
        self._tasks.start(self._tell(), name="what rules on requests are about")

    async def _tell(self) -> None:
        await self._send({"subjects": list(self._judge.subjects())})

    async def _keep(self) -> None:
        from websockets.asyncio.client import unix_connect  # a slow import
        from websockets.exceptions import WebSocketException

        while True:
            with suppress(OSError, WebSocketException, TimeoutError):
                uri = "ws://browser/browser/requests"
                async with unix_connect(
                    self._socket, uri, additional_headers=HEADERS, compression=None, max_size=MAX_MESSAGE
                ) as self._connection:
                    await self._tell()
                    async for message in self._connection:
                        self._take(json.loads(message))
            self._connection = None
            for judging in self._judging.values():
                judging.cancel()
            await asyncio.sleep(AGAIN_SECONDS)

    def _take(self, question: dict[str, Any]) -> None:
        number = question["id"]
        if question.get("withdrawn"):
            if judging := self._judging.get(number):
                judging.cancel()
            return
        judging = self._tasks.start(self._judge_one(question), name="admission of a request")
        self._judging[number] = judging
        judging.add_done_callback(lambda done: self._judging.pop(number, None) if self._judging.get(number) is done else None)

    async def _judge_one(self, question: dict[str, Any]) -> None:
        admitted = False
        try:
            admitted = await self._judge.admit(question["subjects"], question["url"], question["method"])
        finally:
            await self._send({"id": question["id"], "admitted": admitted})

    async def _send(self, told: dict[str, Any]) -> None:
        from websockets.exceptions import WebSocketException

        if self._connection:
            with suppress(WebSocketException):
                await self._connection.send(json.dumps(told))
