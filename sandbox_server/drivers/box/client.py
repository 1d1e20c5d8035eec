"""The API's side of the box daemon: asks it, and names its refusals."""

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sandbox_server.core.errors import Conflict, DeadlineExceeded, Failure, InvalidArgument, NotFound, ResourceExhausted, Unavailable
from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.drivers.ipc import connect_with_retry, descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import MalformedMessageError
from sandbox_server.timeouts import scaled

QUICK_SECONDS = scaled(30.0)
"""For what takes the daemon milliseconds; ending a box waits for its processes, and those may wait for a disk."""
LONG_SECONDS = 3600.0
"""For what reads or writes whole layers."""
RETRY_AFTER = 1.0

_KINDS: dict[str, type[Failure]] = {
    "not_found": NotFound,
    "conflict": Conflict,
    "resource_exhausted": ResourceExhausted,
    "invalid_argument": InvalidArgument,
    "unavailable": Unavailable,
}


class BoxClient:
    """Asks the daemon on `path`, which may take `patience` seconds to be there.

    Without a box, everything is refused with the reason and how to win one.
    """

    def __init__(self, path: str, isolation: Isolation, patience: float = 0.0) -> None:
        self.isolation = isolation
        self._patience = patience
        self._path = path

    async def ask(self, operation: str, *, fds: Sequence[int] = (), timeout: float = QUICK_SECONDS, **fields: object) -> dict[str, Any]:
        """Have the daemon do one thing; the descriptors stay the caller's. Raises the Failure that the daemon names."""
        if self.isolation.level != "box":
            raise Conflict(
                f"there is no box here: {self.isolation.reason}",
                hint="GET /v1/capabilities says how to win it",
            )
        try:
            async with asyncio.timeout(timeout):
                answer = await self._exchange({"op": operation, **fields}, fds)
        except TimeoutError:
            raise DeadlineExceeded(f"the box daemon did not do it within {timeout:g} s") from None
        except (OSError, MalformedMessageError) as error:
            raise Unavailable(f"the box daemon does not answer: {error}", retry_after=RETRY_AFTER) from error
        if "refused" in answer:
            raise _KINDS[answer["refused"]](str(answer["message"]))
        done: dict[str, Any] = answer["ok"]
        return done

    async def resume(self) -> None:
        """Resume the box if it is suspended; nothing where there is no box, or its daemon is starting anew, and the box with it."""
        if self.isolation.level == "box":
            with suppress(Failure):
                await self.ask("thaw")

    async def _exchange(self, body: dict[str, object], fds: Sequence[int]) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK) as sock:
            await connect_with_retry.connect(sock, self._path, self._patience)
            descriptor_passing.send_request(sock, body, fds)
            answered: asyncio.Future[None] = loop.create_future()
            loop.add_reader(sock, _resolve, answered)
            try:
                await answered
            finally:
                loop.remove_reader(sock)
            message, received = descriptor_passing.receive(sock)
        if message is None or not received:
            descriptor_passing.close_all(received)
            raise ConnectionError("it went away")
        try:
            return descriptor_passing.read_body(received[0])
        finally:
            descriptor_passing.close_all(received)


def _resolve(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
