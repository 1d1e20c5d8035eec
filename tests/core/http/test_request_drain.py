import asyncio
from collections.abc import Callable

import pytest
from starlette.types import Message, Receive, Scope, Send

from sandbox_server.core.http import request_drain as module
from sandbox_server.core.http.request_drain import Drain

pytestmark = pytest.mark.anyio

START: Message = {"type": "http.response.start", "status": 200, "headers": []}


class Client:
    """Sends a body in chunks, and notes when the answer came."""

    def __init__(self, *chunks: bytes, stalls: bool = False) -> None:
        self._left = list(chunks)
        self._stalls = stalls
        self.unsent_at_answer: int | None = None

    async def receive(self) -> Message:
        if self._left:
            return {"type": "http.request", "body": self._left.pop(0), "more_body": bool(self._left) or self._stalls}
        if self._stalls:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.unsent_at_answer = len(self._left)


def reading(count: int) -> Callable[[Scope, Receive, Send], object]:
    """An application that reads some pieces of the body and answers."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(count):
            await receive()
        await send(START)

    return app


@pytest.mark.parametrize("read", [0, 1, 3])
async def test_a_body_is_read_to_its_end_before_the_answer(read: int) -> None:
    client = Client(b"a", b"b", b"c")
    await Drain(reading(read))({"type": "http"}, client.receive, client.send)  # type: ignore[arg-type]
    assert client.unsent_at_answer == 0


async def test_a_body_that_does_not_come_is_waited_for_no_longer_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SECONDS", 0.05)
    client = Client(b"a", stalls=True)
    async with asyncio.timeout(30):
        await Drain(reading(0))({"type": "http"}, client.receive, client.send)  # type: ignore[arg-type]
    assert client.unsent_at_answer == 0


async def test_more_than_the_bound_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 2)
    client = Client(*[b"x"] * 5)
    await Drain(reading(0))({"type": "http"}, client.receive, client.send)  # type: ignore[arg-type]
    assert client.unsent_at_answer == 3


async def test_a_socket_is_passed_on_as_it_is() -> None:
    passed = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append((receive, send))

    client = Client()
    await Drain(app)({"type": "websocket"}, client.receive, client.send)
    assert passed == [(client.receive, client.send)]
