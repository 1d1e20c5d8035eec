"""A fleet that is emptied."""

import pytest
from tandem_fleet.errors import DrainingError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired, State

from tests.fleet.answering import Answering
from tests.fleet.engines import MemoryBackend
from tests.fleet.test_fleet import SECONDS, SPEC, ready, told

pytestmark = pytest.mark.anyio


async def test_what_nobody_uses_is_stopped_and_the_rest_runs_on(fleet: Fleet, engine: MemoryBackend, answers: Answering) -> None:
    engine.address = answers.address
    used, paused, silent = [await ready(fleet, name) for name in ("used", "paused", "silent")]
    await told(fleet, "paused", Desired.PAUSED)
    await fleet.drain.set(draining=True)
    assert await fleet.drain.draining()
    answers.answers["GET /v1/idleness"] = (200, {"idle_seconds": 10, "active": []})
    drained = await fleet.drain.stop(60)
    assert ([one.name for one in drained.stopped], {one.name for one in drained.used}) == (["paused"], {"used", "silent"})
    assert (await fleet.settle(paused.id, SECONDS)).state == State.STOPPED
    answers.answers["GET /v1/idleness"] = (500, {})
    assert {one.name for one in (await fleet.drain.stop(60)).used} == {"used", "silent"}
    answers.answers["GET /v1/idleness"] = (200, {"idle_seconds": 100, "active": ["commands"]})
    assert (await fleet.drain.stop(60)).stopped == []
    answers.answers["GET /v1/idleness"] = (200, {"idle_seconds": 100, "active": []})
    assert len((await fleet.drain.stop(60)).stopped) == 2
    for one in (used, silent):
        assert (await fleet.settle(one.id, SECONDS)).state == State.STOPPED
    with pytest.raises(DrainingError):
        await fleet.create("default", SPEC)


async def test_all_are_stopped_where_that_is_asked_for_and_the_fleet_goes_on_afterwards(fleet: Fleet) -> None:
    one = await ready(fleet)
    await fleet.drain.set(draining=True)
    assert [stopped.name for stopped in (await fleet.drain.stop(0)).stopped] == ["work"]
    await fleet.settle(one.id, SECONDS)
    await fleet.drain.set(draining=False)
    assert (await told(fleet, "work", Desired.RUNNING)).state == State.READY
