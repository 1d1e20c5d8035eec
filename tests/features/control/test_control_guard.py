"""The rule for every operation that acts."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from sandbox_server.core import Call, Caller, Conflict, HeldByHuman, InvalidArgument, Model, ResourceExhausted, operation
from sandbox_server.core.control import Reach
from sandbox_server.core.dispatch import Dispatcher
from sandbox_server.core.operation import Operation, operations
from sandbox_server.features.control import control_guard as module
from sandbox_server.features.control import lease_state_machine as machine
from sandbox_server.features.control.calls_in_flight import CallsInFlight
from sandbox_server.features.control.control_guard import ControlGuard
from sandbox_server.features.control.lease_keeper import LeaseKeeper, actor_of
from tests.controls import driving

pytestmark = pytest.mark.anyio

ANN = Caller("ann", person=True)


class Awaited(Model):
    script: str = ""

    @property
    def acts(self) -> tuple[Reach, ...]:
        return ("cdp",) if self.script else ()


class Things:
    tag = "things"

    def __init__(self) -> None:
        self.done = 0
        self.begun = asyncio.Event()

    @operation("POST /click", scope="control", acts="gui")
    async def click(self) -> str:
        """Act."""
        self.done += 1
        return "clicked"

    @operation("POST /drag", scope="control", acts="gui")
    async def drag(self) -> None:
        """Act for ever."""
        self.begun.set()
        await asyncio.get_running_loop().create_future()

    @operation("POST /run", scope="shell", acts="shell")
    async def run(self) -> str:
        """Start something."""
        return "ran"

    @operation("POST /end", scope="shell", acts=("shell", "gui", "cdp"))
    async def end(self) -> str:
        """End everything."""
        return "ended"

    @operation("POST /await", scope="browser", read_only=True)
    async def await_(self, request: Awaited) -> str:
        """Look, or run what the caller wrote."""
        return f"awaited {request.script}"

    @operation("GET /look", scope="browser")
    async def look(self) -> str:
        """Look."""
        return "seen"


class Site:
    """The operations behind the guard."""

    def __init__(self, found: LeaseKeeper, calls: CallsInFlight) -> None:
        self.keeper = found
        self.things = Things()
        self._operations: dict[str, Operation] = {each.spec.name: each for each in operations(self.things)}
        self._dispatcher = Dispatcher([ControlGuard(found, calls)])

    async def ask(
        self,
        name: str,
        query: str = "",
        epoch: int | None = None,
        surface: Literal["http", "mcp"] = "http",
        caller: Caller | None = None,
        fields: dict[str, object] | None = None,
    ) -> object:
        headers = {} if epoch is None else {"x-control-epoch": str(epoch)}
        asked = dict(pair.split("=") for pair in query.split("&") if pair)
        call = Call(caller or Caller("agent"), "request", surface, headers=headers, query=asked)
        return await self._dispatcher.call(self._operations[name], fields or {}, call)

    async def take(self, *reach: str) -> None:
        wanted = frozenset(reach or ("gui", "cdp", "shell"))
        await self.keeper.change(
            "taken",
            actor_of(ANN),
            lambda lease, now: machine.take(lease, actor_of(ANN), wanted, now, viewing=True),  # type: ignore[arg-type] # words
        )

    async def release(self) -> None:
        await self.keeper.change("released", actor_of(ANN), lambda lease, now: machine.release(lease, actor_of(ANN), now))


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    calls = CallsInFlight()
    async with driving(tmp_path, calls.interrupt) as found:
        yield Site(found, calls)


async def test_without_a_person_everything_goes_on(site: Site) -> None:
    assert [await site.ask(name) for name in ("click", "run", "look")] == ["clicked", "ran", "seen"]


async def test_while_a_person_holds_it_actions_are_refused_and_reads_go_on(site: Site) -> None:
    await site.take()
    for name in ("click", "run"):
        with pytest.raises(HeldByHuman) as refused:
            await site.ask(name)
        assert {"epoch": 2, "holder": "ann", "state": "human"}.items() <= refused.value.details.items()
    assert await site.ask("look") == "seen"
    assert site.things.done == 0
    assert await site.ask("click", caller=ANN) == "clicked"


async def test_a_request_that_may_act_is_refused_where_others_of_its_operation_look(site: Site) -> None:
    script: dict[str, object] = {"script": "steal()"}
    assert await site.ask("await_", fields=script) == "awaited steal()"
    await site.take()
    assert await site.ask("await_") == "awaited "
    with pytest.raises(HeldByHuman):
        await site.ask("await_", fields=script)
    assert await site.ask("await_", fields=script, caller=ANN) == "awaited steal()"


@pytest.mark.parametrize("held", ["shell", "gui", "cdp"])
async def test_what_ends_everything_needs_everything(site: Site, held: str) -> None:
    assert await site.ask("end", surface="mcp") == "ended"
    await site.take(held)
    with pytest.raises(HeldByHuman):
        await site.ask("end")
    assert await site.ask("end", caller=ANN) == "ended"
    waiting = asyncio.create_task(site.ask("end", "wait=30"))
    await site.release()
    assert await waiting == "ended"


async def test_what_the_person_does_not_hold_goes_on(site: Site) -> None:
    await site.take("gui", "cdp")
    assert await site.ask("run") == "ran"


async def test_an_action_may_wait_for_control(site: Site) -> None:
    await site.take()
    waiting = asyncio.create_task(site.ask("click", "wait=30"))
    with pytest.raises(HeldByHuman):
        await site.ask("click", "wait=0.01")
    assert site.things.done == 0
    await site.release()
    assert await waiting == "clicked"


async def test_a_wait_that_quoted_an_epoch_does_not_act_on_what_has_changed(site: Site) -> None:
    await site.take()
    waiting = asyncio.create_task(site.ask("click", "wait=30", epoch=1))
    await site.ask("look")
    await site.release()
    with pytest.raises(Conflict, match="look again"):
        await waiting
    assert site.things.done == 0


@pytest.mark.parametrize("wait", ["-1", "x", "nan", "1e9"])
async def test_a_wait_that_makes_no_sense_is_refused(site: Site, wait: str) -> None:
    await site.take()
    with pytest.raises(InvalidArgument, match="wait is a number"):
        await site.ask("click", f"wait={wait}")


async def test_few_may_wait_at_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PARKED", 0)
    await site.take()
    with pytest.raises(ResourceExhausted):
        await site.ask("click", "wait=5")


async def test_after_a_hand_back_an_old_epoch_is_stale_and_the_new_one_is_told(site: Site) -> None:
    assert await site.ask("click", epoch=1) == "clicked"
    await site.take()
    await site.release()
    for quoting in ({"epoch": 1}, {"query": "epoch=1"}):
        with pytest.raises(Conflict) as refused:
            await site.ask("click", **quoting)
        assert refused.value.kind == "stale_epoch"
        assert {"reason": "stale_epoch", "epoch": 3, "quoted": 1}.items() <= refused.value.details.items()
    assert await site.ask("click", epoch=3) == "clicked"
    assert await site.ask("click") == "clicked", "who quotes none is not asked"


@pytest.mark.parametrize("epoch", ["x", "-1", "9" * 30])
async def test_an_epoch_that_is_no_number_is_refused(site: Site, epoch: str) -> None:
    with pytest.raises(InvalidArgument, match="epoch is a number"):
        await site.ask("click", f"epoch={epoch}")


async def test_an_agent_over_mcp_has_to_look_again_after_a_person_acted(site: Site) -> None:
    assert await site.ask("click", surface="mcp") == "clicked", "the first time there is nothing that it saw"
    await site.take()
    await site.release()
    with pytest.raises(Conflict, match="look again"):
        await site.ask("click", surface="mcp")
    assert await site.ask("run", surface="mcp") == "ran", "a shell is not seen by eye"
    await site.ask("look", surface="mcp")
    assert await site.ask("click", surface="mcp") == "clicked"


async def test_a_look_that_a_person_came_into_does_not_count(site: Site) -> None:
    await site.ask("click", surface="mcp")
    await site.take()
    await site.ask("look", surface="mcp")
    await site.release()
    with pytest.raises(Conflict):
        await site.ask("click", surface="mcp")


async def test_it_is_remembered_of_so_many_callers_what_they_saw(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CALLERS", 1)
    await site.ask("click", surface="mcp", caller=Caller("one"))
    await site.ask("click", surface="mcp", caller=Caller("two"))
    await site.take()
    await site.release()
    with pytest.raises(Conflict):
        await site.ask("click", surface="mcp", caller=Caller("two"))
    assert await site.ask("click", surface="mcp", caller=Caller("one")) == "clicked"


async def test_a_take_interrupts_what_the_agent_does(site: Site) -> None:
    dragging = asyncio.create_task(site.ask("drag"))
    await site.things.begun.wait()
    await site.take()
    with pytest.raises(HeldByHuman) as refused:
        await dragging
    assert refused.value.details["outcome"] == "unknown"
