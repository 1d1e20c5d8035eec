"""The composition root: settings make parts, and the features of the parts make the application.

A part is a module of `sandbox_server.parts`. To import them all takes longer than everything else between `docker run` and the first
answer, so those that answer the first calls are served as soon as they are there, and the others join them.
"""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib import import_module

from starlette.applications import Starlette
from starlette.types import ASGIApp

from sandbox_server import __version__
from sandbox_server.core import logs
from sandbox_server.core.custom import load_features
from sandbox_server.core.dispatch import Dispatcher, Guard
from sandbox_server.core.http import create_app, create_routes
from sandbox_server.core.http.growing import Growing
from sandbox_server.core.http.limits import Limits
from sandbox_server.core.http.serving import serve_on
from sandbox_server.core.operation import Feature, Operation, operations
from sandbox_server.features.description import Description
from sandbox_server.parts import control, gateway, work
from sandbox_server.parts.shared import Part, Shared
from sandbox_server.settings import Settings

FIRST = (gateway.part, control.part, work.part)
"""What answers the first calls, and every guard that may refuse one or has to come before it."""
LATER = ("proxy", "code", "tools", "screen", "receipts", "handoff")
"""The modules of what joins it."""
QUIET_SECONDS = 2.0
"""For so long the other components are not started as long as calls are being answered: the machine is theirs."""

_log = logging.getLogger(__name__)


class Product:
    """Everything that is composed: at first the first parts. Nothing is opened or started by that, and only what boot found out is read."""

    def __init__(self, settings: Settings, *, new: bool = False) -> None:
        self._shared = Shared(settings, new=new)
        self.parts = [part(self._shared) for part in FIRST]

    @property
    def features(self) -> list[Feature]:
        """The features of all parts that are there."""
        return [feature for part in self.parts for feature in part.features]

    @property
    def operations(self) -> list[Operation]:
        """Their operations."""
        return [operation for feature in self.features for operation in operations(feature)]

    @property
    def guards(self) -> list[Guard]:
        """What every call passes, in this order."""
        return [guard for part in self.parts for guard in part.guards]

    def stamp(self) -> dict[str, str]:
        """Headers of every answer to a call."""
        return self._shared.control.stamp()

    def joining(self) -> list[Callable[[], Part]]:
        """The later parts, in their order: each is imported and composed when it is called for, which any thread may do."""
        return [*(partial(self._later, name) for name in LATER), self._last]

    def _later(self, name: str) -> Part:
        part: Part = import_module(f"sandbox_server.parts.{name}").part(self._shared)
        return part

    def _last(self) -> Part:
        """What the image's user has added, and the description of everything."""
        added = load_features(self._shared.settings.paths.custom_tools)
        return Part((*added, Description(lambda: self.operations, __version__)))


def compose(settings: Settings) -> Product:
    """Compose all parts at once."""
    product = Product(settings)
    product.parts += [part() for part in product.joining()]
    return product


def create(settings: Settings, *, new: bool = False, whole: Callable[[], None] = lambda: None) -> ASGIApp:
    """Make the application; its lifespan opens the drivers in order and closes them in reverse.

    `new`: it is the first one in its container. `whole` is called once every part is there, and the first calls are answered.
    """
    product, limits, stopped = Product(settings, new=new), Limits(), asyncio.Event()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await _open(stack, *product.parts)
            later = asyncio.create_task(_or_stop(grow()))
            yield
            stopped.set()
            await later

    async def grow() -> None:
        async with AsyncExitStack() as stack:
            for part in product.joining():
                product.parts.append(await asyncio.to_thread(part))
                await _open(stack, product.parts[-1])
            growing.complete(create_routes(product.operations, Dispatcher(product.guards), product.stamp, limits))
            await growing.quiet(QUIET_SECONDS)
            whole()
            await stopped.wait()

    growing = Growing(create_app(product.operations, Dispatcher(product.guards), lifespan, product.stamp, limits))
    return growing


async def _open(stack: AsyncExitStack, *parts: Part) -> None:
    for part in parts:
        for manager in part.opened:
            await stack.enter_async_context(manager)


async def _or_stop(work: Awaitable[None]) -> None:
    """Stop serving where `work` fails: what starts this process anew tries again, and the log says why."""
    try:
        await work
    except Exception:
        _log.exception("the rest of the sandbox cannot be served")
        signal.raise_signal(signal.SIGTERM)


def serve(settings: Settings, *, new: bool, whole: Callable[[], None]) -> None:
    """Serve on the API's socket until told to stop; see `create`."""
    logs.configure(settings.logs.level)
    serve_on(settings.paths.socket("api"), create(settings, new=new, whole=whole))
