"""One command: its process, its input, and its two output streams, which outlive it."""

import asyncio
import secrets
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Literal

from sandbox_server.core import Model
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.spawn.output_spool import OutputSpool
from sandbox_server.drivers.spawn.pipes import PipeReader, PipeWriter
from sandbox_server.drivers.spawn.process import Exit, Process, Processes

type CommandStatus = Literal["pending", "running", "completed", "timed_out", "killed"]


class BashCommandState(Model):
    """A command and its status."""

    command_id: str
    command: str
    status: CommandStatus
    exit_code: int | None = None
    signal: str | None = None
    """Name of the signal that ended it, such as `SIGKILL`."""


INPUT_LIMIT = 1 << 20
"""Limit in bytes of unread input of a command."""

_SIGNALS = {int(number): number.name for number in signal.Signals}

type StreamName = Literal["stdout", "stderr"]


@dataclass(frozen=True, slots=True)
class OutputLimit:
    """The limit in bytes of one stored stream, and the directory for it."""

    limit: int
    directory: str


class BashStream:
    """One output stream of a command. `base` is its offset in the output of the whole session."""

    def __init__(self, base: int, kept: OutputLimit, notify: Callable[[], None]) -> None:
        self.base = base
        self.spool = OutputSpool(kept.limit, kept.directory)
        self.reader = PipeReader(self._take)
        self._notify = notify

    @property
    def end(self) -> int:
        """The session's offset of the byte after the last."""
        return self.base + self.spool.size

    def _take(self, chunk: bytes) -> asyncio.Future[None] | None:
        stored = self.spool.append(chunk)
        if stored is None:
            self._notify()
        else:
            stored.add_done_callback(lambda _: self._notify())
        return stored


class BashCommand:
    """A command of a session. It is `pending` until `start`, and over once `watch` returns."""

    def __init__(self, text: str, bases: tuple[int, int], kept: OutputLimit) -> None:
        self.id = secrets.token_hex(8)
        self.text = text
        self.status: CommandStatus = "pending"
        self.exit: Exit | None = None
        with ExitStack() as opened:
            self.stdout = BashStream(bases[0], kept, self.notify)
            opened.callback(self.stdout.reader.close)
            self.stderr = BashStream(bases[1], kept, self.notify)
            opened.callback(self.stderr.reader.close)
            self.stdin = PipeWriter(INPUT_LIMIT)
            opened.pop_all()
        self._process: Process | None = None
        self.ended_at = 0.0
        self._holders = 0
        self._dropped = False
        self._change: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def ended(self) -> bool:
        """Whether the process has ended. A background process that it left may still write."""
        return self.status not in ("pending", "running")

    @property
    def kept(self) -> int:
        """Bytes of stored output."""
        return self.stdout.spool.kept + self.stderr.spool.kept

    @property
    def exit_code(self) -> int | None:
        """The observed exit code, if any."""
        return self.exit.code if self.exit else None

    @property
    def signal(self) -> str | None:
        """Name of the signal that ended the command, if any."""
        number = self.exit.signal if self.exit else None
        return _SIGNALS.get(number, f"signal {number}") if number else None

    def stream(self, name: StreamName) -> BashStream:
        """Return one of its two output streams."""
        return self.stdout if name == "stdout" else self.stderr

    async def start(
        self,
        processes: Processes,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str | None],
        isolation: IsolationPolicy | None = None,
    ) -> None:
        """Start the process; raises as `Processes.start` does, and then leaves nothing behind."""
        ends = (self.stdin, self.stdout.reader, self.stderr.reader)
        try:
            stdin, stdout, stderr = (end.theirs for end in ends)
            self._process = await processes.start(argv, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, isolation=isolation)
        except BaseException:
            self.status = "killed"
            self.close()
            raise
        else:
            self.status = "running"
            for end in ends:
                end.release()
        finally:
            self.notify()

    async def watch(self, hard_timeout: float | None) -> None:
        """Wait for the end, kill it after `hard_timeout` seconds, and store the output until then."""
        assert self._process
        late = False
        try:
            async with asyncio.timeout(hard_timeout):
                ended = await self._process.wait()
        except TimeoutError:
            late = True
            await self._process.kill(signal.SIGKILL)
            ended = await self._process.wait()
        await asyncio.gather(self.stdout.reader.settle(), self.stderr.reader.settle())
        self.stdin.close()
        self._end(ended, late)

    async def kill(self, number: int) -> None:
        """Send a signal to the command's process group. Does nothing once it has ended."""
        while self.status == "pending":
            await asyncio.wait([self._change])
        if self._process:
            await self._process.kill(number)

    def state(self) -> BashCommandState:
        """Describe the command as it is now."""
        return BashCommandState(command_id=self.id, command=self.text, status=self.status, exit_code=self.exit_code, signal=self.signal)

    def change(self) -> asyncio.Future[None]:
        """Return a future that is done at the next change of output or status. Get it before you look at the state."""
        return self._change

    async def wait(self, timeout: float | None) -> bool:
        """Wait until the command has ended, at most `timeout` seconds. Return whether it has."""
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        while not self.ended:
            remaining = None if deadline is None else deadline - loop.time()
            if remaining is not None and remaining <= 0:
                return False
            await asyncio.wait([self._change], timeout=remaining)
        return True

    def notify(self) -> None:
        """Wake the waiters."""
        changed, self._change = self._change, asyncio.get_running_loop().create_future()
        changed.set_result(None)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the output readable meanwhile, even if the session is closed."""
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            self._forget_if_unread()

    def drop(self) -> None:
        """Drop the output once nobody reads it.

        The pipes are still drained, so that background processes do not fail.
        """
        self._dropped = True
        self._forget_if_unread()

    def close(self) -> None:
        """Drop the output and close the pipes. A process that still writes gets SIGPIPE."""
        self.drop()
        for end in (self.stdin, self.stdout.reader, self.stderr.reader):
            end.close()

    def _forget_if_unread(self) -> None:
        if self._dropped and not self._holders:
            self.stdout.spool.close()
            self.stderr.spool.close()

    def _end(self, ended: Exit, late: bool) -> None:
        self.exit = ended
        self.ended_at = asyncio.get_running_loop().time()
        if ended.code is not None:
            self.status = "completed"
        else:
            self.status = "timed_out" if late else "killed"
        self.notify()
