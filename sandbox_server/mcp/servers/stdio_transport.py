"""An MCP server of the agent's on its standard streams, as the SDK's client takes a transport: the spawner starts its program.

The SDK's own transport would start the program as this process's user. The messages are the SDK's; here they are but split into lines.
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
"""How long a server has to end by itself once its standard input is closed and it was asked to."""
MAX_SAID = 4000
CHUNK_SECONDS = 0.01
"""For each full pipe of what a server writes on its standard error."""
WRITE_SECONDS = 60.0
"""How long a server may not read its standard input while there is something for it; then it is ended."""
MAX_UNREAD = 256
"""Messages for a server that may wait; one that asks without reading what it is answered is ended."""
SHARE = 0.25
"""Of this process's time, what one server's messages may take: between them it is others' turn."""
STRETCH_SECONDS = 0.05
"""How long they may take at a stretch."""


class StderrTail:
    """The last of what a server wrote on its standard error, for who wants to know why it does not work."""

    def __init__(self) -> None:
        self._kept = b""
        self.broken = ""
        """Why it was ended, where it did what it must not."""

    def close(self, reason: str) -> None:
        """Note why it is ended."""
        self.broken = self.broken or reason

    def take(self, chunk: bytes) -> None:
        """Keep the end."""
        self._kept = (self._kept + chunk)[-MAX_SAID:]

    def __str__(self) -> str:
        return without_controls(self._kept.decode("utf-8", "replace")).strip()


@asynccontextmanager
async def stdio_transport(
    processes: Processes, config: ServerConfig, ended: asyncio.Event, said: StderrTail
) -> AsyncIterator[TransportStreams]:
    """Start the program, and end it with the context; `ended` is set when it hangs up. Raises as `Processes.start` does."""
    async with AsyncExitStack() as opened:
        errors = opened.enter_context(PipeReader(_at_leisure(said)))
        read_end, stdout = os.pipe()
        stdin, write_end = os.pipe()
        theirs = [opened.enter_context(os.fdopen(fd, "rb" if fd == stdin else "wb", buffering=0)) for fd in (stdin, stdout)]
        reader = await _reader(opened, os.fdopen(read_end, "rb", buffering=0))
        writer = await _writer(opened, os.fdopen(write_end, "wb", buffering=0))
        process = await processes.start(
            [config.command or "", *config.args], cwd=config.cwd, env=config.env, stdin=stdin, stdout=stdout, stderr=errors.theirs
        )
        opened.push_async_callback(_end, process, writer)
        errors.release()
        for end in theirs:
            end.close()
        sent, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, taken = anyio.create_memory_object_stream[SessionMessage](0)
        for stream in (sent, received, outgoing, taken):
            opened.callback(stream.close)
        async with anyio.create_task_group() as pumps:
            pumps.start_soon(_read, reader, sent, outgoing, ended, said)
            pumps.start_soon(_write, writer, taken, sent, ended, said)
            try:
                yield received, outgoing
            finally:
                pumps.cancel_scope.cancel()


def _at_leisure(said: StderrTail) -> Sink:
    """Take what a server says; one that says very much waits between its pieces."""
    loop = asyncio.get_running_loop()

    def take(chunk: bytes) -> asyncio.Future[None] | None:
        said.take(chunk)
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
    said: StderrTail,
) -> None:
    """Pass on what the server says, until it hangs up or says more than it may."""
    pace = _Pace()
    async with sent:
        try:
            with suppress(ConnectionError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                while line := await _line(reader):
                    await sent.send(pace.timed(_message, line))
                    _check_reads(outgoing)
                    await pace.rest()
        except MessageLimitError as error:
            said.close(str(error))
        ended.set()


def _check_reads(outgoing: MemoryObjectSendStream[SessionMessage]) -> None:
    if outgoing.statistics().tasks_waiting_send > MAX_UNREAD:
        raise MessageLimitError(f"it does not read its answers, of which {MAX_UNREAD} wait")


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        line = await reader.readline()
    except ValueError:  # it is longer than the reader's limit
        raise MessageLimitError(f"it sent a message of more than {MAX_MESSAGE} bytes") from None
    MessageSize().take(line)
    return line


def _message(line: bytes) -> SessionMessage | Exception:
    """What a line says; servers that print other things too are borne with. Raises TooMuchError where it is nested too deep."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as error:
        if "recursion limit" in str(error.errors(include_input=False, include_url=False)[0].get("ctx")):
            raise MessageLimitError("it sent a message of lists and objects in more of them than can be read") from None
        return ValueError("a line that is no message")  # without the line, which may be long
    except ValueError as error:
        return error


class _Pace:
    """Keeps what one server's messages cost to `SHARE` of the time."""

    def __init__(self) -> None:
        self._spent = 0.0

    def timed[T](self, work: Callable[[bytes], T], line: bytes) -> T:
        """Do some work, and count the time."""
        began = time.monotonic()
        try:
            return work(line)
        finally:
            self._spent += time.monotonic() - began

    async def rest(self) -> None:
        """Leave the others their share, once enough was spent."""
        if self._spent > STRETCH_SECONDS:
            spent, self._spent = self._spent, 0.0
            await asyncio.sleep(spent * (1 / SHARE - 1))


async def _write(
    writer: asyncio.StreamWriter,
    taken: ObjectReceiveStream[SessionMessage],
    sent: MemoryObjectSendStream[SessionMessage | Exception],
    ended: asyncio.Event,
    said: StderrTail,
) -> None:
    """Send the server what is for it, until it has hung up or does not read any more."""
    async with taken:
        try:
            with suppress(ConnectionError):
                async for each in taken:
                    writer.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                    async with asyncio.timeout(WRITE_SECONDS):
                        await writer.drain()
        except TimeoutError:
            said.close(f"it has not read its standard input for {WRITE_SECONDS:g} s")
            sent.close()  # by which whoever waits for an answer knows that none comes
            ended.set()


async def _end(process: Process, writer: asyncio.StreamWriter) -> None:
    writer.close()
    await process.kill(signal.SIGTERM)
    with anyio.CancelScope(shield=True):
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        await put_down(process)
