"""The lease as it is kept."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.core import Caller, PermissionDenied, Unavailable
from sandbox_server.core.control import ALL_REACHES, Holding
from sandbox_server.core.receipt import Receipt
from sandbox_server.features.control import lease_state_machine as machine
from sandbox_server.features.control.lease_change import LeaseChange
from sandbox_server.features.control.lease_keeper import LeaseKeeper, actor_of
from sandbox_server.features.control.lease_listeners import LeaseListeners
from sandbox_server.features.control.lease_state_machine import Lease, LeaseTimes
from tests.controls import driving
from tests.patience import PATIENCE_SECONDS, eventually
from tests.threads import Held, left_in_the_middle

pytestmark = pytest.mark.anyio

ANN, BOB, AGENT = Caller("ann", person=True), Caller("bob", person=True), Caller("agent")
QUICK = LeaseTimes(idle=0.2, countdown=0.1, cap=60, lost=0.05, request=0.05)


class ManualClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def turn(self, found: LeaseKeeper, now: float) -> None:
        """Set it; somebody who comes and goes has the lease look at it."""
        self.now = now
        with found.watching(Caller("passer-by", person=True)):
            pass


async def take(found: LeaseKeeper, caller: Caller = ANN) -> None:
    viewing = found.is_viewing(caller.name)
    await found.change(
        "taken", actor_of(caller), lambda lease, now: machine.take(lease, actor_of(caller), ALL_REACHES, now, viewing=viewing)
    )


async def release(found: LeaseKeeper, caller: Caller = ANN) -> None:
    await found.change("released", actor_of(caller), lambda lease, now: machine.release(lease, actor_of(caller), now))


async def becomes(found: LeaseKeeper, state: str) -> None:
    assert await found.until(lambda holding: holding.state == state, PATIENCE_SECONDS), found.lease


async def until_news(events: AsyncIterator[LeaseChange], kind: str) -> LeaseChange:
    """The next news of a kind."""
    while (news := await next_of(events)).kind != kind:
        pass
    return news


async def next_of(events: AsyncIterator[LeaseChange]) -> LeaseChange:
    async with asyncio.timeout(30):
        return await anext(events)


async def test_a_persons_first_input_takes_the_screen_and_its_pages(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        assert await found.drive(ANN, "gui")
        assert found.holding == Holding(2, "human", "ann", frozenset({"gui", "cdp"}))
        assert await found.drive(ANN, "shell")
        assert found.holding.reach == ALL_REACHES
        assert not await found.drive(BOB, "gui")
        assert not await found.drive(AGENT, "gui")
        assert found.holding.holder == "ann"


async def test_input_takes_nothing_where_a_button_is_asked_for(tmp_path: Path) -> None:
    async with driving(tmp_path, policy="click") as found:
        assert not await found.drive(ANN, "gui")
        assert found.holding.state == "agent"
        await take(found)
        assert await found.drive(ANN, "gui")


async def test_where_it_is_to_be_asked_for_input_asks_once_and_gets_it_when_nobody_answers(tmp_path: Path) -> None:
    hands = ManualClock()
    async with driving(tmp_path, policy="ask", clock=hands) as found:
        assert not await found.drive(ANN, "gui")
        [asked] = found.lease.requests
        assert not await found.drive(ANN, "gui")
        assert found.lease.requests == (asked,)
        hands.turn(found, LeaseTimes().request)
        await becomes(found, "human")
        assert await found.drive(ANN, "gui")
        assert await found.drive(ANN, "shell"), "who drives need not ask for more"


async def test_a_program_drives_while_nobody_holds_it(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        assert await found.drive(AGENT, "gui")
        assert found.holding.epoch == 1


async def test_a_take_counts_when_everything_has_followed_in_order(tmp_path: Path) -> None:
    passed: list[str] = []

    async def first(holding: Holding) -> None:
        await asyncio.sleep(0)
        passed.append(f"first {holding.state}")

    async def second(holding: Holding) -> None:
        assert json.loads((tmp_path / "control.json").read_text())["state"] == holding.state, "on disk by then"
        passed.append(f"second {holding.state}")

    async with driving(tmp_path, first, second) as found:
        await found.drive(ANN, "gui")
        assert passed[-2:] == ["first human", "second human"]


async def test_input_that_comes_while_a_take_is_being_made_waits_for_it(tmp_path: Path) -> None:
    stopped = asyncio.Event()

    async def stop(holding: Holding) -> None:
        if holding.state == "human":
            await stopped.wait()

    async with driving(tmp_path, stop) as found:
        inputs = [asyncio.create_task(found.drive(ANN, "gui")) for _ in range(3)]
        while found.holding.state == "agent":  # noqa: ASYNC110 - what is waited for is the loop's next round
            await asyncio.sleep(0)
        assert not any(each.done() for each in inputs)
        stopped.set()
        assert await asyncio.gather(*inputs) == [True] * 3


async def test_what_does_not_follow_does_not_keep_a_person_from_taking(tmp_path: Path) -> None:
    async def broken(_: Holding) -> None:
        raise Unavailable("it is down")

    async with driving(tmp_path, broken) as found:
        assert await found.drive(ANN, "gui")


async def test_what_is_not_there_yet_at_the_start_is_no_reason_to_warn_and_later_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    passed: list[int] = []

    async def absent(holding: Holding) -> None:
        passed.append(holding.epoch)
        raise Unavailable("the browser is not there yet")

    async with driving(tmp_path, absent) as found:
        await eventually(lambda: passed)
        assert not [record for record in caplog.records if record.levelname == "WARNING"]
        await take(found)

    assert "not everything followed: the browser is not there yet" in caplog.text


async def test_control_returns_when_the_last_viewer_is_gone(tmp_path: Path) -> None:
    async with driving(tmp_path, times=LeaseTimes(lost=0.05)) as found:
        with found.watching(ANN):
            with found.watching(ANN):
                await found.drive(ANN, "gui")
            assert found.lease.gone is None
        assert found.lease.gone is not None
        await becomes(found, "agent")


async def test_who_comes_back_in_time_keeps_it(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        with found.watching(ANN):
            await take(found)
        assert found.remaining(found.lease) is not None
        with found.watching(ANN):
            assert found.lease.gone is None
            assert [each.name for each in found.viewers] == ["ann"]


async def test_a_program_is_no_viewer(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        with found.watching(AGENT):
            assert found.viewers == []


async def test_the_holder_is_warned_and_input_calls_that_off(tmp_path: Path) -> None:
    hands = ManualClock()
    async with driving(tmp_path, times=LeaseTimes(idle=1000, countdown=100), clock=hands) as found:
        with found.watching(ANN):
            events = found.news(None)
            await until_news(events, "state")
            await take(found)
            hands.turn(found, 950)
            await until_news(events, "countdown")
            assert found.remaining(found.lease) == (50, "idle")
            await found.drive(ANN, "gui")
            await until_news(events, "renewed")
            hands.turn(found, 1949)
            assert (await until_news(events, "countdown")).lease.holding.holder == "ann"
            hands.turn(found, 1950)
            assert (await until_news(events, "returned:idle")).lease.state == "agent"


async def test_control_that_nobody_gives_back_returns(tmp_path: Path) -> None:
    async with driving(tmp_path, times=QUICK) as found:
        await take(found)
        await becomes(found, "agent")


async def test_news_begin_with_the_state_and_can_be_resumed(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        events = found.news(None)
        first = await next_of(events)
        assert (first.kind, first.lease.state) == ("state", "agent")
        await take(found)
        taken = await until_news(events, "taken")
        assert (taken.by, taken.lease.state) == ("ann", "human")
        await release(found)
        assert (await until_news(found.news(taken.id), "released")).lease.state == "agent"
        assert (await next_of(found.news("another-life"))).kind == "state"


async def test_a_wait_for_control_ends_either_way(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        await take(found)
        waiting = asyncio.create_task(found.until(lambda holding: holding.admits(AGENT, "gui"), PATIENCE_SECONDS))
        assert not await found.until(lambda holding: holding.admits(AGENT, "gui"), 0.01)
        await release(found)
        assert await waiting


async def test_a_refusal_changes_nothing(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        with pytest.raises(PermissionDenied):
            await take(found, AGENT)
        assert found.holding == Holding()


async def test_a_lease_outlives_the_process_and_its_epoch_never_falls(tmp_path: Path) -> None:
    hands = ManualClock()
    async with driving(tmp_path) as found:
        await take(found)
    async with driving(tmp_path, clock=hands) as again:
        assert again.holding == Holding(2, "human", "ann", ALL_REACHES)
        hands.turn(again, LeaseTimes().lost)
        await becomes(again, "agent")
        await take(again)
        assert again.holding.epoch == 4


@pytest.mark.parametrize("text", ["", "[]", '{"epoch": 3}', "null"])
async def test_a_file_that_makes_no_sense_leaves_control_with_the_agent(tmp_path: Path, text: str) -> None:
    (tmp_path / "control.json").write_text(text)
    assert driving(tmp_path).holding == Holding()


async def test_a_receipt_is_told_and_stays_until_a_person_drives_again(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        events = found.news(None)
        await anext(events)
        receipt = Receipt(id="1", person="ann", began_at=1.0, ended_at=2.0, ended="released")
        found.take_receipt(receipt)
        assert (await until_news(events, "receipt")).person
        assert found.receipt == receipt
        found.take_receipt(None)
        assert found.receipt is None


async def test_what_somebody_says_who_lets_go_comes_with_the_news(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        await take(found)
        events = found.news(None)
        await anext(events)
        await found.change("released", actor_of(ANN), lambda lease, now: machine.release(lease, actor_of(ANN), now), "all good")
        assert (await until_news(events, "released")).note == "all good"


@pytest.mark.parametrize("hangs", [False, True])
async def test_what_was_private_is_closed_when_its_time_is_over_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, hangs: bool
) -> None:
    monkeypatch.setattr("sandbox_server.features.control.lease_keeper.CLOSE_SECONDS", 0.1)
    seen: list[str | None] = []

    async def close() -> None:
        seen.append(found.holding.private)
        if hangs:
            await asyncio.Event().wait()
        raise Unavailable("it restarts")

    async with driving(tmp_path, times=QUICK, listeners=LeaseListeners((close,))) as found:
        found.hide_when(lambda person: person == "ann")  # from the take on: its time may be over before another call
        await take(found)
        await becomes(found, "agent")
        assert (seen, found.holding.private) == (["ann"], None)


async def test_privacy_whose_time_is_over_in_the_middle_of_a_change_is_closed_by_the_next_one(tmp_path: Path) -> None:
    seen: list[str | None] = []
    clock, over = ManualClock(), LeaseTimes().lost

    async def close() -> None:
        seen.append(found.holding.private)

    def tick(lease: Lease, now: float) -> Lease:
        clock.now = over  # the clock goes on while a change looks at the lease
        return machine.tick(lease, now, LeaseTimes())

    async with driving(tmp_path, clock=clock, listeners=LeaseListeners((close,))) as found:
        found.hide_when(lambda person: person == "ann")
        await take(found)
        clock.now = over - 0.001
        await found.change("answered", actor_of(AGENT), tick)
        assert (seen, found.holding.private) == ([], "ann")
        await found.change("answered", actor_of(AGENT), tick)
        assert (seen, found.holding.private, found.holding.state) == (["ann"], None, "agent")


async def test_who_leaves_while_the_lease_is_written_lets_nobody_write_beside_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with driving(tmp_path) as found:
        await eventually((tmp_path / "control.json").exists)  # as it is at the start
        held = Held(found._file.write)
        monkeypatch.setattr(found._file, "write", held)
        await left_in_the_middle(take(found), release(found), held)
        assert json.loads((tmp_path / "control.json").read_text())["state"] == "agent"
