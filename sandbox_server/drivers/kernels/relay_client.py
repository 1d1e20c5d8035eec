"""The server's side of the relay. It starts the relay on demand, and again after it has ended."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.ipc.json_lines import JsonLine, JsonLines
from sandbox_server.drivers.kernels.kernel_zygote import OOM_SCORE, KernelZygote
from sandbox_server.drivers.spawn.process import Process, put_down
from sandbox_server.timeouts import scaled

SCRIPT = str(Path(__file__).with_name("relay.py"))
RETRY_AFTER = 1.0
ANSWER_SECONDS = scaled(60.0)
"""Seconds for a relay's answer to what does not wait for a kernel. A slower relay hangs and is killed."""
WAITS_FOR_NONE = frozenset({"open", "show", "sweep", "close"})
MAX_LINE = (1 << 25) + (1 << 20)
"""Limit in bytes of a line: the largest output that the settings allow, and its envelope."""
SLACK = 1 << 20
"""Bytes that a relay may send beyond the outputs that its requests allow. One that sends more is killed."""
MAX_ESCAPED = 6
"""The largest number of bytes of JSON for a byte of text."""
AROUND = 300
"""Approximate bytes of JSON around an output."""
TRIES = 3
"""Limit of attempts for a repeatable request whose relay ended before it answered."""

type OnOutput = Callable[[JsonLine], None]
type OnBegin = Callable[[], None]


@dataclass(slots=True)
class _RelayRequest:
    answer: asyncio.Future[JsonLine]
    on_output: OnOutput | None
    on_begin: OnBegin | None
    allowed: int
    """Bytes that it may still receive."""


@dataclass(slots=True)
class _RelayConnection:
    """One run of the relay. Its open requests end with it."""

    lines: JsonLines
    process: Process
    number: int
    slack: int = SLACK
    """Bytes that the relay may still send to abandoned requests."""
    questions: dict[int, _RelayRequest] = field(default_factory=dict)
    over: bool = False

    async def listen(self) -> None:
        try:
            before = 0
            while line := await self.lines.receive():
                size, before = self.lines.heard - before, self.lines.heard
                if not self._take_line(line, size):
                    break
                await asyncio.sleep(0)  # a relay that sends much must not block other tasks
        finally:
            self.over = True
            for question in self.questions.values():
                if not question.answer.done():
                    question.answer.set_exception(_relay_ended())
        await put_down(self.process)

    def _take_line(self, line: JsonLine, size: int) -> bool:
        """Take a line of `size` bytes. Return False if that exceeds what was requested."""
        number, event = line.get("id"), line.get("event")
        question = self.questions.get(number) if isinstance(number, int) else None
        if question is None or question.answer.done():
            self.slack -= size
            return self.slack >= 0
        question.allowed -= size
        if question.allowed < 0:
            return False
        output = line.get("output")
        if event == "output" and question.on_output and isinstance(output, dict):
            question.on_output(output)
        elif event == "begun" and question.on_begin:
            question.on_begin()
        elif event == "done":
            question.answer.set_result(line)
        elif event == "failed":
            question.answer.set_exception(Unavailable(f"the kernel does not answer: {str(line.get('reason'))[:1000]}"))
        return True


class RelayEnded(Unavailable):
    """The relay ended before it answered."""


class RelayClient:
    """Sends requests to the relay; an asynchronous context manager, which ends it.

    `zygote` starts it, `folder` is the directory of the kernels' sockets in the agent's tree.
    """

    def __init__(self, zygote: KernelZygote, folder: str) -> None:
        self._zygote = zygote
        self._role = ["kernels/relay", folder]
        self._instead = [zygote.program, "-I", SCRIPT, zygote.packages, folder]
        self._conversation: _RelayConnection | None = None
        self._numbers = count(1)
        self._starting = asyncio.Lock()
        self._tasks = Tasks()
        self._opened = AsyncExitStack()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closed = True
        await self._tasks.close()
        await self._opened.aclose()

    async def current(self) -> int:
        """Return the number of the current relay.

        A kernel has to be connected once through each. Raises Unavailable if none can start.
        """
        return (await self._running()).number

    async def prepare(self, op: str, **fields: object) -> JsonLine:
        """Send a repeatable request, and repeat it if the relay ends before it answers.

        Raises Unavailable as `ask` does, and ResourceExhausted if no process is left for a relay.
        """
        for _ in range(TRIES - 1):
            with suppress(RelayEnded):
                return await self.ask(op, None, None, **fields)
        return await self.ask(op, None, None, **fields)

    async def ask(self, op: str, on_output: OnOutput | None = None, on_begin: OnBegin | None = None, **fields: object) -> JsonLine:
        """Send a request and return the answer.

        `on_output` gets the outputs before it, `on_begin` the start of the code. Raises Unavailable if the relay
        refuses, and RelayEnded if it ended or hung; the next request starts another relay.
        """
        conversation, number = await self._running(), next(self._numbers)
        allowed = SLACK + MAX_ESCAPED * _number(fields.get("room")) + AROUND * _number(fields.get("count"))
        question = _RelayRequest(asyncio.get_running_loop().create_future(), on_output, on_begin, allowed)
        conversation.questions[number], conversation.slack = question, SLACK
        try:
            async with asyncio.timeout(ANSWER_SECONDS if op in WAITS_FOR_NONE else None):
                await conversation.lines.send({"id": number, "op": op, **fields})
                return await question.answer
        except ConnectionError:
            raise _relay_ended() from None
        except TimeoutError:
            conversation.over = True
            await put_down(conversation.process)
            raise _relay_ended() from None
        finally:
            question.answer.cancel()
            del conversation.questions[number]

    async def _running(self) -> _RelayConnection:
        async with self._starting:
            if self._closed:
                raise Unavailable("there are no kernels any more")
            if self._conversation is None or self._conversation.over:
                self._conversation = await self._start()
            return self._conversation

    async def _start(self) -> _RelayConnection:
        await self._opened.aclose()
        lines = await self._opened.enter_async_context(JsonLines(MAX_LINE))
        forked = self._conversation is None  # an ended relay may have lacked what a fork of the zygote lacks
        options = {"cwd": "/", "stdin": lines.theirs, "oom_score": OOM_SCORE}
        process = await self._zygote.start(self._role, self._instead, forked=forked, **options)
        self._opened.push_async_callback(put_down, process)
        lines.release()
        conversation = _RelayConnection(lines, process, next(self._numbers))
        self._tasks.start(conversation.listen(), name="the kernels' relay")
        return conversation


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _relay_ended() -> RelayEnded:
    return RelayEnded("the relay to the kernels ended", retry_after=RETRY_AFTER)
