"""Every call is written down."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Call, Caller, Conflict, Event, Model, operation, socket, stream_of
from sandbox_server.core.errors import Failure, HeldByHuman, PermissionDenied, Private, ResourceExhausted, Unauthenticated
from sandbox_server.core.operation import Operation, operations
from sandbox_server.core.results import Socket
from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.recorder.recorder_guard import RecorderGuard
from sandbox_server.features.recorder.trace_context import Trace

pytestmark = pytest.mark.anyio

ROBOT = Call(Caller("robot"), "r-1", headers={"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"})
PERSON = Call(Caller("owner#1", person=True), "r-2")


class Blind(Redaction):
    """One that is not to be asked."""

    def text(self, text: str, limit: int = 0) -> str:
        raise AssertionError(text)


class Where(Model):
    path: str


class Sample:
    tag = "sample"

    @operation("POST /sample", scope="files")
    async def move(self, request: Where) -> None:
        """Move it."""

    @operation("GET /healthz", scope="public")
    async def health(self) -> None:
        """Tell how it is."""


class Screen:
    tag = "browser"

    @operation("GET /picture", scope="view", operation_id="watch_picture")
    async def watch(self) -> None:
        """Show it."""


class Line(Model):
    command: str


class Ran(Model):
    exit_code: int
    output: str


class Shells:
    tag = "shell"

    @operation("POST /run", scope="shell")
    async def run(self, request: Line) -> Ran:
        """Run it."""
        return Ran(exit_code=1, output=f"done: {request.command}")

    @stream_of(run)
    async def stream_run(self, request: Line) -> AsyncIterator[Event]:
        """Run it, and give its output."""
        yield Event("output", {"data": "said a word"})
        yield Event("exit", {"exit_code": 3, "status": "completed"})

    @socket("/terminal", scope="shell")
    async def terminal(self, socket: Socket) -> None:
        """Show it."""


MOVE, HEALTH = operations(Sample())
RUN, TERMINAL = operations(Shells())
(WATCH,) = operations(Screen())


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with Journal(EventLog(str(tmp_path), 1 << 20)) as opened:
        yield opened


async def call(guard: RecorderGuard, called: Operation, who: Call, failure: Exception | None = None) -> None:
    async def proceed() -> object:
        if failure:
            raise failure
        return None

    await guard(called, Where(path="/a") if called is MOVE else None, who, proceed)


async def calls(journal: Journal) -> list[dict[str, Any]]:
    return await journal.read(None, lambda entry: entry["kind"] == "call", 10)


async def test_a_call_is_written_with_who_what_outcome_and_trace(journal: Journal) -> None:
    guard = RecorderGuard(journal, Redaction())
    await call(guard, MOVE, ROBOT)
    with pytest.raises(Conflict):
        await call(guard, MOVE, PERSON, Conflict("no"))
    with pytest.raises(RuntimeError):
        await call(guard, MOVE, ROBOT, RuntimeError())

    done, refused, broken = await calls(journal)
    expected = {
        "operation": "sample.move",
        "outcome": "ok",
        "request": {"path": "/a"},
        "trace": "a" * 32,
        "parent": "b" * 16,
        "request_id": "r-1",
    }
    assert expected.items() <= done.items()
    assert done["ms"] >= 0
    assert (refused["actor"], refused["outcome"], "trace" in refused) == ({"type": "person", "name": "owner#1"}, "conflict", False)
    assert broken["outcome"] == "internal"


@pytest.mark.parametrize("kind", [PermissionDenied, HeldByHuman, ResourceExhausted, Unauthenticated, Private])
async def test_of_a_call_that_is_not_let_in_no_field_is_looked_at(journal: Journal, kind: type[Failure]) -> None:
    guard = RecorderGuard(journal, Blind())
    with pytest.raises(kind):
        await call(guard, MOVE, ROBOT, kind("no"))

    (refused,) = await calls(journal)
    assert "request" not in refused
    assert (refused["operation"], refused["actor"]["name"], refused["outcome"]) == ("sample.move", "robot", kind.kind)


async def test_health_is_nobodys_deed(journal: Journal) -> None:
    await call(RecorderGuard(journal, Redaction()), HEALTH, ROBOT)
    assert await calls(journal) == []


async def test_a_person_who_watches_by_pictures_does_nothing_and_a_program_is_written_down(journal: Journal) -> None:
    guard = RecorderGuard(journal, Redaction())
    await call(guard, WATCH, PERSON)
    await call(guard, WATCH, ROBOT)
    reads = await journal.read(None, lambda entry: entry["kind"] == "read", 10)
    assert [entry["actor"]["name"] for entry in reads] == ["robot"]


async def test_of_what_a_person_does_in_private_nothing_but_that_it_was_is_kept(journal: Journal) -> None:
    journal.private = lambda: True
    guard = RecorderGuard(journal, Redaction())
    await call(guard, MOVE, PERSON)
    await call(guard, MOVE, ROBOT)

    hidden, shown = await calls(journal)
    assert ("request" in hidden, "request" in shown) == (False, True)


async def test_every_call_is_a_span_where_somebody_takes_them(journal: Journal) -> None:
    taken = list[tuple[Trace, str]]()
    guard = RecorderGuard(journal, Redaction(), lambda trace, called, call, outcome, seconds: taken.append((trace, outcome)))
    await call(guard, MOVE, ROBOT)
    await call(guard, MOVE, PERSON)

    (first, outcome), (second, _) = taken
    assert (first.trace, first.parent, outcome) == ("a" * 32, "b" * 16, "ok")
    assert second.parent is None
    assert [entry["span"] for entry in await calls(journal)] == [first.span, second.span]


async def commands(journal: Journal) -> list[dict[str, Any]]:
    return await journal.read(None, lambda entry: entry["kind"] == "command", 10)


async def run(guard: RecorderGuard, line: str, who: Call = ROBOT) -> object:
    request = Line(command=line)

    async def proceed() -> object:
        return await Shells().run(request)

    return await guard(RUN, request, who, proceed)


async def test_a_command_is_written_with_exit_code_and_output(journal: Journal) -> None:
    await run(RecorderGuard(journal, Redaction()), "echo --token hunter2")
    await run(RecorderGuard(journal, Redaction(), output=False), "ls")

    told, quiet = await commands(journal)
    assert told["result"] == {"exit_code": 1, "output": "done: echo --token ***"}
    assert quiet["result"] == {"exit_code": 1}


async def test_what_a_person_runs_in_private_has_no_result(journal: Journal) -> None:
    journal.private = lambda: True
    await run(RecorderGuard(journal, Redaction()), "ls", PERSON)

    [hidden] = await commands(journal)
    assert {"request", "result", "error"}.isdisjoint(hidden)


async def test_why_a_call_failed_is_written_without_secrets(journal: Journal) -> None:
    with pytest.raises(Conflict):
        await call(RecorderGuard(journal, Redaction(["opensesame"])), MOVE, ROBOT, Conflict("no: opensesame"))

    [failed] = await calls(journal)
    assert failed["error"] == "no: ***"


@pytest.mark.parametrize("private", [False, True])
async def test_a_streamed_command_is_written_when_it_begins_and_when_it_ends(journal: Journal, private: bool) -> None:
    journal.private = lambda: private
    request = Line(command="ls")

    async def proceed() -> object:
        return Shells().stream_run(request)

    events = await RecorderGuard(journal, Redaction())(RUN, request, PERSON, proceed)
    assert isinstance(events, AsyncIterator)
    assert [event.event async for event in events] == ["output", "exit"]

    begun, ended = await commands(journal)
    assert ("event" in begun, ended["event"], ended["request_id"]) == (False, "ended", begun["request_id"])
    assert ended.get("result") == (None if private else {"exit_code": 3, "status": "completed", "output": "said a word"})


async def test_a_terminal_that_was_open_is_no_command(journal: Journal) -> None:
    async def proceed() -> object:
        return None

    await RecorderGuard(journal, Redaction())(TERMINAL, None, PERSON, proceed)
    assert await commands(journal) == []
    [opened] = await calls(journal)
    assert (opened["operation"], opened["socket"]) == ("shell.terminal", True)
