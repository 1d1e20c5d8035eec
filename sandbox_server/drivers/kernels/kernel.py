"""One kernel: a process that runs one piece of code after the other."""

import asyncio
import signal
from contextlib import suppress
from dataclasses import dataclass

from sandbox_server.core.errors import DeadlineExceeded, Failure, InvalidArgument
from sandbox_server.core.tasks import start_task
from sandbox_server.drivers.ipc.json_lines import JsonLine
from sandbox_server.drivers.kernels.relay_client import OnBegin, OnOutput, RelayClient
from sandbox_server.drivers.spawn.pipes import PipeReader
from sandbox_server.drivers.spawn.process import Exit, Process, put_down
from sandbox_server.timeouts import scaled

TAIL_BYTES = 4096
QUIET_ROOM = 1 << 16
QUIET_SECONDS = scaled(60.0)
"""Seconds for the kernel's answers to internal requests, which may have to wait for code whose relay has ended."""


@dataclass(frozen=True, slots=True)
class OutputBounds:
    """The output limits of one execution: bytes of all outputs as JSON, and their number."""

    room: int
    count: int = 10_000


class KernelEnded(Exception):
    """The kernel ended before it answered; `exit` is how."""

    def __init__(self, observed: Exit) -> None:
        super().__init__(observed)
        self.exit = observed


class OutputTail:
    """A sink that keeps the last bytes."""

    def __init__(self) -> None:
        self._kept = b""

    def take(self, chunk: bytes) -> None:
        """Add a chunk and keep the end."""
        self._kept = (self._kept + chunk)[-TAIL_BYTES:]

    def text(self) -> str:
        """The kept text."""
        return self._kept.decode("utf-8", "replace").strip()


class Kernel:
    """A started kernel; `connect` it before anything else."""

    def __init__(self, key: str, file: str, process: Process, said: PipeReader, relay: RelayClient) -> None:
        self._key = key
        self._file = file
        self._process = process
        self._said = said
        self._relay = relay
        self._connected_through: int | None = None
        """Number of the relay through which it was last connected."""

    @property
    def exit(self) -> Exit | None:
        """How it ended; None while it runs."""
        return self._process.exit

    async def connect(self) -> None:
        """Wait until it answers, through the current relay. Raises KernelEnded, and Unavailable if the relay fails."""
        relay = await self._relay.current()
        if relay != self._connected_through:
            await self._unless_it_ends(self._relay.prepare("connect", kernel=self._key, file=self._file, pid=self._process.pid))
            self._connected_through = relay

    async def execute(self, code: str, bounds: OutputBounds, on_output: OnOutput, on_begin: OnBegin | None = None) -> JsonLine:
        """Run code and return the kernel's reply: `status`, `execution_count`, `ename`, `dropped` bytes.

        Raises KernelEnded, and Unavailable if the relay fails.
        """
        await self.connect()
        asked = self._relay.ask("execute", on_output, on_begin, kernel=self._key, code=code, room=bounds.room, count=bounds.count)
        return await self._unless_it_ends(asked)

    async def name(self, session: str, kernel_name: str) -> None:
        """Set the session's name, visible in its process and to JupyterLab. Raises DeadlineExceeded."""
        await self._quietly(f"__import__('tandem_kernel').name({session!r})")
        await self._relay.prepare("show", kernel=self._key, file=self._file, name=kernel_name)

    async def enter(self, directory: str) -> None:
        """Change its working directory.

        Raises InvalidArgument if it cannot, DeadlineExceeded if the kernel does not answer.
        """
        reply = await self._quietly(f"__import__('os').chdir({directory!r})")
        if reply.get("status") != "ok":
            raise InvalidArgument(f"cannot enter {directory!r}: {str(reply.get('evalue'))[:500]}", cwd=directory)

    async def _quietly(self, code: str) -> JsonLine:
        try:
            async with asyncio.timeout(QUIET_SECONDS):
                await self.connect()
                asked = self._relay.ask("execute", kernel=self._key, code=code, room=QUIET_ROOM, count=0, silent=True)
                return await self._unless_it_ends(asked)
        except TimeoutError:
            raise DeadlineExceeded(f"the kernel did not answer within {QUIET_SECONDS:g} s", hint="delete the session") from None

    async def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the running code, and interrupt its child processes."""
        await self._process.kill(signal.SIGINT)

    async def sweep(self) -> bool:
        """End the copies of itself that the last code has forked. Return False if some are left or unknown."""
        with suppress(Failure, KernelEnded):
            return (await self._unless_it_ends(self._relay.prepare("sweep", kernel=self._key))).get("left") == 0
        return False

    async def close(self) -> None:
        """Kill it with its whole process group."""
        await put_down(self._process)
        self._said.close()
        with suppress(Failure):
            await self._relay.ask("close", kernel=self._key)

    async def _unless_it_ends(self, asked: "asyncio._CoroutineLike[JsonLine]") -> JsonLine:
        answer, end = start_task(asked), start_task(self._process.wait())
        try:
            await asyncio.wait([answer, end], return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise KernelEnded(end.result())
        finally:
            answer.cancel()
            end.cancel()
