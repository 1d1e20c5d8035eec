"""Client of the egress process's control socket: requests, and events that are followed."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from sandbox_server.core.errors import InvalidArgument, Unavailable
from sandbox_server.drivers.egress.policy_document import MAX_BYTES, EgressPolicyError
from sandbox_server.timeouts import scaled

ASK_SECONDS = scaled(15.0)
"""Limit of one request: a policy of 20,000 rules takes a second."""
MAX_FLOWS = 8192
"""Flows that are listed: more than the process relays at once."""
RETRY_AFTER = 1.0
RETRY_SECONDS = 0.1
MAX_LINE = 2 * MAX_BYTES
"""Limit in bytes of an answer: a document, whose text the other side may have escaped."""

type EgressEvent = dict[str, Any]


class EgressClient:
    """Asks the process on `path`. With `off`, the reason why there is none, it refuses everything.

    A request waits `patience` seconds for a process that is starting.
    """

    def __init__(self, path: str, off: str = "", patience: float = 0.0) -> None:
        self._path = path
        self._patience = patience
        self.off = off

    async def ask(self, op: str, **fields: object) -> dict[str, Any]:
        """Have one thing done. Raises Unavailable, EgressPolicyError for a policy that is wrong, and InvalidArgument."""
        self.check()
        try:
            async with asyncio.timeout(ASK_SECONDS):
                answer = await self._exchange({"op": op, **fields})
        except (OSError, ValueError, TimeoutError) as error:
            raise self._away(error) from None
        if "errors" in answer:
            raise EgressPolicyError([(each["pointer"], each["message"]) for each in answer["errors"]])
        if "refused" in answer:
            raise (Unavailable if answer.get("kind") == "unavailable" else InvalidArgument)(str(answer["refused"]))
        done: dict[str, Any] = answer["ok"]
        return done

    async def flows(self) -> list[dict[str, Any]]:
        """Return everything that is relayed now. Raises Unavailable."""
        found: list[dict[str, Any]] = []
        while len(found) < MAX_FLOWS:
            listed = (await self.ask("flows", after=found[-1]["id"] if found else 0))["flows"]
            if not listed:
                break
            found += listed
        return found

    async def follow(self, name: str = "") -> AsyncIterator[EgressEvent]:
        """Yield every event, after an empty one once the process has accepted. Ends with it; raises Unavailable.

        Under a name these are the events that its followers have not dealt with yet, without one those from now on.
        """
        self.check()
        try:
            async with asyncio.timeout(ASK_SECONDS):
                reader, writer = await asyncio.open_unix_connection(self._path, limit=MAX_LINE)
        except (OSError, TimeoutError) as error:
            raise self._away(error) from None
        try:
            async for event in _events(reader, writer, name):
                yield event
        except (OSError, ValueError) as error:
            raise self._away(error) from None
        finally:
            writer.close()

    def check(self) -> None:
        """Raise Unavailable if there is no egress process to ask."""
        if self.off:
            raise Unavailable(f"there is no egress policy here: {self.off}", reason="off")

    async def _exchange(self, request: dict[str, object]) -> dict[str, Any]:
        reader, writer = await self._connect()
        try:
            await _send(writer, request)
            return _decoded(await reader.readline())
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        given_up = loop.time() + self._patience
        while True:
            try:
                return await asyncio.open_unix_connection(self._path, limit=MAX_LINE)
            except (FileNotFoundError, ConnectionRefusedError):
                if loop.time() >= given_up:
                    raise
            await asyncio.sleep(RETRY_SECONDS)

    def _away(self, error: Exception) -> Unavailable:
        why = str(error) or "it took too long"
        return Unavailable(
            f"the egress process does not answer: {why}",
            hint="Nothing leaves the sandbox until it is back, which takes about a second.",
            retry_after=RETRY_AFTER,
            reason="away",
        )


async def _events(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str) -> AsyncIterator[EgressEvent]:
    await _send(writer, {"op": "follow", "name": name})
    while line := await reader.readline():
        event = _decoded(line)
        if "refused" in event:
            raise ValueError(event["refused"])
        if "up_to" in event:  # what came before it was dealt with, else nobody would ask for more
            await _send(writer, {"acknowledged": event["up_to"]})
        else:
            yield event.get("ok", event)


async def _send(writer: asyncio.StreamWriter, request: dict[str, object]) -> None:
    writer.write(json.dumps(request).encode() + b"\n")
    await writer.drain()


def _decoded(line: bytes) -> dict[str, Any]:
    with suppress(RecursionError):
        answer = json.loads(line or b"null")
        if isinstance(answer, dict):
            return answer
    raise ValueError("it ended the connection" if not line else "its answer is no object")
