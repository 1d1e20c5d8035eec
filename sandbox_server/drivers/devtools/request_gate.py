"""Decides for the browser's process on the requests that it holds up: pages that open, and data that pages send."""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.browser.browser_client import HEADERS
from sandbox_server.timeouts import scaled

AGAIN_SECONDS = 0.5
HOLDS_SECONDS = scaled(15.0)
"""Seconds that a change waits until it holds in the browser. A page that hangs delays that."""
MAX_MESSAGE = 256 << 20
"""Limit in bytes of a question. A page's URL may be long."""

log = logging.getLogger(__name__)


class RequestJudge(Protocol):
    """Decides on requests of the browser."""

    def subjects(self) -> Sequence[str]:
        """Return what rules for the browser are about: some of `navigation`, `submit` and `download`."""
        ...

    async def admit(self, subjects: Sequence[str], url: str, method: str, body: Mapping[str, object] | None = None) -> bool:
        """Wait for the decision on a request that is about these subjects: whether it goes on. `body` is a `body_summary`."""
        ...


class RequestGateClient:
    """The API's connection to the gate of the browser's process, for as long as the context is open. No browser is started for it."""

    def __init__(self, socket: str, judge: RequestJudge) -> None:
        self._socket = socket
        self._judge = judge
        self._connected: _Connection | None = None
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        self._tasks.start(self._keep(), name="gate of the browser's requests")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def changed(self) -> None:
        """Tell the browser's process what rules are about now, and wait until that holds in the browser, for at most HOLDS_SECONDS.

        A process that is not connected is told when it is. Until then it admits nothing that the earlier rules were about.
        """
        if (connected := self._connected) is None:
            return
        try:
            async with asyncio.timeout(HOLDS_SECONDS):
                await connected.change()
        except TimeoutError:
            log.warning("new rules do not hold in every page yet")

    async def _keep(self) -> None:
        from websockets.asyncio.client import unix_connect  # a slow import
        from websockets.exceptions import WebSocketException

        while True:
            with suppress(OSError, WebSocketException, TimeoutError):
                uri = "ws://browser/browser/requests"
                async with (
                    unix_connect(self._socket, uri, additional_headers=HEADERS, compression=None, max_size=MAX_MESSAGE) as socket,
                    Tasks() as tasks,
                ):
                    self._connected = connected = _Connection(socket, self._judge, tasks)
                    try:
                        await connected.serve()
                    finally:
                        self._connected = None
                        connected.end()
            await asyncio.sleep(AGAIN_SECONDS)


class _Connection:
    """One connection: the questions and the changes that are open on it, whose numbers mean nothing on another."""

    def __init__(self, socket: Any, judge: RequestJudge, tasks: Tasks) -> None:
        self._socket = socket
        self._judge = judge
        self._tasks = tasks
        self._judging: dict[int, asyncio.Task[None]] = {}
        self._changes: dict[int, asyncio.Event] = {}
        self._last = 0

    async def serve(self) -> None:
        """Say what rules are about, and answer questions until the connection ends."""
        self._tasks.start(self.change(), name="what rules for the browser are about")
        async for message in self._socket:
            self._take(json.loads(message))

    async def change(self) -> None:
        """Say what rules are about now, and wait until that holds or the connection ends."""
        self._last += 1
        number, held = self._last, asyncio.Event()
        self._changes[number] = held
        try:
            await self._send({"subjects": list(self._judge.subjects()), "change": number})
            await held.wait()
        finally:
            del self._changes[number]

    def end(self) -> None:
        """Let go whoever waits for a change."""
        for held in self._changes.values():
            held.set()

    def _take(self, told: dict[str, Any]) -> None:
        if "change" in told:
            if held := self._changes.get(told["change"]):
                held.set()
            return
        number = told["id"]
        if told.get("withdrawn"):
            if judging := self._judging.get(number):
                judging.cancel()
            return
        judging = self._tasks.start(self._judge_one(told), name="admission of a request")
        self._judging[number] = judging
        judging.add_done_callback(lambda _: self._judging.pop(number, None))

    async def _judge_one(self, question: dict[str, Any]) -> None:
        admitted = False
        try:
            admitted = await self._judge.admit(question["subjects"], question["url"], question["method"], question["body"])
        finally:
            await self._send({"id": question["id"], "admitted": admitted})

    async def _send(self, told: dict[str, Any]) -> None:
        from websockets.exceptions import WebSocketException

        with suppress(WebSocketException):
            await self._socket.send(json.dumps(told))
