import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.core import Conflict, NotFound
from sandbox_server.features.observe.observe import (
    KEPT_SESSIONS,
    Observe,
    ObserveExportRequest,
    ObserveLiveRequest,
    ObserveStopRequest,
    ReportRef,
)
from sandbox_server.features.observe.session import ObserveStartRequest
from tests.features.observe.conftest import Told
from tests.patience import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
async def observe(tmp_path: Path, sampler: Told) -> AsyncIterator[Observe]:
    async with Observe(f"{tmp_path}/observe", (), sampler) as feature:
        yield feature


async def seen(directory: Path, session_id: str) -> None:
    """Wait until something that a session saw is on disk."""
    await eventually((directory / f"observe/{session_id}.jsonl").exists)


async def captured(observe: Observe, directory: Path) -> str:
    """Start a session, see something, stop it."""
    started: str = (await observe.observe_start(ObserveStartRequest())).session_id
    await seen(directory, started)
    assert (await observe.observe_stop(ObserveStopRequest(session_id=started))).report_ready
    return started


async def test_a_session_is_started_seen_stopped_and_exported(observe: Observe, tmp_path: Path) -> None:
    started = await observe.observe_start(ObserveStartRequest(mode="guardrail"))
    await seen(tmp_path, started.session_id)
    status = await observe.observe_status()
    assert (status.running, status.mode, status.session_id) == (True, "guardrail", started.session_id)
    report = (await observe.observe_export(ObserveExportRequest())).report_id
    stopped = await observe.observe_stop(ObserveStopRequest())
    assert (stopped.stopped, stopped.report_ready) == (True, True)
    blob = await observe.observe_report_download(ReportRef(report_id=report))
    assert json.loads(gzip.decompress(blob.body).splitlines()[0])["session"]["session_id"] == started.session_id
    assert (await observe.observe_status()).model_dump()["mode"] == "off"


async def test_one_session_runs_at_a_time_and_a_key_gives_the_same_one(observe: Observe) -> None:
    started = await observe.observe_start(ObserveStartRequest(idempotency_key="k"))
    assert await observe.observe_start(ObserveStartRequest(idempotency_key="k")) == started
    with pytest.raises(Conflict, match=started.session_id):
        await observe.observe_start(ObserveStartRequest(idempotency_key="other"))


async def test_a_key_gives_the_same_report_until_it_is_deleted(observe: Observe, tmp_path: Path) -> None:
    await captured(observe, tmp_path)
    first = await observe.observe_export(ObserveExportRequest(idempotency_key="k"))
    assert await observe.observe_export(ObserveExportRequest(idempotency_key="k")) == first
    await observe.observe_report_delete(ReportRef(report_id=first.report_id))
    assert (await observe.observe_export(ObserveExportRequest(idempotency_key="k"))).report_id != first.report_id


async def test_what_is_not_there_is_named(observe: Observe) -> None:
    for call in (observe.observe_stop(ObserveStopRequest()), observe.observe_export(ObserveExportRequest())):
        with pytest.raises(NotFound, match="no session"):
            await call
    with pytest.raises(NotFound, match="'gone'"):
        await observe.observe_stop(ObserveStopRequest(session_id="gone"))
    with pytest.raises(NotFound, match="'gone'"):
        await observe.observe_report_download(ReportRef(report_id="gone"))


async def test_stopping_twice_says_that_it_had_ended(observe: Observe, tmp_path: Path) -> None:
    session_id = await captured(observe, tmp_path)
    assert not (await observe.observe_stop(ObserveStopRequest(session_id=session_id))).stopped


async def test_the_oldest_sessions_are_forgotten(observe: Observe, tmp_path: Path) -> None:
    sessions = [await captured(observe, tmp_path) for _ in range(KEPT_SESSIONS + 2)]
    with pytest.raises(NotFound, match=sessions[0]):
        await observe.observe_export(ObserveExportRequest(session_id=sessions[0]))
    assert (await observe.observe_export(ObserveExportRequest(session_id=sessions[1]))).session_id == sessions[1]


async def test_a_live_look_shows_the_events_of_the_session(observe: Observe, sampler: Told, tmp_path: Path) -> None:
    sampler.memory = 97
    started = await observe.observe_start(ObserveStartRequest())
    await seen(tmp_path, started.session_id)
    live = await observe.observe_live(ObserveLiveRequest())
    assert (live.mode, [event.type for event in live.recent_events]) == ("capture", ["memory_high"])


async def test_what_sessions_of_an_earlier_server_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "left.jsonl").touch()
    async with Observe(str(tmp_path), ()):
        assert not (tmp_path / "left.jsonl").exists()
