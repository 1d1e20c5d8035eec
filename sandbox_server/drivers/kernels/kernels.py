"""The installed Pythons, and kernels for them. Kernels of the default Python come from a warm pool."""

import asyncio
import json
import secrets
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sandbox_server.core.errors import DeadlineExceeded, Failure, InvalidArgument, NotFound, PermissionDenied, Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.fence.__main__ import REFUSED
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.kernels.kernel import Kernel, KernelEnded, OutputTail
from sandbox_server.drivers.kernels.kernel_zygote import NAME_ROOM, KernelZygote
from sandbox_server.drivers.kernels.relay_client import RelayClient
from sandbox_server.drivers.kernels.warm_kernels import WarmKernels
from sandbox_server.drivers.spawn.child_setup import SESSION
from sandbox_server.drivers.spawn.pipes import PipeReader
from sandbox_server.drivers.spawn.process import Process, Processes, not_isolated
from sandbox_server.timeouts import scaled

PACKAGES = "/opt/kernel"
"""Below it, by version, are the packages that run a notebook's code."""
DEFAULT = "python3"
SCRIPT = str(Path(__file__).with_name("launch.py"))
FENCED = "sandbox_server.drivers.kernels.isolated_kernel"
START_SECONDS = scaled(60.0)
PROBE_SECONDS = scaled(20.0)
_FIND = """
for packages in "$1"/*/; do
  version=$(basename "$packages")
  for program in "/opt/python/$version/bin/python$version" "/usr/bin/python$version"; do
    if [ -x "$program" ]; then printf '%s\\t%s\\n' "$version" "$program"; break; fi
  done
done
printf '\\t%s\\n' "$(readlink -f "$(command -v python3)")"
"""


@dataclass(frozen=True, slots=True)
class Python:
    """One Python that can run a kernel."""

    version: str
    program: str
    packages: str

    @property
    def name(self) -> str:
        """The name of its kernel."""
        return f"python{self.version}"


