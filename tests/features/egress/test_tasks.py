import asyncio
from pathlib import Path

import pytest

from sandbox_server.core import NotFound, ResourceExhausted, Unavailable
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.egress import tasks as tasks_module
from sandbox_server.features.egress.tasks import CALLED_SECONDS, RunningTasks, TaskAnnouncer
from tests.egress.conftest import EgressLab
from tests.patience import PATIENCE_SECONDS, eventually
from tests.threads import Held, Overtaken, left_in_the_middle

pytestmark = pytest.mark.anyio


class Clock:
    """A time that is set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tasks(tmp_path: Path, clock: Clock) -> RunningTasks:
    return RunningTasks(JsonFile(str(tmp_path / "tasks.json")), clock)


def running(tasks: RunningTasks) -> dict[str, float]:
    return {each.task: each.until for each in tasks.running()}


async def test_a_task_runs_while_its_token_calls_and_a_while_longer(tasks: RunningTasks, clock: Clock) -> None:
    tasks.called("agent", "t1", None)
    assert running(tasks) == {"t1": 1000 + CALLED_SECONDS}
    clock.now += CALLED_SECONDS - 1
    tasks.called("agent", "t1", None)
    clock.now += 2
    assert "t1" in running(tasks)
    assert tasks.of("agent") == "t1"
    clock.now += CALLED_SECONDS
    assert running(tasks) == {}
    assert tasks.of("agent") is None
    assert tasks.of("other") is None


async def test_a_task_runs_no_longer_than_its_token(tasks: RunningTasks) -> None:
    tasks.called("agent", "t1", 1100)
    assert running(tasks) == {"t1": 1100}


async def test_a_task_is_leased_ended_and_kept(tasks: RunningTasks, clock: Clock, tmp_path: Path) -> None:
    assert (await tasks.lease("t1", 60)).until == 1060
    again = RunningTasks(JsonFile(str(tmp_path / "tasks.json")), clock)
    assert running(again) == {"t1": 1060}
    await tasks.end("t1")
    with pytest.raises(NotFound):
        await tasks.end("t1")
    assert running(RunningTasks(JsonFile(str(tmp_path / "tasks.json")), clock)) == {}


async def test_an_ended_task_comes_back_by_no_call_but_by_a_lease(tasks: RunningTasks, clock: Clock, tmp_path: Path) -> None:
    tasks.called("agent", "t1", None)
    await tasks.end("t1")
    again = RunningTasks(JsonFile(str(tmp_path / "tasks.json")), clock)
    for each in (tasks, again):
        each.called("agent", "t1", None)
        assert (running(each), each.of("agent")) == ({}, None)
    await again.lease("t1", 60)
    again.called("agent", "t1", None)
    assert running(again) == {"t1": 1000 + CALLED_SECONDS}


async def test_only_the_last_ended_tasks_are_remembered(tasks: RunningTasks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks_module, "MAX_ENDED", 1)
    for task in ("t1", "t2"):
        await tasks.lease(task, 60)
        await tasks.end(task)
    for task in ("t1", "t2"):
        tasks.called("agent", task, None)
    assert list(running(tasks)) == ["t1"]


async def test_there_is_a_limit(tasks: RunningTasks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks_module, "MAX_TASKS", 1)
    await tasks.lease("t1", 60)
    with pytest.raises(ResourceExhausted):
        await tasks.lease("t2", 60)
    tasks.called("agent", "t2", None)
    assert list(running(tasks)) == ["t1"]


@pytest.mark.parametrize("kept", ["x", "[]", '{"t1": "x"}', "[5]"])
def test_a_file_that_holds_no_tasks_runs_none(tmp_path: Path, kept: str) -> None:
    (tmp_path / "t.json").write_text(kept)
    assert RunningTasks(JsonFile(str(tmp_path / "t.json"))).running() == []


async def test_a_task_that_cannot_be_kept_runs_and_says_so(clock: Clock) -> None:
    tasks = RunningTasks(JsonFile("/proc/none/t.json"), clock)
    with pytest.raises(Unavailable, match="cannot be kept"):
        await tasks.lease("t1", 60)
    assert running(tasks)


async def test_the_process_hears_of_every_beginning_and_end(lab: EgressLab, client: EgressClient, tmp_path: Path) -> None:
    tasks = RunningTasks(JsonFile(str(tmp_path / "tasks.json")))
    async with TaskAnnouncer(tasks, client) as announcer:
        await tasks.lease("t1", 60)
        await eventually(lambda: lab.server.policy.tasks == {"t1"})
        await tasks.lease("t2", 1.0)
        await eventually(lambda: lab.server.policy.tasks == {"t1", "t2"})
        await eventually(lambda: lab.server.policy.tasks == {"t1"})
        lab.server.policy.run_tasks([])
        await announcer.give()
        assert lab.server.policy.tasks == {"t1"}


async def test_a_process_that_is_away_is_no_reason_to_stop(tmp_path: Path) -> None:
    tasks = RunningTasks(JsonFile(str(tmp_path / "tasks.json")))
    async with TaskAnnouncer(tasks, EgressClient(str(tmp_path / "none"))) as announcer:
        await tasks.lease("t1", 60)
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await announcer.give()


async def test_an_end_that_comes_while_a_lease_is_kept_is_kept_after_it(
    tasks: RunningTasks, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Overtaken(tasks._file.write)
    monkeypatch.setattr(tasks._file, "write", write)
    monkeypatch.setattr(tasks, "_keeping", write.loop_lock(), raising=False)
    leased = asyncio.create_task(tasks.lease("t1", 60))
    assert await asyncio.to_thread(write.begun.wait, PATIENCE_SECONDS)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await tasks.end("t1")
        await leased
    assert running(RunningTasks(JsonFile(str(tmp_path / "tasks.json")), clock)) == {}


async def test_who_leaves_while_a_task_is_kept_lets_nobody_write_beside_that(
    tasks: RunningTasks, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(tasks._file.write)
    monkeypatch.setattr(tasks._file, "write", held)
    await left_in_the_middle(tasks.lease("t1", 60), tasks.end("t1"), held)
    assert running(RunningTasks(JsonFile(str(tmp_path / "tasks.json")), clock)) == {}
