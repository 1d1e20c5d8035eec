"""The open ports, as pages follow them."""

import asyncio
from collections.abc import AsyncIterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import ALL_SCOPES, Call, Caller, Event
from sandbox_server.drivers.credentials.shares import PortShares
from sandbox_server.drivers.ports.holders import Holder
from sandbox_server.drivers.ports.listening_ports import Listener
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.ports.port_events import PortEvents
from sandbox_server.features.ports.ports import PortViews

pytestmark = pytest.mark.anyio

MIA = Call(Caller("mia"), "1", base_url="http://localhost:8080")
FIRST = Listener(ip_address("127.0.0.1"), 3000, 1000, 1)
SECOND = Listener(ip_address("0.0.0.0"), 5000, 1000, 2)


class FakePorts:
    """What listens, as a test says."""

    def __init__(self) -> None:
        self.listening: list[Listener] = []
        self.looks: asyncio.Queue[None] = asyncio.Queue()

    async def open(self) -> list[Listener]:
        self.looks.put_nowait(None)
        return list(self.listening)


class FakeHolders:
    def __init__(self) -> None:
        self.asked = 0

    async def find(self) -> dict[int, Holder]:
        self.asked += 1
        await asyncio.sleep(0)
        return {1: Holder(12, "vite"), 2: Holder(13, "flask run")}


class Machine:
    """Ports, their programs and what tells of them."""

    def __init__(self, folder: Path, interval: float = 0.001) -> None:
        self.ports = FakePorts()
        self.holders = FakeHolders()
        views = PortViews(self.ports, self.holders, PortShares(JsonFile(str(folder / "shares.json"))), None)  # type: ignore[arg-type]
        self.events = PortEvents(views, self.ports, interval=interval)  # type: ignore[arg-type]

    async def follow(self) -> AsyncIterator[Event]:
        events = await self.events.follow(MIA)
        assert events
        return events


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def told(events: AsyncIterator[Event]) -> list[tuple[int, str]]:
    async with asyncio.timeout(30):
        event = await anext(events)
    ports: Any = event.data
    assert event.event == "ports"
    return [(port["port"], port["process"]["command"]) for port in ports]


async def test_the_ports_are_told_at_once_and_whenever_one_opens_or_closes(machine: Machine) -> None:
    events = await machine.follow()
    assert await told(events) == []
    machine.ports.listening = [SECOND, FIRST]
    assert await told(events) == [(3000, "vite"), (5000, "flask run")]
    machine.ports.listening = [SECOND]
    assert await told(events) == [(5000, "flask run")]


async def test_nothing_is_told_and_no_program_is_run_while_nothing_changes(machine: Machine) -> None:
    machine.ports.listening = [FIRST]
    events = await machine.follow()
    await told(events)
    waiting = asyncio.ensure_future(told(events))
    async with asyncio.timeout(30):
        for _ in range(5):
            await machine.ports.looks.get()
    assert (waiting.done(), machine.holders.asked) == (False, 1)
    waiting.cancel()


async def test_pages_that_follow_together_have_programs_looked_up_once(machine: Machine) -> None:
    machine.ports.listening = [FIRST]
    followers = [await machine.follow() for _ in range(3)]
    assert await asyncio.gather(*map(told, followers)) == [[(3000, "vite")]] * 3
    assert machine.holders.asked == 1


async def test_who_may_not_see_ports_is_told_nothing(machine: Machine) -> None:
    guest = Call(Caller("guest", ALL_SCOPES - {"code"}, person=True), "1")
    assert await machine.events.follow(guest) is None
    assert machine.ports.looks.empty()


async def test_one_look_serves_all_who_follow(tmp_path: Path) -> None:
    machine = Machine(tmp_path, interval=60.0)
    machine.ports.listening = [FIRST]
    followers = [await machine.follow() for _ in range(50)]
    assert await asyncio.gather(*map(told, followers)) == [[(3000, "vite")]] * 50
    assert (machine.ports.looks.qsize(), machine.holders.asked) == (1, 1)
