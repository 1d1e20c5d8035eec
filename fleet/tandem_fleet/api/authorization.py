"""Who calls, and what they may do."""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Protocol

from fastapi import Header, Request

from tandem_fleet.errors import ForbiddenError, UnauthorizedError

TENANT = "default"


class Scope(StrEnum):
    """What a caller may do. Every route names one."""

    READ = "sandboxes:read"
    """See sandboxes, their state, events and logs."""
    WRITE = "sandboxes:write"
    """Make, change and remove them."""
    USE = "sandboxes:use"
    """Get into them: tokens."""
    PEOPLE = "people"
    """See all computers at work, and take what people are asked for."""
    ADMIN = "admin"
    """A tenant's keys and record."""
    OPERATE = "operate"
    """The whole fleet: tenants, quotas, the engine."""


@dataclass(frozen=True)
class Caller:
    """Who calls."""

    tenant: str = TENANT
    name: str = "operator"
    scopes: frozenset[Scope] = field(default_factory=lambda: frozenset(Scope))
    per_minute: int | None = None
    """How often it may call. Without it there is no limit."""
    session: str = ""
    """The signed-in browser that sends it, by its number in the store; empty of others."""
    account: str = ""
    """The subject at the identity provider of a person who signed in there; empty of others."""


class Authorization(Protocol):
    """How callers are known."""

    async def caller(self, bearer: str) -> Caller:
        """Who sends this in `Authorization: Bearer`; empty where it was not sent. Raises `UnauthorizedError`."""


class Browsers(Protocol):
    """How signed-in browsers are known."""

    async def caller(self, request: Request) -> Caller | None:
        """Who sends a request with a browser's cookie; None for one without. Raises `UnauthorizedError`, `ForbiddenError`."""


class Everybody:
    """Everybody who gets here may do everything: on a socket that one user may connect to."""

    async def caller(self, bearer: str) -> Caller:
        """See `Authorization.caller`."""
        return Caller()


class SharedKey:
    """Who has the service's key may do everything."""

    def __init__(self, key: str) -> None:
        self._key = key

    async def caller(self, bearer: str) -> Caller:
        """See `Authorization.caller`."""
        if not self._key or not hmac.compare_digest(bearer.encode(), self._key.encode()):
            raise UnauthorizedError("send the service's key as Authorization: Bearer")
        return Caller()


def authorized(request: Request, caller: Caller, *scopes: Scope) -> Caller:
    """Let a caller go on who has the scopes and does not call too often. Raises `TooManyRequestsError`, `ForbiddenError`."""
    request.state.caller = caller
    if caller.per_minute is not None:
        request.app.state.limits.take(f"{caller.tenant}/{caller.session or caller.name}", caller.per_minute)
    if missing := [scope for scope in scopes if scope not in caller.scopes]:
        raise ForbiddenError(f"this needs a key with the scope {missing[0]}")
    return caller


def needs(scope: Scope) -> Callable[[Request, str], Awaitable[Caller]]:
    """A dependency of a route: gives its caller, who must have the scope. Raises `UnauthorizedError`, and what `authorized` raises."""

    async def authorize(request: Request, _documented: Annotated[str, Header(alias="authorization")] = "") -> Caller:
        return authorized(request, await identified(request), scope)

    return authorize


async def identified(request: Request) -> Caller:
    """Who sends a request, by the cookie or the key in it. Raises `UnauthorizedError`, `ForbiddenError`."""
    kind, _, bearer = request.headers.get("authorization", "").partition(" ")
    known: Authorization = request.app.state.authorization
    browsers: Browsers = request.app.state.browsers
    return await browsers.caller(request) or await known.caller(bearer.strip() if kind.lower() == "bearer" else "")
