"""The service `process.Process` of envd, on a sandbox's bash sessions.

Each process has a session that is named after its pid, a number that the fleet chooses. So the sandbox knows which there are.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from tandem_fleet.e2b import terminal_program
from tandem_fleet.e2b.command_text import CommandText
from tandem_fleet.e2b.connect_protocol import ClientStream, Method, RPCError, ServerStream, Unary, timeout_of
from tandem_fleet.e2b.context import Context
from tandem_fleet.e2b.messages import Empty, Message
from tandem_fleet.e2b.process_messages import (
    Ended,
    Event,
    EventResponse,
    Input,
    ListResponse,
    Output,
    ProcessConfig,
    ProcessInfo,
    ProcessRequest,
    Selector,
    SendInputRequest,
    SendSignalRequest,
    Started,
    StartRequest,
    StreamInputRequest,
    UpdateRequest,
)
from tandem_fleet.e2b.sandbox_calls import SandboxCalls
from tandem_fleet.e2b.streams import with_keepalives

SESSION = "e2b."
"""How the names of the sessions begin."""
TERMINALS = 1 << 30
"""Pids from here on are processes with a terminal."""
INPUT_PIECE = 256 << 10
INPUT_SECONDS = 30.0
"""How long input may wait until a process reads what it was sent before."""
FROM_NOW_ON = 1 << 62
"""An offset behind all output."""
KEEPALIVE = EventResponse(event=Event(keepalive={}))
_SIGNALS = {9: "SIGKILL", 15: "SIGTERM"}
_SAID = {
    "SIGKILL": "killed",
    "SIGTERM": "terminated",
    "SIGINT": "interrupt",
    "SIGHUP": "hangup",
    "SIGSEGV": "segmentation fault",
    "SIGABRT": "aborted",
}


async def start(context: Context, request: StartRequest) -> AsyncIterator[Message]:
    """Start a process, and stream what it writes until it ends. It goes on when the caller leaves."""
    if not request.process.cmd:
        raise RPCError("invalid_argument", "process.cmd is empty")
    program = (request.process.cmd, *request.process.args)
    if request.pty:
        program = terminal_program.argv(request.pty.size.rows, request.pty.size.cols, program)
    directory = await context.resolve(request.process.cwd or "")
    root_in = directory if context.root else None
    text = CommandText(program, request.tag, root_in, takes_input=request.stdin or request.pty is not None)
    session = await _new_session(context.calls, terminal=request.pty is not None)
    fields = {
        "command": str(text),
        "session_id": session,
        "exec_dir": "/" if context.root else directory,
        "env": {**context.environment, **request.process.envs},
        "hard_timeout": timeout_of(context.request),
    }
    async for message in _followed(context, session, "/v1/bash/exec", fields):
        yield message


async def connect(context: Context, request: ProcessRequest) -> AsyncIterator[Message]:
    """Stream what a process writes from now on, until it ends."""
    session = await _find(context.calls, request.process)
    fields = {"session_id": session, "offset": FROM_NOW_ON, "stderr_offset": FROM_NOW_ON}
    async for message in _followed(context, session, "/v1/bash/output", fields):
        yield message


async def list_processes(context: Context, _: Empty) -> ListResponse:
    """What runs."""
    return ListResponse(processes=tuple(await _processes(context.calls)))


async def update(context: Context, request: UpdateRequest) -> Empty:
    """Change the size of a process's terminal."""
    session = await _find(context.calls, request.process)
    if request.pty:
        _require_terminal(session, wanted=True)
        await _write(context.calls, session, terminal_program.size_frame(request.pty.size.rows, request.pty.size.cols))
    return Empty()


async def send_input(context: Context, request: SendInputRequest) -> Empty:
    """Give a process something to read."""
    await _feed(context.calls, await _find(context.calls, request.process), request.input)
    return Empty()


