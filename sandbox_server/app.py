"""The composition root: settings become the product, and the product is served.

To import everything takes longer than all else between `docker run` and the first answer. So what answers the first calls is served as soon
as it is there, and the rest joins it (late routes).
"""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.types import ASGIApp

from sandbox_server import __version__
from sandbox_server.composition.first import First, build_first
from sandbox_server.composition.guards import guards_of
from sandbox_server.composition.late import Late
from sandbox_server.composition.part import ProductPart
from sandbox_server.core import logs
from sandbox_server.core.dispatch import Dispatcher, Guard
from sandbox_server.core.http import create_app, create_routes
from sandbox_server.core.http.asgi_server import serve_on
from sandbox_server.core.http.concurrency_limits import Limits
from sandbox_server.core.http.late_routes import LateRoutes
from sandbox_server.core.operation import Operation, operations
from sandbox_server.core.tasks import start_task
from sandbox_server.features.api_description import Description
from sandbox_server.settings import Settings

QUIET_SECONDS = 2.0
"""For so long the other components are not started as long as calls are being answered: the machine is theirs."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Product:
    """The product: its parts in the order in which they are opened, its operations, and the guards of every call."""

    parts: tuple[ProductPart, ...]
    operations: tuple[Operation, ...]
    guards: tuple[Guard, ...]
    stamp: Callable[[], Mapping[str, str]]
    """Gives the headers of every answer to a call."""


def build(settings: Settings, *, new: bool = False) -> Product:
    """Make the whole product. Nothing is opened or started by that, and only what boot found out is read."""
    return build_whole(build_first(settings, new=new))


def first_of(first: First) -> Product:
    """Return the product that answers the first calls."""
    return Product(first.parts, _operations(first.parts), guards_of(first), first.control.stamp)


def build_whole(first: First) -> Product:
    """Make the rest, and give it with the first parts. Any thread may call this, once."""
    from sandbox_server.composition.rest import build_rest  # heavy: see above

    rest, described = build_rest(first), Late[tuple[Operation, ...]]("the list of operations")
    parts = (*first.parts, *rest.parts, ProductPart((Description(described.get, __version__),)))
    described.set(_operations(parts))
    first.receipts.set(rest.receipted)
    return Product(parts, described.get(), guards_of(first, rest.browser_hints, rest.egress_hints), first.control.stamp)


def _operations(parts: Iterable[ProductPart]) -> tuple[Operation, ...]:
    return tuple(operation for part in parts for feature in part.features for operation in operations(feature))


def create(settings: Settings, *, new: bool = False, whole: Callable[[], None] = lambda: None) -> ASGIApp:
    """Make the application; its lifespan opens the drivers in order and closes them in reverse.

    `new`: it is the first one in its container. `whole` is called once every part is there, and the first calls are answered.
    """
    first, limits, stopped = build_first(settings, new=new), Limits(), asyncio.Event()
    early = first_of(first)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await _open(stack, early.parts)
            later = start_task(_or_stop(grow()))
            yield
            stopped.set()
            await later

    async def grow() -> None:
        async with AsyncExitStack() as stack:
            product = await asyncio.to_thread(build_whole, first)
            await _open(stack, product.parts[len(early.parts) :])
            late_routes.complete(create_routes(product.operations, Dispatcher(product.guards), product.stamp, limits))
            await late_routes.quiet(QUIET_SECONDS)
            whole()
            await stopped.wait()

    late_routes = LateRoutes(create_app(early.operations, Dispatcher(early.guards), lifespan, early.stamp, limits))
    return late_routes


async def _open(stack: AsyncExitStack, parts: Iterable[ProductPart]) -> None:
    for part in parts:
        for manager in part.opened:
            await stack.enter_async_context(manager)


async def _or_stop(work: Awaitable[None]) -> None:
    """Stop serving where `work` fails: what starts this process anew tries again, and the log says why."""
    try:
        await work
    except Exception:  # noqa: BLE001 - the top of a task: whatever fails is logged, and serving stops
        _log.exception("the rest of the sandbox cannot be served")
        signal.raise_signal(signal.SIGTERM)


def serve(settings: Settings, *, new: bool, whole: Callable[[], None]) -> None:
    """Serve on the API's socket until told to stop; see `create`."""
    logs.configure(settings.logs.level)
    serve_on(settings.paths.socket("api"), create(settings, new=new, whole=whole))