class Pythons:
    """The agent's Pythons. They are looked up once, and again after nothing was found."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._found: dict[str, Python] = {}

    async def all(self) -> Mapping[str, Python]:
        """The Pythons by kernel name, the default `python3` first; it is also listed under its version."""
        if not self._found:
            self._found = await self._look()
        return self._found

    async def get(self, name: str) -> Python:
        """Return the Python of a kernel name; raises InvalidArgument with the known names."""
        found = await self.all()
        if name not in found:
            raise InvalidArgument(f"there is no kernel {name!r}", kernel_name=name, hint=f"available: {', '.join(found)}")
        return found[name]

    async def _look(self) -> dict[str, Python]:
        argv = ["bash", "-c", _FIND, "bash", PACKAGES]
        done = await self._processes.run(argv, timeout=PROBE_SECONDS, max_output=1 << 16)
        if done.exit.code != 0:
            raise Unavailable("the agent's Pythons cannot be listed: what looks for them failed")
        *lines, last = [line.split("\t") for line in done.stdout.decode().splitlines()]
        found = {f"python{version}": Python(version, program, f"{PACKAGES}/{version}") for version, program in lines}
        usual = next((python for python in found.values() if python.program == last[1]), None)
        return ({DEFAULT: usual} if usual else {}) | found


class Kernels:
    """Starts kernels; an asynchronous context manager, which ends the warm ones.

    `folder` is the agent's own, for the kernels' sockets. `default` is the default kernel name; `warm` keeps one of it
    ready. `memory` is a kernel's limit of private memory in bytes, `limits` are other rlimits. `private` is hidden from
    isolated kernels.
    """

    def __init__(
        self,
        processes: Processes,
        *,
        folder: str,
        default: str,
        memory: int,
        warm: bool,
        enabled: bool = True,
        limits: Mapping[str, int] | None = None,
        private: str = "",
    ) -> None:
        self.default = default
        self.pythons = Pythons(processes)
        self._processes = processes
        self._folder = folder
        self._limits = {"data": memory, "core": 0, **(limits or {})}
        self._private = private or folder
        self._enabled = enabled
        self._zygote: KernelZygote | None = None
        self._relay: RelayClient | None = None
        self._opening = asyncio.Lock()
        self._opened = AsyncExitStack()
        self._tasks = Tasks()
        self.warm = WarmKernels(self._start_default, self._tasks) if warm and enabled else None

    async def __aenter__(self) -> Self:
        if self.warm:
            self.warm.begin()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()
        if self.warm:
            await self.warm.close()
        await self._opened.aclose()

    async def take(self, name: str, isolation: IsolationPolicy | None = None, directory: str | None = None) -> Kernel:
        """Return a kernel that is ready to run code in the workspace. The caller closes it.

        An isolated one starts in `directory`, to which the policy's paths may be relative.

        Raises InvalidArgument for an unknown name, Unavailable if it cannot be started, Conflict if `isolation` cannot
        be enforced.
        """
        python = await self._python_of(name)
        if isolation:
            return await self._start(python, isolation, directory)
        default = await self.pythons.get(self.default)
        if self.warm and python == default and (kernel := await self.warm.take()):
            return kernel
        return await self._start(python)

    async def _python_of(self, name: str) -> Python:
        if not self._enabled:
            raise Unavailable("there are no kernels: the component jupyter is disabled")
        return await self.pythons.get(name)

    async def _start_default(self) -> Kernel:
        return await self._start(await self.pythons.get(self.default))

    async def _start(self, python: Python, isolation: IsolationPolicy | None = None, directory: str | None = None) -> Kernel:
        relay, tail, key = await self.relayed(), OutputTail(), secrets.token_hex(6)
        file = str((await relay.prepare("open", kernel=key))["file"])
        said = PipeReader(tail.take)
        try:
            env = {SESSION: f"jupyter:{key}".ljust(NAME_ROOM)}
            process = await self._start_process(python, isolation, file, env=env, cwd=directory, stdout=said.theirs, stderr=said.theirs)
        except (NotFound, PermissionDenied) as error:
            said.close()
            if directory:
                raise InvalidArgument(error.message, cwd=directory) from error
            raise Unavailable(f"{python.name} cannot be started: {error.message}") from error
        said.release()
        kernel = Kernel(key, file, process, said, relay)
        try:
            async with asyncio.timeout(START_SECONDS):
                await kernel.connect()
        except BaseException as error:
            await kernel.close()
            if isinstance(error, KernelEnded):
                if isolation and error.exit.code == REFUSED:
                    raise _isolation_failure(tail.text()) from error
                raise Unavailable(f"the kernel of {python.name} ended at its start: {tail.text()[-1000:]}") from error
            if isinstance(error, TimeoutError):
                raise DeadlineExceeded(f"the kernel of {python.name} did not answer within {START_SECONDS:g} s") from error
            raise
        return kernel

    async def _start_process(self, python: Python, isolation: IsolationPolicy | None, file: str, **options: Any) -> Process:
        """Start its process: forked if only the speed differs, else as a new program."""
        role, instead = ["kernels/kernel", file], [python.program, SCRIPT, python.packages, file]
        if isolation:
            private = [self._private, json.dumps(asdict(isolation)), file]
            role, instead = ["kernels/isolated", *private], [sys.executable, "-I", "-m", FENCED, *private, *instead[:-1]]
        options |= {"on_exit": "kill", "limits": self._limits}
        if self._zygote and python.program == self._zygote.program and _may_be_forked(isolation):
            return await self._zygote.start(role, instead, **options)
        return await self._processes.start(instead, **options)

    async def relayed(self) -> RelayClient:
        """Return the relay of all kernels. Raises Unavailable if there is no `python3` with a kernel."""
        async with self._opening:
            if self._relay is None:
                usual = (await self.pythons.all()).get(DEFAULT)
                if usual is None:
                    raise Unavailable("there is no kernel for the agent's python3")
                memory = self._limits["data"]
                zygote = KernelZygote(self._processes, program=usual.program, packages=usual.packages, memory=memory)
                self._zygote = await self._opened.enter_async_context(zygote)
                self._relay = await self._opened.enter_async_context(RelayClient(zygote, self._folder))
            return self._relay


def _may_be_forked(isolation: IsolationPolicy | None) -> bool:
    """Whether the policy allows everything that the zygote already has: its environment and its imports."""
    return isolation is None or (isolation.env is None and (isolation.read is None or "/" not in isolation.read.deny))


def _isolation_failure(said: str) -> Failure:
    """Return the failure for a kernel's fence that cannot be enforced."""
    try:
        refusal = json.loads(said)
        return not_isolated(int(refusal["error"]), str(refusal["field"]), str(refusal["message"]))
    except (ValueError, KeyError, TypeError):
        return Unavailable(f"the kernel ended before it was isolated: {said[-1000:]}")
