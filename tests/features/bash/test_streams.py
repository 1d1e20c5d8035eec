"""Streams of bash as a caller sees them, with real processes."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from sandbox_server.core import Call, Caller, Conflict, Event, InvalidArgument, NotFound
from sandbox_server.features.bash.commands import Bash, BashExecRequest, BashWriteRequest
from sandbox_server.features.bash.follow import EVENTS
from sandbox_server.features.bash.output import BashOutputRequest
from sandbox_server.features.bash.session import BashSessionCreateRequest
from tests.event_types import assert_declared
from tests.features.bash.asking import begin

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio


async def collect(events: AsyncIterator[Event]) -> list[Any]:
    with anyio.fail_after(30):
        found = [event async for event in events]
    assert_declared(EVENTS, found)
    return found


def call(last_event_id: str | None = None) -> Call:
    return Call(Caller("test"), "request", last_event_id=last_event_id)


async def test_a_stream_gives_the_output_as_events_and_then_the_exit(bash: Bash) -> None:
    events = await collect(await bash.stream_exec(BashExecRequest(command="echo out; echo err >&2; exit 3"), call()))
    first, *output, last = events
    assert (first.event, first.data["status"]) == ("status", "running")
    assert {event.data["stream"]: event.data["data"] for event in output} == {"stdout": "out\n", "stderr": "err\n"}
    assert (last.event, last.data["status"], last.data["exit_code"]) == ("exit", "completed", 3)
    assert (last.data["offset"], last.data["stderr_offset"], last.data["seq"]) == (4, 4, 8)
    assert [event.data["seq"] for event in output] == [4, 8]


async def test_a_stream_resumes_after_any_event_and_runs_nothing_twice(bash: Bash, spawner: "SpawnerDaemon") -> None:
    request = BashExecRequest(command="echo x >> ran; for i in $(seq 50); do echo line $i; echo error $i >&2; sleep 0.001; done")
    events = await collect(await bash.stream_exec(request, call()))
    whole = {name: "".join(e.data["data"] for e in events if e.data.get("stream") == name) for name in ("stdout", "stderr")}
    assert whole["stdout"] == "".join(f"line {number}\n" for number in range(1, 51))
    for position, seen in enumerate(events):
        rest = await collect(await bash.stream_exec(request, call(seen.id)))
        both = events[: position + 1] + rest
        assert {name: "".join(e.data["data"] for e in both if e.data.get("stream") == name) for name in whole} == whole
        assert rest[-1].event == "exit"
    assert (spawner.workspace / "ran").read_text() == "x\n"


async def test_the_output_of_a_running_command_can_be_streamed_from_an_offset(bash: Bash) -> None:
    begun = await begin(bash, "echo 0123456789; read; echo more")
    stream = asyncio.create_task(collect(await bash.stream_output(BashOutputRequest(session_id=begun.session_id, offset=5), call())))
    await bash.write(BashWriteRequest(session_id=begun.session_id, input="\n"))
    events = await stream
    assert "".join(event.data["data"] for event in events if event.event == "output") == "56789\nmore\n"


async def test_a_reader_who_leaves_a_stream_leaves_the_command_running(bash: Bash) -> None:
    request = BashExecRequest(command="echo one; read; echo two")
    stream = await bash.stream_exec(request, call())
    seen = [await anext(stream), await anext(stream)]
    await stream.aclose()
    await bash.write(BashWriteRequest(session_id=seen[0].data["session_id"], input="\n"))
    rest = await collect(await bash.stream_exec(request, call(seen[-1].id)))
    assert [event.data["data"] for event in (*seen, *rest) if event.event == "output"] == ["one\n", "two\n"]


async def test_a_stream_ends_with_running_after_a_soft_timeout(bash: Bash) -> None:
    events = await collect(await bash.stream_exec(BashExecRequest(command="echo one; sleep 60", timeout=2), call()))
    assert [event.event for event in events] == ["status", "output", "status"]
    assert events[-1].data["status"] == "running"


async def test_a_stream_that_cannot_begin_fails_before_its_first_event(bash: Bash) -> None:
    with pytest.raises(InvalidArgument):
        await bash.stream_exec(BashExecRequest(command="true", exec_dir="/no/such"), call())
    with pytest.raises(InvalidArgument, match="Last-Event-ID"):
        await bash.stream_exec(BashExecRequest(command="true"), call("nonsense"))
    with pytest.raises(NotFound, match="Session not found"):
        await bash.stream_exec(BashExecRequest(command="true"), call("a/b/0/0"))
    session = await bash.create_session(BashSessionCreateRequest())
    with pytest.raises(Conflict, match="no command"):
        await bash.stream_output(BashOutputRequest(session_id=session.session_id), call())
