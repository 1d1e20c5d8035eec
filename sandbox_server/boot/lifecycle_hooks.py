"""Runs hooks: RUN_HOOK_INIT and RUN_HOOK_PRE_SERVICES before the services, RUN_HOOK_POST_READY, and shutdown hooks.

All of them run as the agent, because they may execute files from the agent's home. A process of its own starts each
kind, so that a hook that hangs delays nothing else.
"""

import asyncio
import http.client
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby

from sandbox_server.core.errors import Failure
from sandbox_server.drivers.spawn.process import KILL_GRACE, Exit, Processes
from sandbox_server.drivers.storage.shutdown_hooks import ShutdownHookStore
from sandbox_server.settings import Settings, ShutdownHook
from sandbox_server.timeouts import scaled

READY_POLL_SECONDS = 0.1
ANSWER_SECONDS = scaled(5.0)
SPAWNER_SECONDS = scaled(30.0)
"""Seconds for the spawner to listen after a start."""


def before_services(settings: Settings) -> bool:
    """Run RUN_HOOK_INIT, then RUN_HOOK_PRE_SERVICES, once the spawner listens. Return whether both succeeded.

    With RUN_HOOKS_STRICT, the second is skipped if the first fails.
    """
    commands = {"RUN_HOOK_INIT": settings.hooks.init, "RUN_HOOK_PRE_SERVICES": settings.hooks.pre_services}
    hooks = [ShutdownHook(name, command, settings.hooks.timeout) for name, command in commands.items() if command is not None]
    return asyncio.run(_in_order(hooks, Processes(settings.paths.socket("spawn"), SPAWNER_SECONDS), strict=settings.hooks.strict))


async def _in_order(hooks: Iterable[ShutdownHook], processes: Processes, *, strict: bool) -> bool:
    good = True
    for hook in hooks:
        good = await _run(hook, processes) and good
        if strict and not good:
            break
    return good


def post_ready(settings: Settings) -> None:
    """Run RUN_HOOK_POST_READY once every component is ready, however long that takes."""
    if settings.hooks.post_ready:
        while not is_ready(settings.paths.socket("api")):
            time.sleep(READY_POLL_SECONDS)
        hook = ShutdownHook("RUN_HOOK_POST_READY", settings.hooks.post_ready, settings.hooks.timeout)
        asyncio.run(_run(hook, Processes(settings.paths.socket("spawn"))))


def is_ready(path: str) -> bool:
    """Whether the API on this socket reports that every component is ready."""
    connection = http.client.HTTPConnection("localhost", timeout=ANSWER_SECONDS)
    try:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(ANSWER_SECONDS)
        connection.sock.connect(path)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


def shutdown(settings: Settings) -> None:
    """Run every shutdown hook, from the environment and from the API, within one common time limit; then end the folders."""
    hooks = [*settings.hooks.shutdown, *ShutdownHookStore(f"{settings.paths.run}/hooks.json").read()]
    if hooks:
        asyncio.run(_shutdown(hooks, Processes(settings.paths.socket("spawn")), settings.hooks.shutdown_timeout))
    if settings.folders.declared:
        end_folders(settings.paths.socket("folders"), settings.folders.end_timeout)


def end_folders(path: str, timeout: float) -> None:
    """Have the API on whose socket this is keep the folders, and wait for the end of that."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout + ANSWER_SECONDS)
        try:
            connection.connect(path)
            connection.recv(1)
        except OSError as error:
            _say(f"the folders were not synchronised: {error}")


async def _shutdown(hooks: Iterable[ShutdownHook], processes: Processes, timeout: float) -> None:
    try:
        async with asyncio.timeout(timeout):
            for together in by_priority(hooks):
                await asyncio.gather(*(_run(hook, processes) for hook in together))
    except TimeoutError:
        _say(f"the shutdown hooks took more than {timeout:g} seconds; the rest was left out")


def by_priority(hooks: Iterable[ShutdownHook]) -> Iterator[list[ShutdownHook]]:
    """Group the hooks that run at the same time; the lowest priority comes first."""
    ordered = sorted(hooks, key=lambda hook: hook.priority)
    for _, together in groupby(ordered, key=lambda hook: hook.priority):
        yield list(together)


async def _run(hook: ShutdownHook, processes: Processes) -> bool:
    """Run a hook to its end and return whether it succeeded. Its output goes to this process's output."""
    try:
        process = await processes.start(["/bin/bash", "-c", hook.command], stdout=1, stderr=2)
    except Failure as failure:
        _say(f"{hook.name} did not run: {failure.message}")
        return False
    try:
        async with asyncio.timeout(hook.timeout):
            ended = await process.wait()
        _say(f"{hook.name} ended with {exit_text(ended)}")
        return ended.code == 0
    except TimeoutError:
        _say(f"{hook.name} was killed after {hook.timeout:g} seconds")
        return False
    finally:
        await process.kill(signal.SIGKILL)
        with suppress(TimeoutError):  # a process stuck in the kernel is not waited for
            async with asyncio.timeout(KILL_GRACE):
                await process.wait()


def exit_text(ended: Exit) -> str:
    """Return how a hook ended, in words."""
    if ended.code is not None:
        return f"exit code {ended.code}"
    return f"signal {ended.signal}" if ended.signal is not None else "nobody to see it"


def _say(message: str) -> None:
    sys.stdout.write(f"hooks: {message}\n")
    sys.stdout.flush()
