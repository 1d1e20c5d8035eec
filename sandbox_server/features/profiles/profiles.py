"""Profiles: list, create, use, duplicate, sign out of a site, delete."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from pydantic import Field

from sandbox_server.core import Call, Conflict, InvalidArgument, Model, PermissionDenied, operation
from sandbox_server.core.tool_allow_list import names_one
from sandbox_server.drivers.browser.browser_client import BrowserClient
from sandbox_server.drivers.devtools.site_storage import SiteStorage, is_site
from sandbox_server.drivers.profiles.names import NAME_PATTERN
from sandbox_server.drivers.profiles.store import ProfileStore

ProfileName = Annotated[str, Field(pattern=f"^{NAME_PATTERN}$")]


class ProfileRef(Model):
    """Which profile."""

    name: ProfileName
    """Small letters, digits, `-` and `_`, at most 63."""


class DuplicateRequest(ProfileRef):
    """Which profile, and what the copy is called."""

    to: ProfileName
    """Name of the copy."""


class SignOutRequest(ProfileRef):
    """Which profile, and the site."""

    site: Annotated[str, Field(min_length=1, max_length=253)]
    """A host, such as `example.org`; hosts below it belong to it."""


class SignedOut(Model):
    """What was removed."""

    cookies: int
    """Cookies of the site."""
    origins: list[str]
    """Origins whose storage was cleared."""


class Profile(Model):
    """A profile of the browser."""

    name: str
    in_use: bool
    """Whether the browser of this sandbox runs on it."""
    held: bool
    """Whether a process has it, which may be in another sandbox with the same volume."""
    created: float | None
    """Seconds since the epoch; null for `default`, which is made and ends with the container."""
    chromium: str | None
    """The version of Chromium that last ran on it; null if none did."""
    bytes: int
    """Size, caches apart."""
    problem: str | None
    """Why the browser would not start on it."""


class ProfileList(Model):
    """The profiles that the caller may use."""

    profiles: list[Profile]


class HeldProfiles:
    """Has a profile to itself: of the one in use, the browser is stopped meanwhile."""

    def __init__(self, store: ProfileStore, owner: BrowserClient) -> None:
        self.store = store
        self.owner = owner
        self.changing = asyncio.Lock()
        """Held while the profile changes, and by what acts on the one in use by its name."""

    async def check_in_use(self, name: str) -> None:
        """Raise Conflict if the browser runs on another profile."""
        if await self.owner.profile() != name:
            raise Conflict("the browser runs on another profile", reason="not_in_use", hint="POST /v1/profiles/{name}/use first.")

    @asynccontextmanager
    async def still(self, name: str) -> AsyncIterator[None]:
        """Let nobody of this sandbox write a profile for the time of the block. Raises Unavailable."""
        if await self.owner.profile() != name:
            yield
            return
        async with self.owner.halted():
            yield


class Profiles:
    """The operations of profiles. A caller whose token names profiles may name no others."""

    tag = "profiles"

    def __init__(self, held: HeldProfiles, sites: SiteStorage) -> None:
        self._held = held
        self._store = held.store
        self._owner = held.owner
        self._sites = sites

    @operation("GET /v1/profiles", scope="browser", tool="browser_list_profiles", shows=False)
    async def list_profiles(self, call: Call) -> ProfileList:
        """List the browser's profiles: each has logins of its own."""
        in_use = await self._owner.profile()
        found = [each for each in await self._store.list() if names_one(call.caller.profiles, (each.name,))]
        return ProfileList(profiles=[Profile.model_validate({**_fields(each), "in_use": each.name == in_use}) for each in found])

    @operation("POST /v1/profiles", scope="browser", shows=False)
    async def create_profile(self, request: ProfileRef, call: Call) -> ProfileRef:
        """Create an empty profile. Raises 409 if there is one of that name."""
        require_named(call, request.name)
        await self._store.create(request.name)
        return request

    @operation("POST /v1/profiles/{name}/use", scope="browser", tool="browser_use_profile", destructive=True, acts="cdp", shows=False)
    async def use_profile(self, request: ProfileRef, call: Call) -> ProfileRef:
        """Restart the browser on another profile, with its home page.

        Answers once it can be used. DevTools clients are disconnected. Raises 409 with a `reason` if the profile is `in_use` elsewhere,
        `damaged`, or of a `newer_chromium`; the browser then goes on with the one that it has.
        """
        require_named(call, request.name)
        async with self._held.changing:
            await self._owner.use_profile(request.name)
        return request

    @operation("POST /v1/profiles/{name}/duplicate", scope="browser", acts="cdp", shows=False)
    async def duplicate_profile(self, request: DuplicateRequest, call: Call) -> ProfileRef:
        """Copy a profile with its logins, `default` too. Of the one in use, the browser is restarted with its tabs.

        Save your logins with this: sign in, then duplicate `default` under a name. Caches are not copied.
        """
        require_named(call, request.name, request.to)
        async with self._held.still(request.name):
            await self._store.duplicate(request.name, request.to)
        return ProfileRef(name=request.to)

    @operation("POST /v1/profiles/{name}/sign-out", scope="browser", destructive=True, acts="cdp", shows=False)
    async def sign_out_of_site(self, request: SignOutRequest, call: Call) -> SignedOut:
        """Remove the cookies and the storage of one site from the profile in use.

        Storage is removed of the site, of the hosts below it that have cookies, and of those that were visited since the server started.
        """
        require_named(call, request.name)
        if not is_site(request.site):
            raise InvalidArgument(f"{request.site[:100]!r} is no host, such as example.org", field="site")
        async with self._held.changing:
            await self._held.check_in_use(request.name)
            cleared = await self._sites.clear(request.site)
        return SignedOut(cookies=cleared.cookies, origins=list(cleared.origins))

    @operation("DELETE /v1/profiles/{name}", scope="admin", destructive=True)
    async def delete_profile(self, request: ProfileRef, call: Call) -> None:
        """Delete a profile with its logins, for good. Raises 409 if it is in use."""
        require_named(call, request.name)
        if await self._owner.profile() == request.name:
            raise Conflict("the browser runs on this profile", reason="in_use", hint="Use another profile first.")
        await self._store.delete(request.name)


def require_named(call: Call, *names: str) -> None:
    """Raise PermissionDenied for a profile that the caller's token does not name."""
    for name in names:
        if not names_one(call.caller.profiles, (name,)):
            raise PermissionDenied(f"your token does not name the profile {name!r}", profile=name)


def _fields(profile: Any) -> dict[str, Any]:
    return {name: getattr(profile, name) for name in ("name", "held", "created", "chromium", "bytes", "problem")}
