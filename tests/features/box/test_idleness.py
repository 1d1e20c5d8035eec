"""For how long nothing has happened, as whoever runs the container asks."""

import asyncio
from typing import cast

import pytest

from sandbox_server.core.operation import operations
from sandbox_server.features.box.idleness import Idleness, IdlenessReport, Reason
from sandbox_server.features.box.suspension import Suspension
from tests.features.box.conftest import CALL, FakeBox
from tests.features.box.test_suspension import WORK, made

pytestmark = pytest.mark.anyio


def reported(suspension: Suspension, reasons: list[Reason]) -> IdlenessReport:
    return IdlenessReport(suspension, lambda: list(reasons))


async def test_it_grows_while_nothing_happens_and_begins_anew_with_a_request(daemon: FakeBox) -> None:
    suspension = made(daemon)
    report = reported(suspension, [])
    await asyncio.sleep(0.3)
    first = await report.idleness()
    assert first.idle_seconds >= 0.3
    assert first.active == []
    await suspension.guard(WORK, None, CALL, lambda: asyncio.sleep(0))
    assert (await report.idleness()).idle_seconds < first.idle_seconds


async def test_a_request_that_is_being_answered_is_activity(daemon: FakeBox) -> None:
    suspension = made(daemon)
    report = reported(suspension, [])

    async def looked() -> object:
        return await report.idleness()

    seen = cast("Idleness", await suspension.guard(WORK, None, CALL, looked))
    assert (seen.idle_seconds, seen.active) == (0.0, ["requests"])


async def test_what_goes_on_is_named_and_what_came_past_the_api_counts(daemon: FakeBox) -> None:
    reasons: list[Reason] = ["commands", "handoffs"]
    counted = [0]

    async def messages() -> int:
        return counted[0]

    report = reported(made(daemon, messages=messages), reasons)
    seen = await report.idleness()
    assert (seen.idle_seconds, seen.active) == (0.0, ["commands", "handoffs"])
    reasons.clear()
    await asyncio.sleep(0.2)
    assert (await report.idleness()).idle_seconds >= 0.1
    counted[0] = 1
    assert (await report.idleness()).idle_seconds < 0.1


async def test_to_look_is_no_use(daemon: FakeBox) -> None:
    suspension = made(daemon)
    report = reported(suspension, [])
    (looking,) = operations(report)
    await asyncio.sleep(0.2)
    await suspension.guard(looking, None, CALL, report.idleness)
    assert (await report.idleness()).idle_seconds >= 0.2
