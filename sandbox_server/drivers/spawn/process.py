"""Processes of the agent, started through the spawner and followed over its socket.

They are not children of this process: the spawner forks, becomes the agent, executes the program and reports how it
ended.
"""

import asyncio
import errno
import signal as signals
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Literal

from sandbox_server.core.errors import (
    Conflict,
    DeadlineExceeded,
    Failure,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    TooLarge,
    Unavailable,
)
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.ipc import connect_with_retry, descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import MalformedMessageError, Message
from sandbox_server.drivers.spawn.child_setup import OOM_SCORE
from sandbox_server.drivers.spawn.pipes import Capture, PipeReader, PipeWriter
from sandbox_server.drivers.spawn.process_environment import ProcessEnvironment
from sandbox_server.timeouts import scaled

START_TIMEOUT = scaled(30.0)
"""Seconds for a process to start. A working directory on a dead network file system would block for ever."""
KILL_GRACE = 1.0
"""Seconds for a killed process to end. One that is stuck in the kernel is not waited for."""
RETRY_AFTER = 1.0
"""Seconds after which a spawner that is down is expected back."""

NEEDED_FOR_ISOLATION = (
    "needs a kernel with Landlock, and user namespaces: --security-opt seccomp=deploy/seccomp/tandem.json; "
    "GET /v1/doctor tells which is missing"
)

User = Literal["agent", "desktop", "root"]

_KINDS: dict[int, type[Failure]] = {
    errno.ENOENT: NotFound,
    errno.ENOTDIR: NotFound,
    errno.EACCES: PermissionDenied,
    errno.EPERM: PermissionDenied,
    errno.E2BIG: TooLarge,
    errno.EAGAIN: ResourceExhausted,
    errno.ENOMEM: ResourceExhausted,
    errno.EMFILE: ResourceExhausted,
    errno.ENFILE: ResourceExhausted,
    errno.ETXTBSY: Conflict,
}


class NoZygote(NotFound):
    """No zygote of that name runs."""


@dataclass(frozen=True)
class Exit:
    """How a process ended: by `code` or by `signal`; neither if the spawner died first."""

    code: int | None
    signal: int | None

    @property
    def lost(self) -> bool:
        """Whether the end was not observed. The process may still run."""
        return self.code is None and self.signal is None


@dataclass(frozen=True)
class Completed:
    """The result of `Processes.run`. `truncated` if a stream was longer than allowed, by `dropped` bytes."""

    exit: Exit
    stdout: bytes
    stderr: bytes
    truncated: bool
    dropped: int = 0


LOST = Exit(None, None)


class Process:
    """A running or ended process, made by `Processes.start`."""

    def __init__(self, pid: int, sock: socket.socket) -> None:
        self.pid = pid
        self.exit: Exit | None = None
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._ended: asyncio.Future[Exit] = self._loop.create_future()
        self._loop.add_reader(sock.fileno(), self._on_packet)

    async def wait(self) -> Exit:
        """Wait until the process has ended, without a time limit."""
        return await asyncio.shield(self._ended)

    async def kill(self, signal: int = signals.SIGTERM, *, group: bool = True) -> None:
        """Send a signal to the process, or to its whole group. Does nothing once it has ended."""
        if self.exit is None:
            with suppress(OSError):  # the spawner is gone: `exit` says so at the next turn of the loop
                descriptor_passing.send(self._sock, {"kill": signal, "group": group})

    def _on_packet(self) -> None:
        try:
            message, fds = descriptor_passing.receive(self._sock)
        except BlockingIOError:
            return
        except (OSError, MalformedMessageError):
            message, fds = None, []
        descriptor_passing.close_all(fds)
        self._end(LOST if message is None else Exit(message.get("exit"), message.get("signal")))

    def _end(self, observed: Exit) -> None:
        self._loop.remove_reader(self._sock.fileno())
        self._sock.close()
        self.exit = observed
        self._ended.set_result(observed)


