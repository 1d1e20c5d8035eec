"""An MCP server of the agent's on its standard streams, as the SDK's client takes a transport: the spawner starts its program.

The SDK's own transport would start the program as this process's user. The messages are the SDK's; here they are but split into lines.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import IO

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from sandbox_server.drivers.pipes import PipeReader
from sandbox_server.drivers.process import Process, Processes, put_down
from sandbox_server.hub.configuration import ServerConfig

MAX_LINE = 64 << 20
"""Bytes of one message; a server that sends a longer one is ended."""
END_SECONDS = 2.0
"""How long a server has to end by itself once its standard input is closed and it was asked to."""
MAX_SAID = 4000


class Said:
    """The last of what a server wrote on its standard error, for who wants to know why it does not work."""

    def __init__(self) -> None:
        self._kept = b""

    def take(self, chunk: bytes) -> None:
        """Keep the end."""
        self._kept = (self._kept + chunk)[-MAX_SAID:]

    def __str__(self) -> str:
        return self._kept.decode("utf-8", "replace").strip()


@asynccontextmanager
async def standard_streams(processes: Processes, config: ServerConfig, ended: asyncio.Event, said: Said) -> AsyncIterator[TransportStreams]:
    """Start the program, and end it with the context; `ended` is set when it hangs up. Raises as `Processes.start` does."""
    async with AsyncExitStack() as opened:
        errors = opened.enter_context(PipeReader(said.take))
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
            pumps.start_soon(_read, reader, sent, ended)
            pumps.start_soon(_write, writer, taken)
            try:
                yield received, outgoing
            finally:
                pumps.cancel_scope.cancel()


async def _reader(opened: AsyncExitStack, pipe: IO[bytes]) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=MAX_LINE)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    opened.callback(transport.close)
    return reader


async def _writer(opened: AsyncExitStack, pipe: IO[bytes]) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe)
    opened.callback(transport.close)
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _read(reader: asyncio.StreamReader, sent: ObjectSendStream[SessionMessage | Exception], ended: asyncio.Event) -> None:
    async with sent:
        with suppress(ValueError, ConnectionError, anyio.BrokenResourceError):  # a line that is too long
            while line := await reader.readline():
                await sent.send(_message(line))
        ended.set()


def _message(line: bytes) -> SessionMessage | Exception:
    """What a line says; servers that print other things too are borne with."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _write(writer: asyncio.StreamWriter, taken: ObjectReceiveStream[SessionMessage]) -> None:
    async with taken:
        with suppress(ConnectionError):
            async for each in taken:
                writer.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await writer.drain()


async def _end(process: Process, writer: asyncio.StreamWriter) -> None:
    writer.close()
    await process.kill(signal.SIGTERM)
    with anyio.CancelScope(shield=True):
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        await put_down(process)
