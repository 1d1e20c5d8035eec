"""JavaScript and TypeScript that runs once, in its own process and in a temporary directory."""

import asyncio
import secrets
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from sandbox_server.core.errors import Failure, FileError, InvalidArgument, NotFound
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.ipc.json_lines import JsonLines
from sandbox_server.drivers.nodes import outcome
from sandbox_server.drivers.nodes.nodes import SETUP, Node
from sandbox_server.drivers.nodes.outcome import LATE_CODE, NodeOutcome, Thrown
from sandbox_server.drivers.spawn.child_setup import SESSION
from sandbox_server.drivers.spawn.pipes import Capture, PipeReader, PipeWriter
from sandbox_server.drivers.spawn.process import Process, Processes, put_down

PRELUDE = (SETUP / "prelude.mjs").as_uri()
GRACE = 1.0
"""Seconds that a program has to end after SIGTERM."""
FILE_SECONDS = 30.0
TOLD_SECONDS = 1.0
"""Seconds to wait for the report of the exception that ended a program. Child processes that it left may hold the socket."""
MAX_TOLD = 16 << 20
"""Limit in bytes of that report."""


@dataclass(frozen=True, slots=True)
class NodeProgram:
    """The program to run.

    With `directory` None, it runs in a new directory of the workspace, which is removed afterwards.
    """

    code: str
    typescript: bool = False
    stdin: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    directory: str | None = None
    isolation: IsolationPolicy | None = None


@dataclass(frozen=True, slots=True)
class NodeLimits:
    """The limits of one program: bytes kept of each stream, bytes of memory, seconds."""

    output: int
    memory: int
    timeout: float


class NodeScripts:
    """Runs programs. `workspace` is where their directories are made, `limits` are rlimits beside the memory's."""

    def __init__(self, processes: Processes, files: Files, *, workspace: str, limits: Mapping[str, int] | None = None) -> None:
        self._processes = processes
        self._files = files
        self._workspace = workspace
        self._limits = limits or {}

    async def run(self, node: Node, program: NodeProgram, limits: NodeLimits) -> NodeOutcome:
        """Run a program to its end or its timeout, after which it is terminated and then killed.

        Raises InvalidArgument for an unusable directory or file name, and as `Processes.start` does.
        """
        async with self._program_files(program) as (directory, main):
            argv = node.argv("--import", PRELUDE, main, typescript=program.typescript)
            out, err = Capture(limits.output), Capture(limits.output)
            stdin = program.stdin.encode("utf-8", "surrogateescape")
            async with JsonLines(MAX_TOLD) as told:
                with PipeReader(out.take) as stdout, PipeReader(err.take) as stderr, PipeWriter(len(stdin)) as given:
                    process = await self._processes.start(
                        argv,
                        cwd=directory,
                        stdin=given.theirs if stdin else None,
                        stdout=stdout.theirs,
                        stderr=stderr.theirs,
                        pipe=(told.theirs, told.theirs),
                        on_exit="kill",
                        env={SESSION: "nodejs:program"},
                        limits={"data": limits.memory, "core": 0, **self._limits},
                        isolation=program.isolation,
                    )
                    for end in (stdout, stderr, given, told):
                        end.release()
                    given.feed(stdin)
                    given.end()
                    late = await _timed_out(process, limits.timeout)
                    await asyncio.gather(stdout.settle(), stderr.settle())
                return _outcome(process, out, err, await _error(told), late=late)

    @asynccontextmanager
    async def _program_files(self, program: NodeProgram) -> AsyncIterator[tuple[str, str]]:
        """Write the program and its files; yield the directory and the program's own file."""
        name = secrets.token_hex(6)
        directory = program.directory or f"{self._workspace}/.node-{name}"
        main = f"{directory}/.main-{name}.{'ts' if program.typescript else 'js'}"
        try:
            if program.directory:
                await self._require(directory)
            await self.write(directory, program.files)
            await self._write({main: program.code})
            yield directory, main
        except NotFound as error:
            raise InvalidArgument(error.message) from error
        finally:
            with suppress(Failure):
                access = self._files.access("delete", timeout=FILE_SECONDS)
                await access.delete(main if program.directory else directory, recursive=True, missing_ok=True)

    async def write(self, directory: str, files: Mapping[str, str]) -> None:
        """Write files by paths relative to a directory.

        Raises InvalidArgument for a path outside of it or one that cannot be written.
        """
        await self._write(_inside(directory, files))

    async def _require(self, directory: str) -> None:
        try:
            await self._files.access("stat", timeout=FILE_SECONDS).stat(directory)
        except FileError as error:
            raise InvalidArgument(f"cannot run in {directory!r}: {error.message}", cwd=directory) from error

    async def _write(self, files: Mapping[str, str]) -> None:
        access = self._files.access("write", timeout=FILE_SECONDS)
        for path, text in files.items():
            try:
                await access.write(path, text.encode("utf-8", "surrogateescape"))
            except FileError as error:
                raise InvalidArgument(f"{path} cannot be written: {error.message}", path=path) from error


def _inside(directory: str, files: Mapping[str, str]) -> dict[str, str]:
    for name in files:
        if not name or name.startswith("/") or ".." in name.split("/") or "\0" in name:
            raise InvalidArgument(f"file name {name!r} is outside the program's directory", file=name)
    return {f"{directory}/{name}": text for name, text in files.items()}


async def _timed_out(process: Process, timeout: float) -> bool:
    """Wait for the end, at most `timeout` seconds. Return whether it was too late."""
    try:
        async with asyncio.timeout(timeout):
            await process.wait()
            return False
    except TimeoutError:
        await process.kill(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await process.wait()
        return True
    finally:
        await put_down(process)


async def _error(told: JsonLines) -> Thrown | None:
    """Return the exception that the program reported, if any."""
    with suppress(TimeoutError):
        async with asyncio.timeout(TOLD_SECONDS):
            line = await told.receive()
            return outcome.thrown(line.get("error")) if line else None
    return None


def _outcome(process: Process, out: Capture, err: Capture, error: Thrown | None, *, late: bool) -> NodeOutcome:
    dropped = out.dropped + err.dropped
    notes = outcome.left_out(dropped)
    if late:
        return NodeOutcome("timeout", LATE_CODE, outcome.text(out), outcome.text(err), error, notes=notes, dropped=dropped)
    assert process.exit
    code = outcome.exit_code(process.exit)
    if process.exit.lost:
        notes += ("how the program ended was not observed",)
    return NodeOutcome("error" if code else "ok", code, outcome.text(out), outcome.text(err), error, notes=notes, dropped=dropped)
