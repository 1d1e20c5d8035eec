"""A seat: told at once whether its input counts, and takes control for a person where that may be."""

import asyncio
import json
from pathlib import Path

import pytest

from sandbox_server.core import Call, Caller, InvalidArgument
from sandbox_server.features.control import lease as machine
from sandbox_server.features.control.driving import actor_of
from sandbox_server.features.control.seat import ControlSeat
from tests.controls import driving

pytestmark = pytest.mark.anyio

ANN = Caller("ann", frozenset({"view", "control"}), person=True)
GUEST = Caller("guest", frozenset({"view"}), person=True)


class Line:
    """A viewer's end of the socket."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[dict[str, object]] = asyncio.Queue()
        self.said: asyncio.Queue[str | bytes | None] = asyncio.Queue()

    async def send(self, message: str | bytes) -> None:
        self.told.put_nowait(json.loads(message))

    async def receive(self) -> str | bytes | None:
        return await self.said.get()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self.said.put_nowait(None)

    async def next(self) -> dict[str, object]:
        async with asyncio.timeout(30):
            return await self.told.get()

    async def answer(self) -> dict[str, object]:
        while not (told := await self.next())["answer"]:
            continue
        return told


async def test_a_persons_first_input_takes_control_and_its_loss_is_told(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        line = Line()
        seat = asyncio.create_task(ControlSeat(found).take_seat(line, Call(ANN, "request")))
        assert (await line.next())["drives"] is False
        assert [each.name for each in found.viewers] == ["ann"]
        line.said.put_nowait("drive")
        assert (await line.answer())["drives"] is True
        assert found.holding.holder == "ann"
        await found.change("released", actor_of(ANN), lambda lease, now: machine.release(lease, actor_of(ANN), now))
        while (await line.next())["drives"]:
            continue
        line.said.put_nowait(None)
        await asyncio.wait_for(seat, 30)
        assert found.viewers == []


async def test_who_may_not_act_takes_nothing(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        line = Line()
        seat = asyncio.create_task(ControlSeat(found).take_seat(line, Call(GUEST, "request")))
        line.said.put_nowait("drive")
        assert (await line.answer())["drives"] is False
        assert found.holding.state == "agent"
        line.said.put_nowait("anything else")
        with pytest.raises(InvalidArgument):
            await asyncio.wait_for(seat, 30)
