"""A Node.js session: a process that evaluates one piece of code after another and keeps its state."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import Self

from sandbox_server.core.errors import Conflict, InvalidArgument, NotFound
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.ipc.json_lines import JsonLine, JsonLines
from sandbox_server.drivers.nodes import outcome
from sandbox_server.drivers.nodes.nodes import SETUP, Node
from sandbox_server.drivers.nodes.outcome import LATE_CODE, UNSEEN_CODE, NodeOutcome, Status
from sandbox_server.drivers.nodes.script import NodeLimits
from sandbox_server.drivers.session_table import LastUse
from sandbox_server.drivers.spawn.child_setup import SESSION
from sandbox_server.drivers.spawn.pipes import Capture, PipeReader, PipeWriter
from sandbox_server.drivers.spawn.process import Process, Processes, put_down

SCRIPT = str(SETUP / "session.mjs")
INPUT_LIMIT = 1 << 20
MAX_ANSWER = (1 << 25) + (16 << 20)
"""Limit in bytes of an answer: the largest result that the settings allow, and its envelope."""
MAX_STRAYS = 100
"""Lines that are no answer to the request, after which a session's process is ended."""
MAX_DROPPED = 1 << 60
"""Limit of the number of dropped bytes that a process may claim."""
GRACE = 3.0
"""Seconds beyond its timeout that code has before its process is ended."""


@dataclass(frozen=True, slots=True)
class NodeDirectory:
    """How a session's process runs: its directory, its session's name, rlimits beside the memory's, and its isolation."""

    directory: str
    session: str
    limits: Mapping[str, int]
    isolation: IsolationPolicy | None


class NodeProcess:
    """The process of a session; an asynchronous context manager, which ends it."""

    def __init__(self) -> None:
        self.lines = JsonLines(MAX_ANSWER)
        self.late = False
        """Whether it was ended because it did not answer in time."""
        self._numbers = count(1)
        self._opened = AsyncExitStack()
        self._out = self._err = Capture(0)
        self._process: Process | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._opened.aclose()

    @property
    def process(self) -> Process:
        """The process, once it has started."""
        assert self._process
        return self._process

    async def start(self, processes: Processes, node: Node, place: NodeDirectory, memory: int) -> None:
        """Start it. Raises as `Processes.start` does."""
        await self._opened.enter_async_context(self.lines)
        self._stdout = self._opened.enter_context(PipeReader(lambda chunk: self._out.take(chunk)))
        self._stderr = self._opened.enter_context(PipeReader(lambda chunk: self._err.take(chunk)))
        self._stdin = self._opened.enter_context(PipeWriter(INPUT_LIMIT))
        ends = (self._stdin, self._stdout, self._stderr)
        self._process = await processes.start(
            node.argv(SCRIPT),
            cwd=place.directory,
            env={SESSION: place.session},
            stdin=self._stdin.theirs,
            stdout=self._stdout.theirs,
            stderr=self._stderr.theirs,
            pipe=(self.lines.theirs, self.lines.theirs),
            on_exit="kill",
            limits={"data": memory, "core": 0, **place.limits},
            isolation=place.isolation,
        )
        self._opened.push_async_callback(put_down, self._process)
        for end in (*ends, self.lines):
            end.release()

    async def ask(self, request: JsonLine, stdin: str, limits: NodeLimits) -> tuple[JsonLine | None, Capture, Capture]:
        """Evaluate code. Return the answer (None if there was none in time) and what was written to the two streams meanwhile."""
        self._out, self._err = Capture(limits.output), Capture(limits.output)
        if stdin:
            self._stdin.feed(stdin.encode("utf-8", "surrogateescape"))
        answer = await self._answer(request, limits.timeout + GRACE)
        if answer is None:
            await put_down(self.process)
        await asyncio.gather(self._stdout.settle(), self._stderr.settle())
        return answer, self._out, self._err

    async def _answer(self, request: JsonLine, seconds: float) -> JsonLine | None:
        try:
            async with asyncio.timeout(seconds):
                number = next(self._numbers)
                await self.lines.send({"id": number, **request})
                return await self._answer_to(number)
        except ConnectionError:
            return None
        except TimeoutError:
            self.late = True
            return None

    async def _answer_to(self, number: int) -> JsonLine | None:
        """Return the answer to a request, skipping lines that code itself wrote."""
        for _ in range(MAX_STRAYS):
            line = await self.lines.receive()
            if line is None or line.get("id") == number:
                return line
        return None


