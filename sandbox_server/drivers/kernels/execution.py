"""One execution in a kernel: what it has put out so far, how it ended, and who waits for that."""

import asyncio
import json
import secrets
import signal as signals
from typing import Literal

from sandbox_server.core.errors import Failure
from sandbox_server.drivers.ipc.json_lines import JsonLine
from sandbox_server.drivers.kernels.kernel import Kernel, KernelEnded, OutputBounds
from sandbox_server.drivers.kernels.outputs import MAX_DEPTH, KernelOutput, merge, nested, read
from sandbox_server.drivers.kernels.relay_client import RelayEnded
from sandbox_server.drivers.kernels.relay_execution import PIECE, weight
from sandbox_server.drivers.spawn.process import Exit

MAY_RUN_ON = "what this put out from then on is lost; it may run on, and what it knows is there for the next execution"
INTERRUPT_GRACE = 3.0
"""Seconds that code has to end once it was interrupted; then its kernel is ended."""

_SIGNALS = {number.value: number.name for number in signals.Signals}
"""Names of signals; most of the real-time ones have none."""

MAX_DIGITS = 20
"""Digits of an exit code that are read as a number."""
MAX_DROPPED = 1 << 60
"""The most bytes that are believed to be dropped."""

type Status = Literal["running", "ok", "error", "timeout"]


class Execution:
    """Code that runs, or ran, in a kernel."""

    def __init__(self, code: str) -> None:
        self.id = secrets.token_hex(8)
        self.code = code
        self.status: Status = "running"
        self.outputs: list[KernelOutput] = []
        self.execution_count: int | None = None
        self.exit_code: int | None = None
        """0 when all went well, 1 for an exception, the code of a SystemExit; None where nothing ended of its own accord."""
        self.dropped = 0
        """Bytes of output over the limit, of which nothing is kept."""
        self.notes: list[str] = []
        """What a caller should know, in sentences."""
        self.begun = asyncio.Event()
        """The kernel has begun with it, or it is over."""
        self._change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._room = self._count = 0

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.status != "running"

    @property
    def shown(self) -> list[KernelOutput]:
        """The outputs as a notebook would show them."""
        return merge(self.outputs)

    @property
    def traceback(self) -> list[str] | None:
        """Of the exception that ended it, if one did."""
        return next((output.traceback for output in reversed(self.outputs) if output.output_type == "error"), None)

    def change(self) -> asyncio.Future[None]:
        """Give a future that is done at the next output or at the end; ask before looking, wait after."""
        return self._change

    async def wait(self) -> None:
        """Wait until it is over; its own bound is the timeout that it runs with."""
        while not self.ended:
            await asyncio.wait([self._change])

    async def run(self, kernel: Kernel, bounds: OutputBounds, timeout: float) -> None:
        """Run in a kernel; after `timeout` seconds it is interrupted, and its kernel ended if that does not help."""
        self._room, self._count = bounds.room, bounds.count + bounds.room // PIECE
        running = asyncio.ensure_future(kernel.execute(self.code, bounds, self._take, self.begun.set))
        late = not (await asyncio.wait([running], timeout=timeout))[0]
        try:
            if late:
                await self._hurry(kernel, running)
            self._end(await running, late=late)
        except KernelEnded as death:
            self._die(death.exit, late=late)
        except Failure as failure:
            if isinstance(failure, RelayEnded):
                self.notes.append(MAY_RUN_ON)
            self._give_up(failure, late=late)
        finally:
            running.cancel()
            if not self.ended:  # whatever happened, nobody may wait for it any more
                self._become("error")

    def fail(self, name: str, text: str) -> None:
        """End with an error that is not of the code's own."""
        self._add(KernelOutput("error", ename=name, evalue=text, traceback=[f"{name}: {text}"]))
        self._become("error")

    async def _hurry(self, kernel: Kernel, running: asyncio.Future[JsonLine]) -> None:
        await kernel.interrupt()
        if not (await asyncio.wait([running], timeout=INTERRUPT_GRACE))[0] or not await kernel.sweep():
            self.notes.append("the code did not react to an interrupt, so its kernel was ended, and its variables with it")
            await kernel.close()

    def _take(self, line: JsonLine) -> None:
        """Take an output; the bounds are kept here, too: whoever passes it on is in the agent's box."""
        if nested(line):
            self._note(f"an output with objects more than {MAX_DEPTH} deep in one another was not kept")
            return
        output = read(line)
        if output is None:
            return
        size = weight(output.text or "") if output.output_type == "stream" else len(json.dumps(line))
        if size > self._room or self._count <= 0:
            self.dropped += size
            return
        self._room -= size
        self._count -= 1
        self._add(output)

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _add(self, output: KernelOutput) -> None:
        self.outputs.append(output)
        self._notify()

    def _end(self, reply: JsonLine, *, late: bool) -> None:
        count, dropped = reply.get("execution_count"), reply.get("dropped")
        self.execution_count = count if isinstance(count, int) else None
        self.dropped += dropped if isinstance(dropped, int) and 0 < dropped <= MAX_DROPPED else 0
        if self.dropped:
            self.notes.append(f"{self.dropped} bytes of output were over the limit and were not kept")
        if reply.get("complete") is False:
            self.notes.append("the kernel did not say that its output is complete")
        if late:
            self._become("timeout")
            return
        self.exit_code = 0 if reply.get("status") == "ok" else _exit_code(reply)
        self._become("ok" if reply.get("status") == "ok" else "error")

    def _die(self, observed: Exit, *, late: bool) -> None:
        how = f"by {_SIGNALS.get(observed.signal, f'signal {observed.signal}')}" if observed.signal else f"with exit code {observed.code}"
        if late:
            self._become("timeout")
            return
        self.exit_code = observed.code
        self.notes.append("the kernel ended while it ran this; the next execution gets a new one, without its variables")
        self.fail("KernelEnded", f"the kernel ended {how}" if not observed.lost else "how the kernel ended was not observed")

    def _give_up(self, failure: Failure, *, late: bool) -> None:
        if late:
            self._become("timeout")
        else:
            self.fail(type(failure).__name__, failure.message)

    def _become(self, status: Status) -> None:
        self.status = status
        self.begun.set()
        self._notify()

    def _notify(self) -> None:
        changed, self._change = self._change, asyncio.get_running_loop().create_future()
        changed.set_result(None)


def _exit_code(reply: JsonLine) -> int:
    """What a process that ran this as a script would have ended with."""
    name, text = reply.get("ename"), str(reply.get("evalue"))
    if name != "SystemExit":
        return 1
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS):
        return int(text not in ("", "None"))
    return int(text) & 0xFF
