"""The rule for every operation that shows something: not while a person is private."""

import asyncio
from pathlib import Path

import pytest

from sandbox_server.core import Call, Caller, Private, operation
from sandbox_server.core.dispatch import Dispatcher
from sandbox_server.core.operation import operations
from sandbox_server.features.control import lease_state_machine as machine
from sandbox_server.features.control.calls_in_flight import CallsInFlight
from sandbox_server.features.control.lease_keeper import LeaseKeeper, actor_of
from sandbox_server.features.control.visibility_guard import VisibilityGuard
from tests.controls import driving

pytestmark = pytest.mark.anyio

ANN, AGENT = Caller("ann", person=True), Caller("agent")


class Things:
    tag = "things"

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    @operation("GET /look", scope="browser")
    async def look(self) -> str:
        """Look."""
        return "seen"

    @operation("GET /stare", scope="browser")
    async def stare(self) -> None:
        """Look for ever."""
        self.begun.set()
        await asyncio.get_running_loop().create_future()

    @operation("GET /about", scope="browser", shows=False)
    async def about(self) -> str:
        """Tell nothing of what is shown."""
        return "told"

    @operation("GET /list", scope="files")
    async def files(self) -> str:
        """Tell of something else."""
        return "listed"

    @operation("GET /glance", scope="view", shows=True)
    async def glance(self) -> str:
        """Look, by another scope."""
        return "seen"


class Site:
    def __init__(self, found: LeaseKeeper) -> None:
        self.keeper, self.things, calls = found, Things(), CallsInFlight()
        found.follow(calls.interrupt)
        self._operations = {each.spec.name: each for each in operations(self.things)}
        self._dispatcher = Dispatcher([VisibilityGuard(found, calls)])

    async def ask(self, name: str, caller: Caller = AGENT) -> object:
        return await self._dispatcher.call(self._operations[name], {}, Call(caller, "1"))

    async def hide(self) -> None:
        await self.keeper.change("private", actor_of(ANN), lambda lease, now: machine.hide(lease, actor_of(ANN), now, viewing=True))


async def test_while_a_person_is_private_only_that_person_looks(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        site = Site(found)
        assert await site.ask("look") == "seen"
        await site.hide()
        for name in ("look", "glance"):
            with pytest.raises(Private, match="private: ann") as refused:
                await site.ask(name)
        assert refused.value.details == {"reason": "private", "epoch": 2, "holder": "ann"}
        assert await site.ask("look", ANN) == "seen"
        assert [await site.ask("about"), await site.ask("files")] == ["told", "listed"]


async def test_what_looks_already_is_ended(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        site = Site(found)
        looking = asyncio.create_task(site.ask("stare"))
        await site.things.begun.wait()
        await site.hide()
        with pytest.raises(Private):
            await looking


async def test_a_caller_who_leaves_ends_what_looked(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        site = Site(found)
        looking = asyncio.create_task(site.ask("stare"))
        await site.things.begun.wait()
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking
        await site.hide()