async def stream_input(context: Context, messages: AsyncIterator[StreamInputRequest]) -> Empty:
    """Give a process something to read, piece by piece in order."""
    session = ""
    async with aclosing(messages):  # type: ignore[type-var] # a generator
        async for message in messages:
            if message.start:
                session = await _find(context.calls, message.start.process)
            elif message.data:
                if not session:
                    raise RPCError("invalid_argument", "the first message names the process")
                await _feed(context.calls, session, message.data.input)
    return Empty()


async def close_stdin(context: Context, request: ProcessRequest) -> Empty:
    """End what a process can read."""
    session = await _find(context.calls, request.process)
    _require_terminal(session, wanted=False)
    await context.calls.call("POST", "/v1/bash/write", {"session_id": session, "input": "", "eof": True})
    return Empty()


async def send_signal(context: Context, request: SendSignalRequest) -> Empty:
    """Signal a process and those that it started."""
    if request.signal not in _SIGNALS:
        raise RPCError("invalid_argument", "there are SIGNAL_SIGTERM and SIGNAL_SIGKILL")
    session = await _find(context.calls, request.process)
    command = await context.calls.call("POST", "/v1/bash/output", {"session_id": session, "offset": FROM_NOW_ON})
    if ((command or {}).get("command") or {}).get("status") != "running":
        raise RPCError("not_found", f"process {session.removeprefix(SESSION)} does not run")
    await context.calls.call("POST", "/v1/bash/kill", {"session_id": session, "signal": _SIGNALS[request.signal]})
    return Empty()


METHODS: dict[str, Method] = {
    "Start": ServerStream(StartRequest, start),
    "Connect": ServerStream(ProcessRequest, connect),
    "List": Unary(Empty, list_processes),
    "Update": Unary(UpdateRequest, update),
    "SendInput": Unary(SendInputRequest, send_input),
    "StreamInput": ClientStream(StreamInputRequest, stream_input),
    "CloseStdin": Unary(ProcessRequest, close_stdin),
    "SendSignal": Unary(SendSignalRequest, send_signal),
}
"""The service."""


async def _new_session(calls: SandboxCalls, *, terminal: bool) -> str:
    first = TERMINALS if terminal else 1000
    session = f"{SESSION}{first + secrets.randbelow(TERMINALS - 1000)}"
    try:
        await calls.call("POST", "/v1/bash/sessions/create", {"session_id": session})
    except RPCError as error:
        if error.code != "resource_exhausted":
            raise
        await _close_ended(calls)
        await calls.call("POST", "/v1/bash/sessions/create", {"session_id": session})
    return session


async def _close_ended(calls: SandboxCalls) -> None:
    """Make room: close the sessions of processes that ended when nobody listened."""
    for one in await calls.call("GET", "/v1/bash/sessions") or ():
        ended = one.get("current_command") is None and one.get("command_count")
        if one["session_id"].startswith(SESSION) and ended:
            await _close(calls, one["session_id"])


async def _followed(context: Context, session: str, path: str, fields: dict[str, Any]) -> AsyncIterator[Message]:
    """The events of a process. Its session is closed at its end, or where it did not start."""
    stream = with_keepalives(_events(context.calls, session, path, fields), context.keepalive_seconds, KEEPALIVE)
    async with aclosing(stream):  # type: ignore[type-var] # a generator
        async for message in stream:
            yield message


async def _events(calls: SandboxCalls, session: str, path: str, fields: dict[str, Any]) -> AsyncIterator[EventResponse]:
    started = False
    try:
        async for name, data in calls.events(path, fields):
            if name == "status" and not started:
                started = True
                yield EventResponse(event=Event(start=Started(pid=_pid(session))))
            elif name == "output":
                yield EventResponse(event=Event(data=_output(session, data)))
            elif name == "exit":
                await _close(calls, session)
                yield EventResponse(event=Event(end=_end(data)))
                return
    except RPCError:
        if not started:
            await _close(calls, session)
        raise
    raise RPCError("unavailable", "the connection to the sandbox ended before the process did")


