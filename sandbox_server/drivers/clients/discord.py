"""A bot of Discord: its HTTP API and its gateway, by which interactions come over a WebSocket (https://docs.discord.com/developers)."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import IntEnum
from typing import Any

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import start_task
from sandbox_server.drivers.clients.json_calls import MAX_REASON, JsonAnswer, JsonSocket, SocketClosed, call_json, field, open_socket
from sandbox_server.drivers.clients.webhook import DeliveryResult

FATAL = frozenset({4004, 4010, 4011, 4012, 4013, 4014})
"""Close codes that another attempt does not mend: a wrong token, wrong intents."""
HEARTBEATS = (1.0, 300.0)
"""The shortest and the longest interval that is believed, in seconds."""


class DiscordOpcode(IntEnum):
    """Opcodes of the gateway."""

    DISPATCH = 0
    HEARTBEAT = 1
    IDENTIFY = 2
    RECONNECT = 7
    INVALID_SESSION = 9
    HELLO = 10
    HEARTBEAT_ACK = 11


class DiscordRejected(Exception):
    """Discord does not let this bot in, by a close code of FATAL; another attempt would not help."""


class DiscordBot:
    """Calls with the token of a bot. `version` is that of the program."""

    def __init__(self, server: str, token: str, version: str) -> None:
        self._server = server.rstrip("/")
        self._token = token
        self._agent = f"DiscordBot (tandem, {version})"
        """Discord asks for an address and a version; this program has no address."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Its token."""
        return (self._token,)

    async def call(self, verb: str, path: str, body: object = None) -> Any:
        """Call an address of the API; the answer. Raises Unavailable with the reason."""
        answered = await self._call(verb, path, body)
        if not 200 <= answered.status < 300:
            raise Unavailable(f"Discord: {_reason(answered)}")
        return answered.body

    async def deliver(self, verb: str, path: str, body: object) -> tuple[DeliveryResult, Any]:
        """Call an address of the API; how it went, and the answer."""
        try:
            answered = await self._call(verb, path, body)
        except Unavailable as failure:
            return DeliveryResult(None, failure.message), None
        taken = 200 <= answered.status < 300
        return DeliveryResult(answered.status, None if taken else _reason(answered)), answered.body if taken else None

    @asynccontextmanager
    async def gateway(self) -> AsyncIterator["DiscordGateway"]:
        """Connect to the gateway and identify. Raises Unavailable, and DiscordRejected."""
        url = field(await self.call("GET", "/gateway/bot"), "url")
        if not isinstance(url, str):
            raise Unavailable("Discord named no gateway")
        plain = self._server.startswith("http://")
        async with open_socket("Discord", f"{url.rstrip('/')}/?v=10&encoding=json", plain=plain) as socket:
            gateway = DiscordGateway(socket)
            await gateway.identify(self._token)
            beating = start_task(gateway.beat())
            try:
                yield gateway
            finally:
                beating.cancel()
                await asyncio.wait([beating])

    async def _call(self, verb: str, path: str, body: object) -> JsonAnswer:
        headers = {"Authorization": f"Bot {self._token}", "User-Agent": self._agent}
        return await call_json("Discord", verb, f"{self._server}{path}", headers, body)


class DiscordGateway:
    """An open connection to the gateway."""

    def __init__(self, socket: JsonSocket) -> None:
        self._socket = socket
        self._sequence: int | None = None
        self._interval = HEARTBEATS[1]
        self._acknowledged = True

    async def identify(self, token: str) -> None:
        """Answer the gateway's greeting. Raises Unavailable."""
        hello = await self._receive()
        interval = field(hello, "d", "heartbeat_interval")
        if hello.get("op") != DiscordOpcode.HELLO or not isinstance(interval, int | float):
            raise Unavailable("Discord did not greet")
        self._interval = min(max(interval / 1000, HEARTBEATS[0]), HEARTBEATS[1])
        about = {"os": "linux", "browser": "tandem", "device": "tandem"}
        await self._socket.send({"op": DiscordOpcode.IDENTIFY, "d": {"token": token, "intents": 0, "properties": about}})

    async def beat(self) -> None:
        """Send heartbeats, until one is not answered."""
        await asyncio.sleep(self._interval * random.random())  # the protocol's jitter, no secret
        while self._acknowledged:
            self._acknowledged = False
            try:
                await self._socket.send({"op": DiscordOpcode.HEARTBEAT, "d": self._sequence})
            except SocketClosed:
                return
            await asyncio.sleep(self._interval)
        await self._socket.close()

    async def event(self) -> tuple[str, dict[str, Any]] | None:
        """The next event: its name and data; None where Discord asks for a new connection. Raises as `identify` does."""
        while True:
            message = await self._receive()
            match message.get("op"):
                case DiscordOpcode.DISPATCH:
                    name, data = message.get("t"), message.get("d")
                    if isinstance(name, str) and isinstance(data, dict):
                        return name, data
                case DiscordOpcode.HEARTBEAT:
                    await self._socket.send({"op": DiscordOpcode.HEARTBEAT, "d": self._sequence})
                case DiscordOpcode.RECONNECT | DiscordOpcode.INVALID_SESSION:
                    return None
                case DiscordOpcode.HEARTBEAT_ACK:
                    self._acknowledged = True

    async def _receive(self) -> dict[str, Any]:
        try:
            message = await self._socket.receive()
        except SocketClosed as closed:
            if closed.details.get("code") in FATAL:
                raise DiscordRejected(closed.message) from None
            raise
        if isinstance(message.get("s"), int):
            self._sequence = message["s"]
        return message


def _reason(answered: JsonAnswer) -> str:
    said = field(answered.body, "message")
    return said[:MAX_REASON] if isinstance(said, str) else f"it answered {answered.status}"
