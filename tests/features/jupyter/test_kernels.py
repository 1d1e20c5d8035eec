"""Jupyter as a caller sees it, with real kernels."""

from typing import Any

import anyio
import pytest

from sandbox_server.core import Call, Caller, Event, InvalidArgument, NotFound, Reply
from sandbox_server.features.jupyter.execution import JupyterExecuteRequest, JupyterExecuteResponse
from sandbox_server.features.jupyter.follow import EVENTS
from sandbox_server.features.jupyter.kernels import Jupyter, JupyterCreateSessionRequest, JupyterSessionRef
from tests.event_types import assert_declared
from tests.patience import eventually

pytestmark = pytest.mark.anyio


async def run(jupyter: Jupyter, code: str, **fields: Any) -> Reply[JupyterExecuteResponse]:
    with anyio.fail_after(60):
        reply: Reply[JupyterExecuteResponse] = await jupyter.execute_code(JupyterExecuteRequest(code=code, **fields))
    return reply


async def events(jupyter: Jupyter, code: str, resume: str | None = None) -> list[Event]:
    call = Call(Caller("test"), "1", last_event_id=resume)
    with anyio.fail_after(60):
        found = [event async for event in await jupyter.stream_execute(JupyterExecuteRequest(code=code, session_id="s"), call)]
    assert_declared(EVENTS, found)
    return found


async def test_code_without_a_session_goes_on_in_the_one_that_the_answer_names(jupyter: Jupyter) -> None:
    first = (await run(jupyter, "x = 41; print('hi')")).data
    second = (await run(jupyter, "x + 1", session_id=first.session_id)).data

    assert (first.status, first.exit_code, [(output.name, output.text) for output in first.outputs]) == ("ok", 0, [("stdout", "hi\n")])
    assert (second.outputs[0].data, second.session_id, second.execution_count) == ({"text/plain": "42"}, first.session_id, 2)


async def test_what_a_caller_should_know_is_a_hint(jupyter: Jupyter) -> None:
    reply = await run(jupyter, "print('x' * 200_000)", session_id="s")

    assert reply.data.dropped_bytes > 0
    assert "over the limit" in (reply.hint or "")


async def test_outputs_come_as_events_and_a_stream_is_resumed_without_running_again(jupyter: Jupyter) -> None:
    told = await events(jupyter, "print('a', flush=True); 1")
    again = await events(jupyter, "print('not run')", resume=told[1].id)

    assert [event.event for event in told] == ["status", "output", "output", "exit"]
    assert [event.event for event in again] == ["status", "output", "exit"]
    assert again[1] == told[2]
    with pytest.raises(InvalidArgument):
        await events(jupyter, "1", resume="nonsense")


async def test_sessions_are_created_listed_and_deleted(jupyter: Jupyter) -> None:
    with anyio.fail_after(60):
        made = await jupyter.create_session(JupyterCreateSessionRequest(session_id="", kernel_name="python3.12", cwd="/usr"))
        listed = (await jupyter.list_sessions()).sessions
        assert [(session_id, session.kernel_name, session.state) for session_id, session in listed.items()] == [
            (made.session_id, "python3.12", "idle")
        ]
        await jupyter.delete_session(JupyterSessionRef(session_id=made.session_id))
        with pytest.raises(NotFound):
            await jupyter.delete_session(JupyterSessionRef(session_id=made.session_id))
        await jupyter.create_session(JupyterCreateSessionRequest(session_id="a"))
        await jupyter.delete_sessions()
    assert (await jupyter.list_sessions()).sessions == {}


async def test_the_description_names_the_kernels_that_there_are(jupyter: Jupyter) -> None:
    info = await jupyter.get_info()

    assert (info.default_kernel, info.max_sessions, info.session_timeout_seconds) == ("python3", 2, 1800)
    assert "python3.12" in info.available_kernels


async def test_what_runs_can_be_interrupted_and_the_session_stays(jupyter: Jupyter) -> None:
    session = JupyterSessionRef(session_id="s")
    await run(jupyter, "x = 1", session_id="s")
    assert not (await jupyter.interrupt_session(session)).interrupted
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            assert (await run(jupyter, "import time; time.sleep(600)", session_id="s", timeout=300)).data.status == "error"

        group.start_soon(wait)

        async def interrupted() -> bool:
            return bool((await jupyter.interrupt_session(session)).interrupted)

        await eventually(interrupted)
    assert (await run(jupyter, "x", session_id="s")).data.status == "ok"
