"""Sign-in sessions of people: ending one closes all of its connections at once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Annotated, Any, cast

from pydantic import BaseModel, Field

from sandbox_server.core import Call, InvalidArgument, Model, Unauthenticated, operation
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.operation import Operation
from sandbox_server.core.tasks import start_task
from sandbox_server.drivers.credentials.revoked import Revoked

ENDED = "your session was ended: sign in again"


class Named(Model):
    name: Annotated[str, Field(min_length=3, max_length=200, pattern="#")]
    """The caller's name, as in the list of viewers."""


class SignInSessions:
    """Ends sessions."""

    tag = "auth"

    def __init__(self, revoked: Revoked, expel: Callable[[str], Awaitable[None]]) -> None:
        self._revoked = revoked
        self._expel = expel

    @operation("DELETE /v1/sessions/{name}", scope="admin", decides=True)
    async def end_session(self, request: Named, call: Call) -> None:
        """Sign a person out: the session ends and its connections are closed, now.

        Control that the person has returns to the agent. Unused links that the person made stay valid.
        """
        if request.name == call.caller.name:
            raise InvalidArgument("this is your own session: sign out instead")
        self._revoked.add(request.name)
        await self._expel(request.name)


class SessionGuard:
    """Guard: refuses calls of ended sessions, and ends their open streams."""

    def __init__(self, revoked: Revoked) -> None:
        self._revoked = revoked

    async def __call__(self, called: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        name = call.caller.name
        if "#" not in name:  # a program's
            return await proceed()
        if self._revoked.holds(name):
            raise Unauthenticated(ENDED)
        if called.spec.socket:
            return await self._while_signed_in(name, proceed)
        result = await proceed()
        return self._events(name, cast("AsyncIterator[object]", result)) if isinstance(result, AsyncIterator) else result

    async def _while_signed_in(self, name: str, proceed: Proceed) -> object:
        work, end = start_task(proceed()), start_task(self._revoked.end_of(name))
        either: set[asyncio.Future[Any]] = {work, end}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise Unauthenticated(ENDED)
            return await work
        finally:
            for task in either:
                task.cancel()
            await asyncio.wait(either)

    async def _events(self, name: str, events: AsyncIterator[object]) -> AsyncIterator[object]:
        end = start_task(self._revoked.end_of(name))
        try:
            async with aclosing(events):  # type: ignore[type-var] # every operation's is a generator
                while (news := await _next_event(events, end)) is not None:
                    yield news
        finally:
            end.cancel()


async def _next_event(events: AsyncIterator[object], end: "asyncio.Future[None]") -> object:
    """Return the next event; None if there are no more, or if the session ends before."""
    following = start_task(anext(events, None))
    either: set[asyncio.Future[Any]] = {following, end}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return await following if following.done() else None
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait({following})
