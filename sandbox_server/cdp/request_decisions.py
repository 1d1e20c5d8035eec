"""The API's decisions on requests that the browser has paused. The API connects here and is asked.

Where it does not answer, nothing is admitted: a request that needs an approval waits a few seconds for the API, which
may be restarting, and is then refused.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect

from sandbox_server.cdp.messages import Object
from sandbox_server.core.tasks import Tasks

WITHOUT_API_SECONDS = 10.0
"""Seconds that a request waits for an API that is not connected."""
MAX_ASKED = 1000
"""Limit of requests that wait for a decision at once. What exceeds it is refused."""

type TakeSubjects = Callable[[frozenset[str]], Awaitable[None]]
"""Takes the subjects that rules are about."""


class RequestDecisions:
    """Asks the API, which connects by WebSocket, about requests."""

    def __init__(self) -> None:
        self._api: _Api | None = None
        self._came = asyncio.Event()
        self._asked = 0

    async def ask(self, question: Object) -> bool:
        """Return whether a request goes on; False where the API does not say."""
        if self._asked >= MAX_ASKED:
            return False
        self._asked += 1
        try:
            api = await self._connected()
            return api is not None and await api.ask(question)
        finally:
            self._asked -= 1

    async def serve(self, websocket: WebSocket, take: TakeSubjects) -> None:
        """Serve one connection of the API until it ends. A later one replaces it."""
        api = _Api()
        self._api = api
        self._came.set()
        self._came.clear()
        try:
            async with Tasks() as tasks:
                ends = {
                    tasks.start(api.send(websocket), name="questions to the API"),
                    tasks.start(_receive(websocket, api, take, tasks), name="decisions of the API"),
                }
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            api.close()
            if self._api is api:
                self._api = None

    async def _connected(self) -> "_Api | None":
        with suppress(TimeoutError):
            async with asyncio.timeout(WITHOUT_API_SECONDS):
                while self._api is None:
                    await self._came.wait()
        return self._api


class _Api:
    """One connection of the API, and what it was asked there."""

    def __init__(self) -> None:
        self._questions: asyncio.Queue[Object] = asyncio.Queue()  # at most two for each of MAX_ASKED requests, and one for each change
        self._open: dict[int, asyncio.Future[bool]] = {}
        self._last = 0
        self._closed = False

    async def ask(self, question: Object) -> bool:
        """Ask, and wait for the decision. Cancelling withdraws the question."""
        if self._closed:
            return False
        self._last += 1
        number = self._last
        decision = self._open[number] = asyncio.get_running_loop().create_future()
        self._questions.put_nowait({"id": number, **question})
        try:
            return bool(await decision)
        finally:
            del self._open[number]
            if not decision.done() or decision.cancelled():
                self._questions.put_nowait({"id": number, "withdrawn": True})

    def decide(self, number: int, *, admitted: bool) -> None:
        """Take a decision."""
        if (decision := self._open.get(number)) and not decision.done():
            decision.set_result(admitted)

    def tell(self, told: Object) -> None:
        """Say something that is no question."""
        self._questions.put_nowait(told)

    def close(self) -> None:
        """Admit nothing of what is still open."""
        self._closed = True
        for decision in self._open.values():
            if not decision.done():
                decision.set_result(False)

    async def send(self, websocket: WebSocket) -> None:
        """Send the questions, for ever."""
        with suppress(WebSocketDisconnect, RuntimeError):  # already closed by the API
            while True:
                await websocket.send_text(orjson.dumps(await self._questions.get()).decode())


async def _receive(websocket: WebSocket, api: _Api, take: TakeSubjects, tasks: Tasks) -> None:
    while (message := await websocket.receive())["type"] != "websocket.disconnect":
        told = orjson.loads(message.get("text") or message.get("bytes") or b"null")
        if "subjects" in told:
            tasks.start(_change(told, api, take), name="what rules for the browser are about")
        else:
            api.decide(told["id"], admitted=told["admitted"] is True)


async def _change(told: Object, api: _Api, take: TakeSubjects) -> None:
    """Take what rules are about, and say when it holds. Decisions are taken meanwhile."""
    await take(frozenset(told["subjects"]))
    if "change" in told:
        api.tell({"change": told["change"]})