class Processes:
    """Starts processes of the agent through the spawner at `socket_path`.

    Waits up to `retry_seconds` seconds for the spawner. Each process gets the variables that `environment` has at its start.
    """

    def __init__(self, socket_path: str, retry_seconds: float = 0.0, environment: ProcessEnvironment | None = None) -> None:
        self._socket_path = socket_path
        self._retry_seconds = retry_seconds
        self._environment = environment or ProcessEnvironment()

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that processes get beside the container's environment."""
        return self._environment.variables

    async def start(
        self,
        argv: Sequence[str],
        *,
        user: User = "agent",
        cwd: str | None = None,
        env: Mapping[str, str | None] | None = None,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        pipe: tuple[int, int] | None = None,
        on_disconnect: Literal["kill", "keep"] = "kill",
        on_exit: Literal["kill", "keep"] = "keep",
        oom_score: int = OOM_SCORE,
        limits: Mapping[str, int] | None = None,
        isolation: IsolationPolicy | None = None,
        zygote: str | None = None,
        forked_from: str | None = None,
    ) -> Process:
        """Start a program in a session and process group of its own.

        - `cwd`: None means the workspace.
        - `env`: added to the agent's clean environment. A value None removes a variable.
        - `stdin`, `stdout`, `stderr`: descriptors that stay the caller's; None means /dev/null.
        - `pipe`: the descriptors that the process reads as 3 and writes as 4.
        - `on_disconnect`: what happens to the process when this server ends.
        - `on_exit`: what happens to the rest of its process group when it ends.
        - `oom_score`: up to 1000. When memory runs out, the kernel kills the process with the highest score first.
        - `limits`: rlimits by name: nproc, nofile, as, data, core, fsize, cpu.
        - `isolation`: the policy that is enforced before the program is executed.
        - `zygote`: makes the program a zygote of that name, which serves fork requests on descriptor 3 (module `zygote`).
        - `forked_from`: executes no program. The zygote of that name forks and gets `argv`.

        Raises NoZygote, NotFound (no such program or directory), PermissionDenied, InvalidArgument, TooLarge (argv and environment),
        ResourceExhausted (no process or memory left), Unavailable (the spawner is down), and Conflict (this host cannot enforce
        `isolation`).
        """
        reads, writes = pipe or (None, None)
        streams = {"stdin": stdin, "stdout": stdout, "stderr": stderr, "reads": reads, "writes": writes}
        given = {name: fd for name, fd in streams.items() if fd is not None}
        body: Message = {
            "argv": list(argv),
            "user": user,
            "cwd": cwd,
            "env": {**self.environment, **(env or {})},
            "fds": list(given),
            "on_disconnect": on_disconnect,
            "on_exit": on_exit,
            "oom_score": oom_score,
            "limits": dict(limits or {}),
            "isolation": asdict(isolation) if isolation else None,
            **({"zygote": zygote} if zygote else {}),
            **({"forked_from": forked_from} if forked_from else {}),
        }
        sock, reply, _ = await self._ask(body, list(given.values()))
        return Process(reply["pid"], sock)

    async def run(
        self,
        argv: Sequence[str],
        *,
        user: User = "agent",
        cwd: str | None = None,
        env: Mapping[str, str | None] | None = None,
        input: bytes = b"",  # noqa: A002 - the word subprocess uses
        timeout: float,
        max_output: int,
        limits: Mapping[str, int] | None = None,
        isolation: IsolationPolicy | None = None,
    ) -> Completed:
        """Run a program to its end and return its output, at most `max_output` bytes of each stream.

        Raises as `start` does, and DeadlineExceeded after `timeout` seconds, when its process group is killed.
        """
        out, err = Capture(max_output), Capture(max_output)
        with PipeReader(out.take) as stdout, PipeReader(err.take) as stderr, PipeWriter(len(input)) as stdin:
            process = await self.start(
                argv,
                user=user,
                cwd=cwd,
                env=env,
                stdin=stdin.theirs if input else None,
                stdout=stdout.theirs,
                stderr=stderr.theirs,
                limits=limits,
                isolation=isolation,
            )
            for end in (stdin, stdout, stderr):
                end.release()
            stdin.feed(input)
            stdin.end()
            ended = await _wait_or_kill(process, timeout)
            await asyncio.gather(stdout.settle(), stderr.settle())
        return Completed(ended, out.bytes(), err.bytes(), out.truncated or err.truncated, out.dropped + err.dropped)

    async def worker(self, user: User = "agent") -> socket.socket:
        """Fork a file worker and return its non-blocking stream socket. Closing the socket kills the worker.

        Raises PermissionDenied, ResourceExhausted and Unavailable as `start` does.
        """
        sock, _, fds = await self._ask({"worker": True, "user": user})
        sock.close()
        served = socket.socket(fileno=fds[0])
        served.setblocking(False)
        return served

    async def _ask(self, body: Message, fds: Sequence[int] = ()) -> tuple[socket.socket, Message, list[int]]:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        try:
            with _named_failures():
                async with asyncio.timeout(START_TIMEOUT):
                    await connect_with_retry.connect(sock, self._socket_path, self._retry_seconds)
                    descriptor_passing.send_request(sock, body, fds)
                    await _until_readable(sock)
                reply, received = descriptor_passing.receive(sock)
            return sock, _accepted(reply, body), received
        except BaseException:
            sock.close()
            raise


