"""Fills a secret into a field of a page for an agent, which never gets it, where the owner allows that origin."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Annotated

from pydantic import Field

from sandbox_server.core import Call, Conflict, InvalidArgument, Model, PermissionDenied, operation
from sandbox_server.drivers.browser.browser_client import SecretSource
from sandbox_server.drivers.secrets.definition import SecretDefinition, SecretKind
from sandbox_server.drivers.secrets.totp import MIN_LEFT, TotpKeyError, read_key
from sandbox_server.features.secrets.registry import SecretRegistry

type Drop = Callable[[str, str, str, SecretSource], Awaitable[None]]
"""Fills a value into a page: the origin, the field's selector, the value, what it is. Raises Conflict."""
type Filled = Callable[[str, str, str], None]
"""Told who had which secret filled into a page of which origin."""


class FillSecret(Model):
    name: Annotated[str, Field(min_length=1, max_length=64)]
    """The secret's name."""
    selector: Annotated[str, Field(min_length=1, max_length=1000)]
    """CSS selector of the field, in the page in front or one of its frames."""


class FilledSecret(Model):
    name: str
    origin: str
    """The origin of the document that has the field."""
    placeholder: bool
    """Whether the page got the placeholder, and the value is put in when the form is sent."""


class SecretFilling:
    """Fills secrets into pages."""

    tag = "secrets"

    def __init__(self, registry: SecretRegistry, drop: Drop, filled: Filled, clock: Callable[[], float] = time.time) -> None:
        self._registry = registry
        self._drop = drop
        self._filled = filled
        self._clock = clock

    @operation("POST /v1/browser/page/fill_secret", scope="browser", acts="cdp", shows=False, tool="browser_fill_secret")
    async def fill_secret(self, request: FillSecret, call: Call) -> FilledSecret:
        """Fill a secret into a field of the page in front, such as a password or the code of a one-time password.

        You name the secret and the field; you never get the value. The owner says into pages of which origins a secret may
        be filled. 409 says why nothing was filled in.
        """
        definition = self._registry.get(request.name)
        if not definition.fill:
            raise PermissionDenied(f"{request.name} may not be filled into pages", name=request.name)
        origin, hidden = await self._fill(definition, request.selector)
        self._registry.filled(definition.name, self._clock())
        self._filled(call.caller.name, definition.name, origin)
        return FilledSecret(name=definition.name, origin=origin, placeholder=hidden)

    async def _fill(self, definition: SecretDefinition, selector: str) -> tuple[str, bool]:
        """Fill it into the first page that has one of its origins; returns the origin, and whether it was the placeholder."""
        other: Conflict | None = None
        for origin in definition.fill:
            hidden = definition.is_put_into_forms(origin)
            value = definition.placeholder if hidden else await self._value(definition)
            try:
                await self._drop(origin, selector, value, "code" if definition.kind is SecretKind.TOTP else "program")
            except Conflict as conflict:
                if conflict.details.get("reason") != "other_origin":
                    raise
                other = conflict
            else:
                return origin, hidden
        allowed = ", ".join(definition.fill)
        raise Conflict(
            f"{definition.name} may be filled into {allowed} alone, and the page in front is another", reason="other_origin"
        ) from other

    async def _value(self, definition: SecretDefinition) -> str:
        value = await self._registry.value(definition.name)
        if definition.kind is not SecretKind.TOTP:
            return value
        try:
            key = read_key(value)
        except TotpKeyError as error:
            raise InvalidArgument(f"{definition.name}: {error}", field="name") from None
        if (left := key.seconds_left(self._clock())) < MIN_LEFT:
            await asyncio.sleep(left)
        return key.code(self._clock())
