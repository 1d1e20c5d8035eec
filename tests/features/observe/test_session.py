import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.features.observe import session as module
from sandbox_server.features.observe.session import Observation, ObserveStartRequest
from sandbox_server.features.observe.snapshots import ObservationEvent
from tests.features.observe.conftest import Told
from tests.patience import eventually

pytestmark = pytest.mark.anyio


class Run:
    """A session that runs until it has taken some samples."""

    def __init__(self, directory: Path, sampler: Told, **request: Any) -> None:
        self.events: list[ObservationEvent] = []
        self.sampler = sampler
        asked = ObserveStartRequest.model_validate({"interval_seconds": 0.2} | request)
        self.session = Observation(asked, str(directory), sampler, self.events.append)

    async def until(self, samples: int) -> list[dict[str, Any]]:
        """The lines of its file after so many samples."""
        running = asyncio.create_task(self.session.run())
        await eventually(lambda: self.sampler.taken > samples or running.done())  # one more: then the last is on disk
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return [json.loads(line) for line in Path(self.session.path).read_text("utf-8").splitlines()]


async def test_a_capture_keeps_every_sample_and_the_events_between(tmp_path: Path, sampler: Told) -> None:
    sampler.memory = 99
    run = Run(tmp_path, sampler)
    lines = await run.until(3)
    assert [next(iter(line)) for line in lines][:4] == ["sample", "event", "sample", "sample"]
    assert [event.type for event in run.events] == ["memory_high"]
    assert run.session.last_sample_at


async def test_a_guardrail_keeps_the_last_lines(tmp_path: Path, sampler: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GUARDRAIL_SAMPLES", 2)
    assert len(await Run(tmp_path, sampler, mode="guardrail").until(4)) == 2


async def test_a_session_ends_by_itself(tmp_path: Path, sampler: Told) -> None:
    run = Run(tmp_path, sampler, duration_seconds=1)
    async with asyncio.timeout(30):
        await run.session.run()
    assert sampler.taken >= 1
    assert run.session.ends_at


async def test_a_session_that_has_seen_too_much_says_so_and_ends(tmp_path: Path, sampler: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    run = Run(tmp_path, sampler)
    async with asyncio.timeout(30):
        await run.session.run()
    assert [event.type for event in run.events] == ["capture_full"]


async def test_a_sample_that_cannot_be_kept_is_an_event_and_the_session_goes_on(tmp_path: Path, sampler: Told) -> None:
    run = Run(tmp_path, sampler)
    sampler.broken = True
    running = asyncio.create_task(run.session.run())
    await eventually(lambda: run.events)
    sampler.broken = False
    await eventually(lambda: run.session.has_samples)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert run.events[0].type == "sample_failed"
    run.session.remove()
    assert not run.session.has_samples
