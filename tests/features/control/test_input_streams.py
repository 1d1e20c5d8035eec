"""Input that other processes of the sandbox take."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Call, Caller, InvalidArgument, PermissionDenied
from sandbox_server.core.control import ALL_REACHES
from sandbox_server.features.control import lease_state_machine as machine
from sandbox_server.features.control.input_streams import OWN, InputStreams
from sandbox_server.features.control.lease_keeper import LeaseKeeper, actor_of
from sandbox_server.features.control.lease_listeners import LeaseListeners
from tests.controls import driving

pytestmark = pytest.mark.anyio

ANN = Caller("ann", frozenset({"view", "control", OWN}), person=True)
GUEST = Caller("guest", frozenset({"view", OWN}), person=True)
BOB = actor_of(Caller("bob", person=True))


class Process:
    """The other end: it obeys, unless it is told not to."""

    def __init__(self, *, obeys: bool = True) -> None:
        self.told: list[dict[str, Any]] = []
        self._obeys = obeys
        self._heard = asyncio.Event()
        self._sent: asyncio.Queue[str | None] = asyncio.Queue()

    def say(self, message: dict[str, Any] | None) -> None:
        self._sent.put_nowait(None if message is None else json.dumps(message))

    async def hears(self, **expected: object) -> dict[str, Any]:
        async with asyncio.timeout(30):
            while not (found := [each for each in self.told if expected.items() <= each.items()]):
                await self._heard.wait()
        return found[0]

    async def receive(self) -> str | None:
        return await self._sent.get()

    async def send(self, message: str | bytes) -> None:
        self.told.append(json.loads(message))
        self._heard.set()
        self._heard.clear()
        if self._obeys:
            self.say({"seen": self.told[-1]["epoch"]})

    async def close(self, code: int = 1000, reason: str = "") -> None:
        raise AssertionError("the caller closes")


@pytest.fixture
def noted() -> list[tuple[str, str, int]]:
    return []


@pytest.fixture
async def found(tmp_path: Path, noted: list[tuple[str, str, int]]) -> AsyncIterator[LeaseKeeper]:
    async with driving(
        tmp_path, listeners=LeaseListeners(noted=lambda caller, what, count: noted.append((caller.name, what, count)))
    ) as made:
        yield made


async def take(found: LeaseKeeper) -> None:
    await found.change("taken", BOB, lambda lease, now: machine.take(lease, BOB, ALL_REACHES, now, viewing=True))


async def test_a_viewers_first_act_takes_control_and_the_process_is_told(found: LeaseKeeper, noted: list[tuple[str, str, int]]) -> None:
    process = Process()
    opened = asyncio.create_task(InputStreams(found).open_input(process, Call(ANN, "1")))
    await process.hears(drives=False, programs=True)
    assert [each.name for each in found.viewers] == ["ann"]
    process.say({"act": 1, "inputs": 3})
    told = await process.hears(act=True)
    assert told["drives"]
    assert not told["programs"]
    assert found.holding.holder == "ann"
    assert noted == [("ann", "inputs", 3)]
    process.say(None)
    await opened
    assert found.lease.gone is not None


async def test_a_change_counts_when_the_process_has_obeyed(found: LeaseKeeper) -> None:
    process = Process(obeys=False)
    opened = asyncio.create_task(InputStreams(found).open_input(process, Call(ANN, "1")))
    taking = asyncio.create_task(take(found))
    await process.hears(epoch=2)
    assert not taking.done()
    process.say({"seen": 2})
    async with asyncio.timeout(30):
        await taking
    process.say(None)
    await opened


async def test_a_process_that_leaves_holds_nobody_up(found: LeaseKeeper) -> None:
    process = Process(obeys=False)
    opened = asyncio.create_task(InputStreams(found).open_input(process, Call(ANN, "1")))
    taking = asyncio.create_task(take(found))
    await process.hears(epoch=2)
    process.say(None)
    await opened
    async with asyncio.timeout(30):
        await taking


async def test_who_may_only_look_takes_nothing(found: LeaseKeeper) -> None:
    process = Process()
    opened = asyncio.create_task(InputStreams(found).open_input(process, Call(GUEST, "1")))
    process.say({"act": 1, "inputs": 1})
    assert not (await process.hears(act=True))["drives"]
    assert found.holding.state == "agent"
    process.say(None)
    await opened


async def test_nobody_but_the_sandboxs_own_processes_is_let_in(found: LeaseKeeper) -> None:
    with pytest.raises(PermissionDenied):
        await InputStreams(found).open_input(Process(), Call(Caller("key"), "1"))


@pytest.mark.parametrize("message", [{}, {"seen": "x"}, {"act": "x"}])
async def test_what_makes_no_sense_changes_nothing(found: LeaseKeeper, message: dict[str, Any]) -> None:
    streams, process = InputStreams(found), Process()
    opened = asyncio.create_task(streams.open_input(process, Call(ANN, "1")))
    await process.hears(drives=False)
    with pytest.raises(InvalidArgument):
        await next(iter(streams._open)).take(json.dumps(message))
    process.say(None)
    await opened
