"""One execution in a kernel: its outputs so far, its result, and its waiters."""

import asyncio
import json
import secrets
import signal as signals
from typing import Literal

from sandbox_server.core.errors import Failure
from sandbox_server.core.tasks import start_task
from sandbox_server.drivers.ipc.json_lines import JsonLine
from sandbox_server.drivers.kernels.kernel import Kernel, KernelEnded, OutputBounds
from sandbox_server.drivers.kernels.outputs import MAX_DEPTH, KernelOutput, is_nested_deeper, merge, read
from sandbox_server.drivers.kernels.relay_client import RelayEnded
from sandbox_server.drivers.kernels.relay_execution import PIECE, weight
from sandbox_server.drivers.spawn.process import Exit

MAY_RUN_ON = "what this put out from then on is lost; it may run on, and what it knows is there for the next execution"
INTERRUPT_GRACE = 3.0
"""Seconds for code to end after an interrupt. Then its kernel is ended."""

_SIGNALS = {number.value: number.name for number in signals.Signals}
"""Names of signals. Most real-time signals have none."""

MAX_DIGITS = 20
"""Limit of digits of an exit code."""
MAX_DROPPED = 1 << 60
"""Limit of the number of dropped bytes that a relay may claim."""

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
        """0 on success, 1 for an exception, the code of a SystemExit; None if the code was ended from outside."""
        self.dropped = 0
        """Bytes of output over the limit, which are lost."""
        self.notes: list[str] = []
        """Notes for the caller, in sentences."""
        self.begun = asyncio.Event()
        """Set when the kernel has begun with the code, or the execution has ended."""
        self._change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._room = self._count = 0

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.status != "running"

    @property
    def shown(self) -> list[KernelOutput]:
        """The outputs as a notebook would show them."""
        return merge(self.outputs)

    @property
    def traceback(self) -> list[str] | None:
        """The traceback of the exception that ended it, if any."""
        return next((output.traceback for output in reversed(self.outputs) if output.output_type == "error"), None)

    def change(self) -> asyncio.Future[None]:
        """Return a future that is done at the next output or at the end. Get it before you look at the state."""
        return self._change

    async def wait(self) -> None:
        """Wait until it has ended. Its timeout bounds the wait."""
        while not self.ended:
            await asyncio.wait([self._change])

    async def run(self, kernel: Kernel, bounds: OutputBounds, timeout: float) -> None:
        """Run in a kernel. After `timeout` seconds it is interrupted, and its kernel is ended if that does not help."""
        self._room, self._count = bounds.room, bounds.count + bounds.room // PIECE
        running = start_task(kernel.execute(self.code, bounds, self._take, self.begun.set))
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
            if not self.ended:  # never leave a waiter behind
                self._become("error")

    def fail(self, name: str, text: str) -> None:
        """End with an error that is not from the code itself."""
        self._add(KernelOutput("error", ename=name, evalue=text, traceback=[f"{name}: {text}"]))
        self._become("error")

    async def _hurry(self, kernel: Kernel, running: asyncio.Future[JsonLine]) -> None:
        await kernel.interrupt()
        if not (await asyncio.wait([running], timeout=INTERRUPT_GRACE))[0] or not await kernel.sweep():
            self.notes.append("the code did not react to an interrupt, so its kernel was ended, and its variables with it")
            await kernel.close()

    def _take(self, line: JsonLine) -> None:
        """Take an output. The limits are applied here too, because the relay runs in the agent's box."""
        if is_nested_deeper(line):
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
    """Return the exit code that a script with this result would have."""
    name, text = reply.get("ename"), str(reply.get("evalue"))
    if name != "SystemExit":
        return 1
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS):
        return int(text not in ("", "None"))
    return int(text) & 0xFF
