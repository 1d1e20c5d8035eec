"""Calls of chat services' HTTP APIs with JSON, and their WebSockets. No error has an address, a header or a token."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sandbox_server.core.errors import Unavailable

if TYPE_CHECKING:
    import httpx2
    from websockets.asyncio.client import ClientConnection

SECONDS = 10.0
MAX_ANSWER = 4 << 20
"""Bytes of an answer, which has at most 100 updates of Telegram, and of a message of a WebSocket."""
MAX_REASON = 200


class SocketClosed(Unavailable):
    """The other side closed a WebSocket, with `code`."""


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """An answer: its HTTP status, and its JSON, which is None where there is none."""

    status: int
    body: Any


async def call_json(
    service: str, verb: str, url: str, headers: Mapping[str, str], body: object = None, *, seconds: float | None = None
) -> JsonAnswer:
    """Call once. Redirects are not followed. Raises Unavailable where there is no answer of JSON within `seconds`, or else SECONDS."""
    import httpx2  # a slow import, which few sandboxes need

    try:
        async with (
            asyncio.timeout(seconds or SECONDS),
            httpx2.AsyncClient(trust_env=False, timeout=httpx2.Timeout(seconds or SECONDS, connect=SECONDS)) as client,
            client.stream(verb, url, json=body, headers=dict(headers)) as response,
        ):
            return JsonAnswer(response.status_code, await _read(response))
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TimeoutError) as error:
        raise Unavailable(f"{service} did not answer: {type(error).__name__}") from None


class JsonSocket:
    """An open WebSocket whose messages are objects of JSON."""

    def __init__(self, service: str, connection: "ClientConnection") -> None:
        self._service = service
        self._connection = connection

    async def send(self, message: object) -> None:
        """Send a message. Raises SocketClosed."""
        import orjson
        from websockets.exceptions import ConnectionClosed

        try:
            await self._connection.send(orjson.dumps(message).decode())
        except ConnectionClosed:
            raise self._closed() from None

    async def receive(self) -> dict[str, Any]:
        """The next message; an empty one for what is no object of JSON. Raises SocketClosed."""
        import orjson
        from websockets.exceptions import ConnectionClosed

        try:
            message = orjson.loads(await self._connection.recv())
        except ConnectionClosed:
            raise self._closed() from None
        except ValueError:
            return {}
        return message if isinstance(message, dict) else {}

    async def close(self) -> None:
        """Close it; whoever receives gets SocketClosed."""
        await self._connection.close()

    def _closed(self) -> SocketClosed:
        code = self._connection.close_code
        return SocketClosed(f"{self._service} closed the connection with {code}", code=code)


@asynccontextmanager
async def open_socket(service: str, url: str, *, plain: bool) -> AsyncIterator[JsonSocket]:
    """Connect. `plain` admits an address without TLS. Raises Unavailable."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import WebSocketException

    if not url.startswith(("wss://", "ws://") if plain else "wss://"):
        raise Unavailable(f"{service} named an address that is not a secure WebSocket")
    try:
        connection = await connect(url, proxy=None, compression=None, max_size=MAX_ANSWER, open_timeout=SECONDS, close_timeout=1)
    except (OSError, WebSocketException, ValueError, TimeoutError) as error:
        raise Unavailable(f"{service} is not connected: {type(error).__name__}") from None
    try:
        yield JsonSocket(service, connection)
    finally:
        await connection.close()


def field(value: Any, *path: str) -> Any:
    """A field of an object of JSON, or None where there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


async def _read(response: "httpx2.Response") -> Any:
    import orjson

    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_ANSWER:
            raise ValueError(f"the answer is over {MAX_ANSWER} bytes")
    return orjson.loads(body) if body else None
