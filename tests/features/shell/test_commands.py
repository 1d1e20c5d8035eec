"""Commands in sessions: what they answer, and what their streams give."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from sandbox_server.core import Call, Caller, Event, InvalidArgument, NotFound
from sandbox_server.core.caller_presence import CallerLeft
from sandbox_server.features.shell.commands import ExecuteBashRequest, ShellExecRequest
from sandbox_server.features.shell.processes import ShellWriteToProcessRequest
from tests.features.shell.conftest import CALL, Runner, Server, Shell
from tests.patience import eventually

pytestmark = pytest.mark.anyio


def call(last_event_id: str | None = None) -> Call:
    return Call(Caller("agent"), "request", base_url="http://here:8080", last_event_id=last_event_id)


async def stream(shell: Shell, last_event_id: str | None = None, **request: object) -> AsyncIterator[Event]:
    events: AsyncIterator[Event] = await shell.commands.stream_exec(ShellExecRequest.model_validate(request), call(last_event_id))
    return events


async def collect(events: AsyncIterator[Event]) -> list[Event]:
    async with asyncio.timeout(30):
        return [event async for event in events]


def text(events: list[Event]) -> str:
    return "".join(data(event)["output"] for event in events if event.event == "output")


def data(event: Event) -> dict[str, Any]:
    assert isinstance(event.data, dict)
    return event.data


async def test_a_result_has_the_prompt_and_the_command_of_its_console(run: Runner) -> None:
    result = await run("cd /usr; echo hi")
    after = await run("true")

    assert result.console
    assert after.console
    assert (result.console[0].command, result.console[0].output) == ("cd /usr; echo hi", "hi\n")
    assert after.console[0].ps1.endswith("/usr$ ")


async def test_a_tool_that_takes_longer_says_where_to_look(shell: Shell) -> None:
    await shell.commands.execute_bash(ExecuteBashRequest(cmd="true"), CALL)  # the time to open a shell is the call's, too
    reply = await shell.commands.execute_bash(ExecuteBashRequest(cmd="echo begun; sleep 60", timeout=2), CALL)

    assert (reply.data.status, reply.data.output) == ("running", "begun\n")
    assert "still runs" in (reply.hint or "")
    with pytest.raises(InvalidArgument, match="/nowhere"):
        await shell.commands.execute_bash(ExecuteBashRequest(cmd="true", cwd="/nowhere"), CALL)


async def test_a_stream_gives_status_output_and_exit(shell: Shell) -> None:
    events = await collect(await stream(shell, command="echo one; echo two; sh -c 'exit 3'"))

    assert [events[0].event, events[-1].event] == ["status", "exit"]
    assert text(events) == "one\ntwo\n"
    assert (data(events[-1])["status"], data(events[-1])["exit_code"]) == ("completed", 3)
    assert [data(event)["seq"] for event in events] == sorted(data(event)["seq"] for event in events)


async def test_a_stream_comes_while_the_command_runs(run: Runner) -> None:
    async with asyncio.timeout(30):
        events = await stream(run.shell, id=run.id, command="echo asked; read x; echo got $x")
        seen: list[Event] = []
        answered = False
        async for event in events:
            seen.append(event)
            if "asked" in text(seen) and not answered:
                answered = True
                await run.shell.processes.write_to_process(ShellWriteToProcessRequest(id=run.id, input="it", press_enter=True))

    assert text(seen) == "asked\nit\ngot it\n"


async def test_a_stream_is_resumed_after_the_last_event_and_the_command_runs_once(shell: Shell, server: Server) -> None:
    request = {"id": "s", "command": "echo ran >>ran; for i in 1 2 3 4 5; do echo $i; sleep 0.1; done"}
    first: list[Event] = []
    async with asyncio.timeout(30):
        async for event in await stream(shell, **request):
            first.append(event)
            if event.event == "output":
                break
        rest = await collect(await stream(shell, first[-1].id, **request))

    assert text(first) + text(rest) == "1\n2\n3\n4\n5\n"
    assert rest[-1].event == "exit"
    assert (server.home / "ran").read_text() == "ran\n"


async def test_a_stream_says_which_bytes_are_no_longer_kept(shell: Shell) -> None:
    events = await collect(await stream(shell, command="seq 1 1000000 | cat", async_mode=False))
    session, token, _ = str(events[0].id).split("/")
    again = await collect(await stream(shell, f"{session}/{token}/{600 << 10}", command="true"))
    gaps = [event for event in again if event.event == "gap"]

    assert len(gaps) == 1
    assert data(gaps[0])["bytes"] == data(gaps[0])["to"] - data(gaps[0])["from"] > 0
    assert text(again).endswith("999999\n1000000\n")


async def test_a_stream_ends_with_the_status_when_its_time_is_over(shell: Shell) -> None:
    soft = await collect(await stream(shell, id="a", command="echo begun; sleep 60", timeout=1))
    silent = await collect(await stream(shell, id="b", command="echo begun; sleep 60", no_change_timeout=1))

    assert (soft[-1].event, data(soft[-1])["status"]) == ("status", "running")
    assert (silent[-1].event, data(silent[-1])["status"]) == ("status", "no_change_timeout")
    assert text(soft) == text(silent) == "begun\n"


@pytest.mark.parametrize(("last_event_id", "failure"), [("x", InvalidArgument), ("gone/x/0", NotFound), ("s/unknown/0", NotFound)])
async def test_a_stream_that_cannot_be_resumed_runs_nothing(
    shell: Shell, server: Server, last_event_id: str, failure: type[Exception]
) -> None:
    await Runner(shell, "s")("true")
    with pytest.raises(failure):
        await stream(shell, last_event_id, id="s", command="touch ran")

    assert not (server.home / "ran").exists()


async def test_a_command_is_stopped_when_a_caller_who_asked_for_it_disconnects(shell: Shell) -> None:
    left = asyncio.Event()

    async def disconnected() -> None:
        await left.wait()

    leaving = replace(CALL, disconnected=disconnected, ends_with_caller=True)
    running = asyncio.create_task(shell.commands.execute_bash(ExecuteBashRequest(cmd="sleep 1234", timeout=60), leaving))
    await eventually(lambda: busy(shell))
    left.set()

    with pytest.raises(CallerLeft):
        await running
    assert not await busy(shell)


async def busy(shell: Shell) -> bool:
    return any(session.status == "running" for session in (await shell.listed()).values())