async def _until_readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()

    def ready() -> None:
        if not readable.done():
            readable.set_result(None)

    loop.add_reader(sock.fileno(), ready)
    try:
        await readable
    finally:
        loop.remove_reader(sock.fileno())


async def _wait_or_kill(process: Process, timeout: float) -> Exit:
    try:
        async with asyncio.timeout(timeout):
            return await process.wait()
    except TimeoutError:
        raise DeadlineExceeded(f"the program did not end within {timeout:g} s") from None
    finally:
        if process.exit is None:
            await put_down(process)


async def put_down(process: Process) -> None:
    """Kill a process and its group, and wait for its end, at most KILL_GRACE seconds."""
    await process.kill(signals.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(KILL_GRACE):
            await process.wait()


@contextmanager
def _named_failures() -> Iterator[None]:
    """Name what goes wrong between the spawner and us."""
    try:
        yield
    except MalformedMessageError as error:
        raise TooLarge(str(error)) from error
    except TimeoutError as error:
        raise _down(f"it did not answer within {START_TIMEOUT:g} s") from error
    except OSError as error:
        raise _down(error.strerror or str(error)) from error


def _down(reason: str) -> Unavailable:
    return Unavailable(f"processes cannot be started now: {reason}", retry_after=RETRY_AFTER)


def _accepted(reply: Message | None, body: Message) -> Message:
    if reply is None:
        raise _down("the spawner went away before the process had started")
    if "error" not in reply:
        return reply
    number, subject = int(reply["error"]), reply["subject"]
    if subject == "zygote":
        raise NoZygote(str(reply["message"]))
    if subject == "isolation":
        raise not_isolated(number, str(reply["field"]), str(reply["message"]))
    named = {"cwd": body.get("cwd"), "program": (body.get("argv") or [None])[0]}.get(subject)
    label = "working directory" if subject == "cwd" else subject
    kind = _KINDS.get(number, InvalidArgument)
    what = f"{label} {named!r}" if named else label
    raise kind(f"cannot start: {what}: {reply['message']}", subject=subject, errno=number)


def not_isolated(number: int, field: str, reason: str) -> Failure:
    """The failure that says why a part of an isolation policy was refused: InvalidArgument for a path that is wrong, else Conflict."""
    name = field if field == "isolation" else f"isolation.{field}"
    if number in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG):
        return InvalidArgument(f"{name} is wrong: {reason}", field=name, errno=number)
    return Conflict(f"{name} cannot be enforced here: {reason}; nothing was run", hint=NEEDED_FOR_ISOLATION, field=name, errno=number)
