"""How the programs here drive E2B's SDK: one text for its blocking and its asynchronous client, which writes down what it called.

A program is run as `PROGRAM blocking|asynchronous`. It prints the names of the public methods that it called, as JSON.
"""

import asyncio
import functools
import inspect
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import e2b_code_interpreter
from e2b.sandbox_async.commands.command import Commands as AsyncCommands
from e2b.sandbox_async.commands.command_handle import AsyncCommandHandle
from e2b.sandbox_async.commands.command_input_handle import AsyncCommandInputHandle
from e2b.sandbox_async.commands.pty import Pty as AsyncPty
from e2b.sandbox_async.filesystem.filesystem import Filesystem as AsyncFilesystem
from e2b.sandbox_async.filesystem.watch_handle import AsyncWatchHandle
from e2b.sandbox_async.paginator import AsyncSandboxPaginator, AsyncSnapshotPaginator
from e2b.sandbox_sync.commands.command import Commands
from e2b.sandbox_sync.commands.command_handle import CommandHandle
from e2b.sandbox_sync.commands.pty import Pty
from e2b.sandbox_sync.filesystem.filesystem import Filesystem
from e2b.sandbox_sync.filesystem.watch_handle import WatchHandle
from e2b.sandbox_sync.paginator import SandboxPaginator, SnapshotPaginator

CLASSES: dict[str, tuple[type[Any], type[Any]]] = {
    "Sandbox": (e2b_code_interpreter.Sandbox, e2b_code_interpreter.AsyncSandbox),
    "commands": (Commands, AsyncCommands),
    "CommandHandle": (CommandHandle, AsyncCommandHandle),
    "pty": (Pty, AsyncPty),
    "files": (Filesystem, AsyncFilesystem),
    "WatchHandle": (WatchHandle, AsyncWatchHandle),
    "InputHandle": (AsyncCommandInputHandle, AsyncCommandInputHandle),
    "SandboxPaginator": (SandboxPaginator, AsyncSandboxPaginator),
    "SnapshotPaginator": (SnapshotPaginator, AsyncSnapshotPaginator),
}
"""The SDK's classes that programs use, blocking and asynchronous."""


def public(kind: type[Any]) -> set[str]:
    """The public methods of a class."""
    return {name for name, value in inspect.getmembers(kind) if not name.startswith("_") and callable(value)}


def methods() -> list[str]:
    """Every public method of the classes, of either client."""
    both = ((part, public(blocking) | public(other)) for part, (blocking, other) in CLASSES.items())
    return sorted(f"{part}.{name}" for part, names in both for name in names)


BLOCKING = sys.argv[1:] == ["blocking"]
called: set[str] = set()


def _noted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def run(*arguments: Any, **named: Any) -> Any:
        called.add(name)
        return call(*arguments, **named)

    return run


class Noting:
    """Passes every call on, and writes down the name of each method."""

    def __init__(self, part: str, target: Any) -> None:
        self._part = part
        self._target = target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if name in ("commands", "files", "pty"):
            return Noting(name, value)
        return _noted(f"{self._part}.{name}", value) if callable(value) else value


def noted(part: str, target: Any) -> Any:
    """An object whose methods are written down when they are called."""
    return Noting(part, target)


async def it(value: Any) -> Any:
    """The value itself, or what it is awaited for."""
    return await value if inspect.isawaitable(value) else value


async def pieces(stream: Iterable[bytes] | AsyncIterator[bytes]) -> bytes:
    """All of a stream of either client."""
    if isinstance(stream, AsyncIterator):
        return b"".join([piece async for piece in stream])
    return b"".join(stream)


async def feed(part: Any, pid: int, *lines: str) -> None:
    """Give a process lines in a stream, as each client does."""
    if BLOCKING:
        part.stream_input(pid, iter(lines))
        return
    handle = noted("InputHandle", await it(part.stream_input(pid)))
    for line in lines:
        await it(handle.send(line))
    await it(handle.close())


async def refused(kind: type[Exception], call: Callable[[], Any]) -> Exception:
    """The failure of a call, which must be of a kind."""
    try:
        await it(call())
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__} was raised")


def run(program: Callable[[Any], Awaitable[None]]) -> None:
    """Run a program with the client that the command line names."""
    [blocking, other] = CLASSES["Sandbox"]
    kind = blocking if BLOCKING else other
    asyncio.run(_run(program, noted("Sandbox", kind)))
    sys.stdout.write(json.dumps(sorted(called)))
    sys.stdout.flush()
    os._exit(0)  # without the interpreter's own end: at times a thread of the SDK's pyqwest 0.12.0 aborts it there


async def _run(program: Callable[[Any], Awaitable[None]], sandbox: Any) -> None:
    async with asyncio.timeout(500):
        await program(sandbox)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(methods()))
