"""Input streams: a process that takes a person's mouse and keyboard asks here, over a WebSocket, whether they count."""

import asyncio
import json
from typing import Any

from sandbox_server.core import Call, Caller, InvalidArgument, PermissionDenied, Socket, socket
from sandbox_server.core.control import Holding
from sandbox_server.core.tasks import start_task
from sandbox_server.features.control.lease_keeper import LeaseKeeper

OWN = "server"
"""The scope of our own processes, which no credential gives."""


class _InputStream:
    """One stream of input."""

    def __init__(self, socket: Socket, caller: Caller, keeper: LeaseKeeper) -> None:
        self._socket = socket
        self._caller = caller
        self._keeper = keeper
        self._seen = 0
        self._news = asyncio.Event()

    async def tell(self, **more: int) -> None:
        """Say whether the input counts now."""
        holding = self._keeper.holding
        drives = self._caller.may("control") and holding.drives(self._caller, "gui")
        told = {"epoch": holding.epoch, "drives": drives, "sees": holding.sees(self._caller), "programs": holding.left_to_programs("gui")}
        await self._socket.send(json.dumps(told | more))

    async def obey(self, holding: Holding) -> None:
        """Return once the process keeps to a change."""
        try:
            await self.tell()
            while self._seen < holding.epoch:
                await self._news.wait()
        except ConnectionError:
            return

    async def take(self, message: str | bytes) -> None:
        """Take what the process says: that it keeps to an epoch, or that the person acts."""
        match _parsed(message):
            case {"seen": int(epoch)}:
                self._seen = max(self._seen, epoch)
                self._wake()
            case {"act": int(number), "inputs": int(inputs)}:
                if self._caller.may("control") and await self._keeper.drive(self._caller, "gui"):
                    self._keeper.note(self._caller, "inputs", inputs)
                await self.tell(act=number)
            case _:
                raise InvalidArgument("a message is {seen: epoch} or {act: number, inputs: how many}")

    def end(self) -> None:
        """Nobody waits for it any more."""
        self._seen = 1 << 62
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news.clear()


class InputStreams:
    """The streams of input that are open."""

    tag = "control"

    def __init__(self, keeper: LeaseKeeper) -> None:
        self._keeper = keeper
        self._open: set[_InputStream] = set()
        keeper.follow(self.obey)

    async def obey(self, holding: Holding) -> None:
        """Have every stream keep to a change, and what a person pressed released who may not act any more."""
        await asyncio.gather(*(stream.obey(holding) for stream in self._open))

    @socket("/v1/control/input", scope="view")
    async def open_input(self, socket: Socket, call: Call) -> None:
        """Tell another process of the sandbox whether a viewer's mouse and keyboard count; that process alone can connect."""
        if not call.caller.may(OWN):
            raise PermissionDenied("this is for processes of the sandbox's own")
        stream = _InputStream(socket, call.caller, self._keeper)
        self._open.add(stream)
        acting: set[asyncio.Task[None]] = set()
        try:
            with self._keeper.watching(call.caller):
                await stream.tell()
                while (message := await socket.receive()) is not None:
                    acting.add(task := start_task(stream.take(message)))  # an act waits for this very stream to obey
                    task.add_done_callback(acting.discard)
        finally:
            self._open.discard(stream)
            stream.end()
            for task in acting:
                task.cancel()


def _parsed(message: str | bytes) -> Any:
    try:
        return json.loads(message)
    except ValueError:
        return None
