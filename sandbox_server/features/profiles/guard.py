"""The guard of tokens that name profiles: they use the browser only while it runs on one of them."""

import asyncio
from collections.abc import Awaitable, Callable

from pydantic import BaseModel

from sandbox_server.core import Call, Conflict, PermissionDenied
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.operation import Operation, Spec
from sandbox_server.core.tasks import start_task
from sandbox_server.core.tool_allow_list import names_one

OWN = "profiles"
"""The tag of the operations of profiles, which look at the names that they are given themselves."""

KEPT_PICTURES = frozenset({"display", "recorder"})
"""Tags of recordings of the screen, which go on when the profile changes, and of what was recorded before."""


class ProfileGuard:
    """`in_use` returns the name of the browser's profile; it raises Unavailable, and Conflict while it changes."""

    def __init__(self, in_use: Callable[[], Awaitable[str]]) -> None:
        self._in_use = in_use
        self._running: set[asyncio.Task[object]] = set()

    async def guard(self, operation: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        """Refuse what a token does not name. What runs when the profile changes ends, and what was seen of another one is not given."""
        kept = operation.tag in KEPT_PICTURES
        if call.caller.profiles is None or operation.tag == OWN or not (kept or reaches_browser(operation.spec)):
            return await proceed()
        if kept or operation.spec.socket or operation.spec.streams:
            raise PermissionDenied("a token that names browser profiles sees their pages, and not the screen")
        if "gui" in operation.spec.acts:
            raise PermissionDenied("a token that names browser profiles acts on their pages, and not on the screen")
        running = start_task(self._checked(call, proceed))
        self._running.add(running)
        try:
            return await running
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if running.cancelled() and this is not None and not this.cancelling():
                raise Conflict("the browser's profile was changed meanwhile", reason="profile_changed") from None
            raise
        finally:
            running.cancel()
            self._running.discard(running)

    async def interrupt(self) -> None:
        """End what runs for tokens that name profiles, and return when it has ended."""
        running = list(self._running)
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _checked(self, call: Call, proceed: Proceed) -> object:
        name = await self._in_use()
        if not names_one(call.caller.profiles, (name,)):
            raise PermissionDenied(
                "your token does not name the browser's profile", hint="Use one that it names: POST /v1/profiles/{name}/use"
            )
        result = await proceed()
        if await self._in_use() != name:
            raise Conflict("the browser's profile was changed meanwhile", reason="profile_changed")
        return result


def reaches_browser(spec: Spec) -> bool:
    """Whether an operation shows or acts on what the browser has open."""
    return spec.scope == "browser" or spec.shows or bool({"cdp", "gui"} & set(spec.acts))
