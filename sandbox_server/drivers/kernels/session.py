"""A kernel session: a name, its current kernel, and its latest executions."""

import asyncio
from collections import deque
from collections.abc import Callable

from sandbox_server.core.errors import Conflict, InvalidArgument, NotFound, Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.kernels.execution import Execution
from sandbox_server.drivers.kernels.kernel import Kernel, KernelEnded, OutputBounds
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.session_table import LastUse

RETRY_AFTER = 1.0
KEPT_EXECUTIONS = 2
"""Executions whose output can still be read."""


class JupyterSession:
    """One session. Its code runs one piece after the other.

    `implicit`: made for a caller that named no session. `once`: for one execution; its kernel keeps its initial name.
    `isolation` applies to all of its kernels.
    """

    def __init__(
        self,
        session_id: str,
        kernel_name: str,
        kernels: Kernels,
        tasks: Tasks,
        *,
        implicit: bool = False,
        once: bool = False,
        isolation: IsolationPolicy | None = None,
    ) -> None:
        self.id = session_id
        self.kernel_name = kernel_name
        self.implicit = implicit
        self.isolation = isolation
        self.last_use = LastUse()
        self.closed = False
        self._once = once
        self._kernels = kernels
        self._tasks = tasks
        self._kernel: Kernel | None = None
        self._directory: str | None = None
        self._free = asyncio.Lock()
        self._executions: deque[Execution] = deque(maxlen=KEPT_EXECUTIONS)

    @property
    def busy(self) -> bool:
        """Whether code runs in it, or is about to."""
        return self._free.locked()

    @property
    def idle_seconds(self) -> float:
        """Seconds since anything ran in it."""
        return 0.0 if self.busy else self.last_use.seconds_ago

    def execution(self, execution_id: str) -> Execution:
        """Return one of the latest executions; raises NotFound."""
        for execution in self._executions:
            if execution.id == execution_id:
                return execution
        raise NotFound("Execution not found", execution_id=execution_id, hint=f"a session keeps its last {KEPT_EXECUTIONS}")

    async def open(self, directory: str | None) -> None:
        """Start its kernel, in a directory if given.

        Raises InvalidArgument if it cannot be entered, and Unavailable.
        """
        _require_absolute(directory)
        async with self._free:
            await self._ready(directory)

    async def begin(self, code: str, *, timeout: float, bounds: OutputBounds, directory: str | None = None) -> Execution:
        """Start to run code once earlier code has ended. Return the execution, which continues by itself.

        Raises Conflict if earlier code does not end within `timeout` seconds, InvalidArgument and Unavailable as
        `open`.
        """
        _require_absolute(directory)
        await self._turn(timeout)
        try:
            execution = Execution(code)
            kernel = await self._ready(directory, execution.notes.append)
            self._executions.append(execution)
        except BaseException:
            self._free.release()
            raise
        self._tasks.start(self._run(execution, kernel, bounds, timeout), name=f"execution {execution.id}")
        return execution

    async def interrupt(self) -> bool:
        """Interrupt the running code, or the next code as soon as it begins. Return False if there is none."""
        execution = self._executions[-1] if self.busy and self._executions else None
        if execution is None:
            return False
        await execution.begun.wait()
        if execution.ended or self._kernel is None:
            return False
        await self._kernel.interrupt()
        return True

    async def close(self) -> None:
        """End its kernel, and the code in it."""
        self.closed = True
        kernel, self._kernel = self._kernel, None
        if kernel:
            await kernel.close()

    async def _turn(self, timeout: float) -> None:
        try:
            async with asyncio.timeout(timeout):
                await self._free.acquire()
        except TimeoutError:
            raise Conflict(
                f"session {self.id!r} still runs other code after {timeout:g} s", session_id=self.id, hint="interrupt it"
            ) from None

    async def _ready(self, directory: str | None, note: Callable[[str], None] | None = None) -> Kernel:
        try:
            return await self._prepare(directory, note)
        except KernelEnded:
            raise Unavailable("the kernel ended before the code began", session_id=self.id, retry_after=RETRY_AFTER) from None

    async def _prepare(self, directory: str | None, note: Callable[[str], None] | None) -> Kernel:
        if self.closed:
            raise NotFound("Session not found", session_id=self.id)
        if self._kernel is None or self._kernel.exit:
            directory = directory or self._directory
            if self._kernel and note:
                note("the kernel of this session had ended: this ran in a new one, without the variables of before")
            await self._renew(directory)
        assert self._kernel
        if directory:
            await self._kernel.enter(directory)
            self._directory = directory
        return self._kernel

    async def _renew(self, directory: str | None) -> None:
        ended, self._kernel = self._kernel, await self._kernels.take(self.kernel_name, self.isolation, directory)
        if not self._once:
            await self._kernel.name(f"jupyter:{self.id}", self.kernel_name)
        if ended:
            await ended.close()
        if self.closed:  # meanwhile
            await self._kernel.close()
            raise NotFound("Session not found", session_id=self.id)

    async def _run(self, execution: Execution, kernel: Kernel, bounds: OutputBounds, timeout: float) -> None:
        try:
            await execution.run(kernel, bounds, timeout)
        finally:
            self.last_use.touch()
            self._free.release()


def _require_absolute(directory: str | None) -> None:
    if directory and not directory.startswith("/"):
        raise InvalidArgument(f"cwd {directory!r} is not an absolute path", field="cwd")
