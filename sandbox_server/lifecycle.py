"""The hooks that need the running services: RUN_HOOK_POST_READY, and the shutdown hooks.

Each is a process of its own that the supervisor starts, so that a hook that hangs holds nobody up.
"""

import asyncio
import http.client
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import groupby

from sandbox_server.core.errors import Failure
from sandbox_server.drivers.hooks import HookStore
from sandbox_server.drivers.process import Exit, Processes
from sandbox_server.settings import Settings, ShutdownHook

READY_POLL_SECONDS = 0.1
ANSWER_SECONDS = 5.0


def post_ready(settings: Settings) -> None:
    """Run RUN_HOOK_POST_READY once every component is ready, however long that takes."""
    if settings.hooks.post_ready:
        while not is_ready(settings.paths.socket("api")):
            time.sleep(READY_POLL_SECONDS)
        hook = ShutdownHook("RUN_HOOK_POST_READY", settings.hooks.post_ready, settings.hooks.timeout)
        asyncio.run(_run(hook, Processes(settings.paths.socket("spawn"))))


def is_ready(path: str) -> bool:
    """Whether the API on this socket says that every component is."""
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
    """Run every shutdown hook, those of the environment and those that were registered, within their time together."""
    hooks = [*settings.hooks.shutdown, *HookStore(f"{settings.paths.run}/hooks.json").read()]
    if hooks:
        asyncio.run(_shutdown(hooks, Processes(settings.paths.socket("spawn")), settings.hooks.shutdown_timeout))


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


async def _run(hook: ShutdownHook, processes: Processes) -> None:
    """Run a hook to its end; what it writes is the container's output."""
    try:
        process = await processes.start(["/bin/bash", "-c", hook.command], stdout=1, stderr=2)
    except Failure as failure:
        _say(f"{hook.name} did not run: {failure.message}")
        return
    try:
        async with asyncio.timeout(hook.timeout):
            ended = await process.wait()
        _say(f"{hook.name} ended with {described(ended)}")
    except TimeoutError:
        _say(f"{hook.name} was killed after {hook.timeout:g} seconds")
    finally:
        await process.kill(signal.SIGKILL)
        await process.wait()


def described(ended: Exit) -> str:
    """How a hook ended, in words."""
    if ended.code is not None:
        return f"exit code {ended.code}"
    return f"signal {ended.signal}" if ended.signal is not None else "nobody to see it"


def _say(message: str) -> None:
    sys.stdout.write(f"hooks: {message}\n")
    sys.stdout.flush()