class NodeSession:
    """One session.

    `max_idle` is in seconds, times are in seconds since the epoch. `isolation` and `limits` apply to all its processes.
    """

    def __init__(
        self,
        session_id: str,
        node: Node,
        processes: Processes,
        *,
        directory: str,
        max_idle: int,
        isolation: IsolationPolicy | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> None:
        self.id = session_id
        self.node = node
        self.directory = directory
        self.max_idle = max_idle
        self.isolation = isolation
        self._limits = limits or {}
        self.last_use = LastUse()
        self.created_at = self.last_use.at
        self.closed = False
        self._processes = processes
        self._running: NodeProcess | None = None
        self._free = asyncio.Lock()
        self._moved = False

    @property
    def busy(self) -> bool:
        """Whether code runs in it."""
        return self._free.locked()

    @property
    def idle_seconds(self) -> float:
        """Seconds since anything ran in it."""
        return 0.0 if self.busy else self.last_use.seconds_ago

    async def open(self, memory: int) -> None:
        """Start its process. Raises InvalidArgument if the directory cannot be entered."""
        async with self._free:
            await self._ready(memory)

    def move(self, directory: str) -> None:
        """Set the directory for the next code."""
        self._moved = directory != self.directory
        self.directory = directory

    async def execute(self, code: str, limits: NodeLimits, *, typescript: bool = False, stdin: str = "") -> NodeOutcome:
        """Evaluate code once earlier code has ended.

        Raises Conflict if that takes longer than its timeout, NotFound if the session was closed.
        """
        if typescript:
            self.node.argv(typescript=True)
        try:
            async with asyncio.timeout(limits.timeout):
                await self._free.acquire()
        except TimeoutError:
            raise Conflict(f"session {self.id!r} still runs other code after {limits.timeout:g} s", session_id=self.id) from None
        try:
            return await self._execute(code, limits, typescript=typescript, stdin=stdin)
        finally:
            self.last_use.touch()
            self._free.release()

    async def close(self) -> None:
        """End its process, and the code in it."""
        self.closed = True
        await self._end()

    async def _execute(self, code: str, limits: NodeLimits, *, typescript: bool, stdin: str) -> NodeOutcome:
        notes = await self._ready(limits.memory)
        assert self._running
        running = self._running
        request: JsonLine = {"code": code, "timeout": int(limits.timeout * 1000), "typescript": typescript, "room": limits.output}
        request["cwd"], self._moved = self.directory if self._moved else None, False
        answer, out, err = await running.ask(request, stdin, limits)
        if answer:
            return _outcome_of_answer(answer, out, err, notes, limits.output)
        dropped = out.dropped + err.dropped
        code_seen = outcome.exit_code(running.process.exit) if running.process.exit else UNSEEN_CODE
        notes += (*outcome.left_out(dropped), "the session's process ended; the next code gets a new one, without its variables")
        if running.late:
            return NodeOutcome("timeout", LATE_CODE, outcome.text(out), outcome.text(err), notes=notes, dropped=dropped)
        return NodeOutcome("error" if code_seen else "ok", code_seen, outcome.text(out), outcome.text(err), notes=notes, dropped=dropped)

    async def _ready(self, memory: int) -> tuple[str, ...]:
        if self.closed:
            raise NotFound("Session not found", session_id=self.id)
        if self._running and self._running.process.exit is None:
            return ()
        renewed = self._running is not None
        await self._end()
        running = NodeProcess()
        try:
            place = NodeDirectory(self.directory, f"nodejs:{self.id}", self._limits, self.isolation)
            await running.start(self._processes, self.node, place, memory)
        except BaseException as error:
            await running.__aexit__(None, None, None)
            if isinstance(error, NotFound):
                raise InvalidArgument(error.message) from error
            raise
        if self.closed:  # meanwhile
            await running.__aexit__(None, None, None)
            raise NotFound("Session not found", session_id=self.id)
        self._running = running
        return ("this ran in a new process, without the variables of before",) if renewed else ()

    async def _end(self) -> None:
        running, self._running = self._running, None
        if running:
            await running.__aexit__(None, None, None)


_ENDS: dict[str, tuple[Status, int]] = {"ok": ("ok", 0), "error": ("error", 1), "timeout": ("timeout", LATE_CODE)}


def _outcome_of_answer(answer: JsonLine, out: Capture, err: Capture, notes: tuple[str, ...], room: int) -> NodeOutcome:
    status, exit_code = _ENDS.get(str(answer.get("status")), _ENDS["error"])
    result, cut = _result(answer, room)
    dropped = out.dropped + err.dropped + cut
    return NodeOutcome(
        status,
        exit_code,
        outcome.text(out),
        outcome.text(err),
        outcome.thrown(answer.get("error")),
        result,
        outcome.count_of(answer),
        (*notes, *outcome.left_out(dropped)),
        dropped,
    )


def _result(answer: JsonLine, room: int) -> tuple[str | None, int]:
    """Return the result, and how many bytes of it were dropped by either side."""
    text, dropped = answer.get("text"), answer.get("dropped")
    cut = dropped if isinstance(dropped, int) and 0 < dropped < MAX_DROPPED else 0
    if not isinstance(text, str):
        return None, cut
    return text[:room], cut + len(text[room:])
