"""The stdio transport for upstream servers: the spawner starts the program as the agent, and messages are lines.

The SDK's own stdio transport would start the program as this process's user.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import IO

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from anyio.streams.memory import MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from sandbox_server.drivers.spawn.pipes import CHUNK, PipeReader, Sink
from sandbox_server.drivers.spawn.process import Process, Processes, put_down
from sandbox_server.mcp.message_limits import MAX_MESSAGE, MessageLimitError, MessageSize, without_controls
from sandbox_server.mcp.servers.configuration import ServerConfig

END_SECONDS = 2.0
"""How long a server has to exit after SIGTERM and the end of its standard input."""
MAX_STDERR = 4000
CHUNK_SECONDS = 0.01
"""The pause after each full chunk of standard error."""
WRITE_SECONDS = 60.0
"""How long a server may leave its standard input unread before it is ended."""
MAX_UNREAD = 256
"""Messages that may wait for a server. One that sends requests without reading the answers is ended."""
CPU_SHARE = 0.25
"""The share of this process's time that parsing one server's messages may take."""
STRETCH_SECONDS = 0.05
"""The longest time without a pause."""


class StderrTail:
    """The end of a server's standard error, to explain a failure."""

    def __init__(self) -> None:
        self._tail = b""
        self.violation = ""
        """The limit that the server exceeded, if it was ended for one."""

    def record_violation(self, reason: str) -> None:
        """Record the limit that the server exceeded."""
        self.violation = self.violation or reason

    def take(self, chunk: bytes) -> None:
        """Add a chunk and keep the end."""
        self._tail = (self._tail + chunk)[-MAX_STDERR:]

    def __str__(self) -> str:
        return without_controls(self._tail.decode("utf-8", "replace")).strip()


@asynccontextmanager
async def stdio_transport(
    processes: Processes, config: ServerConfig, ended: asyncio.Event, stderr: StderrTail
) -> AsyncIterator[TransportStreams]:
    """Start the program, and end it with the context. `ended` is set when it closes its output. Raises as `Processes.start` does."""
    async with AsyncExitStack() as opened:
        errors = opened.enter_context(PipeReader(_throttled(stderr)))
        read_end, stdout = os.pipe()
        stdin, write_end = os.pipe()
        server_ends = [opened.enter_context(os.fdopen(fd, "rb" if fd == stdin else "wb", buffering=0)) for fd in (stdin, stdout)]
        reader = await _reader(opened, os.fdopen(read_end, "rb", buffering=0))
        writer = await _writer(opened, os.fdopen(write_end, "wb", buffering=0))
        process = await processes.start(
            [config.command or "", *config.args], cwd=config.cwd, env=config.env, stdin=stdin, stdout=stdout, stderr=errors.theirs
        )
        opened.push_async_callback(_end, process, writer)
        errors.release()
        for end in server_ends:
            end.close()
        sent, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, taken = anyio.create_memory_object_stream[SessionMessage](0)
        for stream in (sent, received, outgoing, taken):
            opened.callback(stream.close)
        async with anyio.create_task_group() as pumps:
            pumps.start_soon(_read, reader, sent, outgoing, ended, stderr)
            pumps.start_soon(_write, writer, taken, sent, ended, stderr)
            try:
                yield received, outgoing
            finally:
                pumps.cancel_scope.cancel()


def _throttled(stderr: StderrTail) -> Sink:
    """A sink for standard error that slows down a server which writes very much."""
    loop = asyncio.get_running_loop()

    def take(chunk: bytes) -> asyncio.Future[None] | None:
        stderr.take(chunk)
        if len(chunk) < CHUNK:
            return None
        ready: asyncio.Future[None] = loop.create_future()
        loop.call_later(CHUNK_SECONDS, ready.set_result, None)
        return ready

    return take


async def _reader(opened: AsyncExitStack, pipe: IO[bytes]) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=MAX_MESSAGE)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    opened.callback(transport.close)
    return reader


async def _writer(opened: AsyncExitStack, pipe: IO[bytes]) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe)
    opened.callback(transport.close)
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _read(
    reader: asyncio.StreamReader,
    sent: ObjectSendStream[SessionMessage | Exception],
    outgoing: MemoryObjectSendStream[SessionMessage],
    ended: asyncio.Event,
    stderr: StderrTail,
) -> None:
    """Forward the server's messages until it closes its output or exceeds a limit."""
    budget = _CpuBudget()
    async with sent:
        try:
            with suppress(ConnectionError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                while line := await _line(reader):
                    await sent.send(budget.timed(_message, line))
                    _check_reads(outgoing)
                    await budget.rest()
        except MessageLimitError as error:
            stderr.record_violation(str(error))
        ended.set()


def _check_reads(outgoing: MemoryObjectSendStream[SessionMessage]) -> None:
    if outgoing.statistics().tasks_waiting_send > MAX_UNREAD:
        raise MessageLimitError(f"it does not read its answers: {MAX_UNREAD} wait")


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        line = await reader.readline()
    except ValueError:  # longer than the reader's limit
        raise MessageLimitError(f"it sent a message of more than {MAX_MESSAGE} bytes") from None
    MessageSize().take(line)
    return line


def _message(line: bytes) -> SessionMessage | Exception:
    """Parse a line; one that is not a message is returned as an error. Raises MessageLimitError for too deep nesting."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as error:
        if "recursion limit" in str(error.errors(include_input=False, include_url=False)[0].get("ctx")):
            raise MessageLimitError("it sent a message of lists and objects in more of them than can be read") from None
        return ValueError("a line that is not a message")  # without the line, which may be long
    except ValueError as error:
        return error


class _CpuBudget:
    """Limits the time for parsing one server's messages to `CPU_SHARE`."""

    def __init__(self) -> None:
        self._spent = 0.0

    def timed[T](self, work: Callable[[bytes], T], line: bytes) -> T:
        """Do some work and add its time."""
        began = time.monotonic()
        try:
            return work(line)
        finally:
            self._spent += time.monotonic() - began

    async def rest(self) -> None:
        """Pause once enough time was spent."""
        if self._spent > STRETCH_SECONDS:
            spent, self._spent = self._spent, 0.0
            await asyncio.sleep(spent * (1 / CPU_SHARE - 1))


async def _write(
    writer: asyncio.StreamWriter,
    taken: ObjectReceiveStream[SessionMessage],
    sent: MemoryObjectSendStream[SessionMessage | Exception],
    ended: asyncio.Event,
    stderr: StderrTail,
) -> None:
    """Send messages to the server until it closes its input or stops reading."""
    async with taken:
        try:
            with suppress(ConnectionError):
                async for each in taken:
                    writer.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                    async with asyncio.timeout(WRITE_SECONDS):
                        await writer.drain()
        except TimeoutError:
            stderr.record_violation(f"it has not read its standard input for {WRITE_SECONDS:g} s")
            sent.close()  # so that whoever waits for an answer gets an error
            ended.set()


async def _end(process: Process, writer: asyncio.StreamWriter) -> None:
    writer.close()
    await process.kill(signal.SIGTERM)
    with anyio.CancelScope(shield=True):
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        await put_down(process)