def _output(session: str, data: dict[str, Any]) -> Output:
    written = str(data.get("data", "")).encode("utf-8", "replace")
    if _is_terminal(session):
        return Output(pty=written)
    return Output(stderr=written) if data.get("stream") == "stderr" else Output(stdout=written)


def _end(data: dict[str, Any]) -> Ended:
    """As Go describes the end of a process, whose words clients know. Raises `RPCError` where its time was over."""
    if data.get("status") == "timed_out":
        raise RPCError("deadline_exceeded", "the process was ended: its time was over")
    code = data.get("exit_code")
    if isinstance(code, int):
        said = f"exit status {code}"
        return Ended(exit_code=code, exited=True, status=said, error=said if code else None)
    name = str(data.get("signal") or "")
    said = f"signal: {_SAID.get(name, name.removeprefix('SIG').lower() or 'unknown')}"
    return Ended(exit_code=-1, exited=False, status=said, error=said)


async def _close(calls: SandboxCalls, session: str) -> None:
    try:
        await calls.call("POST", f"/v1/bash/sessions/{session}/close")
    except RPCError as error:
        if error.code != "not_found":
            raise


async def _processes(calls: SandboxCalls) -> list[ProcessInfo]:
    sessions = await calls.call("GET", "/v1/bash/sessions") or ()
    return [_info(one) for one in sessions if one["session_id"].startswith(SESSION) and one.get("current_command") is not None]


def _info(session: dict[str, Any]) -> ProcessInfo:
    text = CommandText.parse(session["current_command"])
    cmd, *args = terminal_program.program_of(text.argv)
    config = ProcessConfig(cmd=cmd, args=tuple(args), cwd=text.root_in or session.get("working_dir"))
    return ProcessInfo(config=config, pid=_pid(session["session_id"]), tag=text.tag)


async def _find(calls: SandboxCalls, selector: Selector) -> str:
    """The session of a process. Raises `RPCError` where there is none."""
    if selector.pid is not None:
        return f"{SESSION}{selector.pid}"  # a session that does not exist is said by the sandbox
    tagged = [one.pid for one in await _processes(calls) if selector.tag is not None and one.tag == selector.tag]
    if not tagged:
        raise RPCError("not_found", f"no process has the tag {selector.tag!r}" if selector.tag else "name a process by its pid or tag")
    return f"{SESSION}{tagged[0]}"


def _pid(session: str) -> int:
    return int(session.removeprefix(SESSION))


def _is_terminal(session: str) -> bool:
    return _pid(session) >= TERMINALS


def _require_terminal(session: str, *, wanted: bool) -> None:
    if _is_terminal(session) != wanted:
        raise RPCError("invalid_argument", f"process {_pid(session)} has {'no' if wanted else 'a'} terminal")


async def _feed(calls: SandboxCalls, session: str, given: Input) -> None:
    data = given.stdin if given.stdin is not None else given.pty
    if data is None:
        raise RPCError("invalid_argument", "there is neither stdin nor pty in the input")
    _require_terminal(session, wanted=given.stdin is None)
    for start in range(0, max(1, len(data)), INPUT_PIECE):
        piece = data[start : start + INPUT_PIECE]
        text = terminal_program.input_frame(piece) if _is_terminal(session) else piece.decode("utf-8", "surrogateescape")
        await _write(calls, session, text)


async def _write(calls: SandboxCalls, session: str, text: str) -> None:
    """Write when there is room: the sandbox refuses more than a process reads."""
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + INPUT_SECONDS, 0.02
    while True:
        try:
            await calls.call("POST", "/v1/bash/write", {"session_id": session, "input": text})
            return
        except RPCError as error:
            if error.code != "resource_exhausted" or loop.time() > deadline:
                raise
        await asyncio.sleep(pause)
        pause = min(1.0, pause * 2)
