"""A viewer that another process serves keeps to the lease by a seat: told at once whether its input counts, and asking for it."""

import asyncio
import json

from sandbox_server.core import Call, Caller, InvalidArgument, Socket, socket
from sandbox_server.features.control.driving import Driving

DRIVE = "drive"


class ControlSeat:
    """Carries the lease to viewers that are not served here."""

    tag = "control"

    def __init__(self, driving: Driving) -> None:
        self._driving = driving

    @socket("/v1/control/seat", scope="view")
    async def take_seat(self, socket: Socket, call: Call) -> None:
        """Follow whether your input counts: a JSON object with `drives` and `epoch`, at first and after every change.

        Send `drive` before an input that means to act: the answer has `answer: true` too. A person's first one takes control, where the
        settings let it. For as long as it lasts, a person counts as a viewer.
        """
        with self._driving.watching(call.caller):
            told = asyncio.create_task(self._tell_changes(socket, call.caller))
            try:
                await self._answer(socket, call.caller)
            except ConnectionError:
                return
            finally:
                told.cancel()
                await asyncio.gather(told, return_exceptions=True)

    async def _answer(self, socket: Socket, caller: Caller) -> None:
        await socket.send(self._state(caller))
        while (asked := await socket.receive()) is not None:
            if asked != DRIVE:
                raise InvalidArgument(f"a seat takes nothing but {DRIVE!r}")
            drives = caller.may("control") and await self._driving.drive(caller, "gui")
            await socket.send(self._state(caller, answer=True, drives=drives))

    async def _tell_changes(self, socket: Socket, caller: Caller) -> None:
        while True:
            await self._driving.changed()
            await socket.send(self._state(caller))

    def _state(self, caller: Caller, *, answer: bool = False, drives: bool | None = None) -> str:
        if drives is None:
            drives = caller.may("control") and self._driving.drives(caller, "gui")
        return json.dumps({"drives": drives, "epoch": self._driving.holding.epoch, "answer": answer})
