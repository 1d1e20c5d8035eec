"""Logins of a person's own browser, brought into the profile in use."""

import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import IO, Annotated, Any

from pydantic import Field

from sandbox_server.core import Call, InvalidArgument, Model, Reply, Upload, operation
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.profiles.logins import MAX_DATABASE, SQLITE
from sandbox_server.features.profiles.archives import receive
from sandbox_server.features.profiles.profiles import HeldProfiles, ProfileRef, require_named

MAX_COOKIES = 10_000
"""As many as the browser's operations take at once."""

type AddState = Callable[[Any, str], Awaitable[Any]]
"""Adds a storage state to the browser's, from a file of that name. Raises InvalidArgument where the browser takes a cookie of it not."""


class LoginsForm(Model):
    """A form with a file of another browser."""

    file: Annotated[str, Field(json_schema_extra={"format": "binary"})]
    """Firefox's `cookies.sqlite`, Chromium's `Cookies` of Linux, or Playwright's `storage_state` as JSON."""


class ImportedLogins(Model):
    """What came in."""

    cookies: int
    origins: int
    """Origins with local storage or a database."""
    left_out: int
    """Cookies that were not taken: of keys in a keyring, of containers and partitions, past their end, or refused by the browser."""


class Logins:
    """Takes cookies in; `add` puts them into the browser."""

    tag = "profiles"

    def __init__(self, held: HeldProfiles, add: AddState, spool: str) -> None:
        self._held = held
        self._add = add
        self._spool = spool

    @operation("POST /v1/profiles/{name}/logins", scope="admin", form=LoginsForm, acts="cdp")
    async def import_logins(self, request: ProfileRef, upload: Upload, call: Call) -> Reply[ImportedLogins]:
        """Bring the cookies of a person's own browser into the profile in use, beside what is there.

        Pages see them when they are reloaded. Raises 409 if the browser runs on another profile, and 400 for a file that is none of these.
        """
        require_named(call, request.name)
        with tempfile.TemporaryFile(dir=self._spool) as file:
            await receive(upload, file, MAX_DATABASE)
            document, left = await self._read(file)
        cookies = document.get("cookies")
        fresh = [each for each in cookies if not _is_over(each)] if isinstance(cookies, list) else cookies
        if isinstance(fresh, list) and len(fresh) > MAX_COOKIES:
            raise InvalidArgument(f"the file has more than {MAX_COOKIES} cookies", limit=MAX_COOKIES)
        async with self._held.changing:
            await self._held.check_in_use(request.name)
            taken = len((await self._add({**document, "cookies": []}, "the file")).origins)
            added = await self._put(fresh) if isinstance(fresh, list) else 0
        left += len(cookies) - added if isinstance(cookies, list) else 0
        return Reply(ImportedLogins(cookies=added, origins=taken, left_out=left), hint=_HINT if left else None)

    async def _read(self, file: IO[bytes]) -> tuple[dict[str, Any], int]:
        if file.read(len(SQLITE)) == SQLITE:
            with tempfile.TemporaryFile(dir=self._spool) as found:
                file.seek(0)
                left = await self._held.store.cookies(file, found)
                found.seek(0)
                return {"cookies": await in_thread(json.load, found), "origins": []}, left
        file.seek(0)
        try:
            document = await in_thread(json.load, file)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise InvalidArgument("the file is neither a browser's database of cookies nor a storage state", reason="malformed")
        return document, 0

    async def _put(self, cookies: list[Any]) -> int:
        """Set as many as the browser takes, and return how many that were: one that it refuses must not keep the others out."""
        if not cookies:
            return 0
        try:
            await self._add({"cookies": cookies, "origins": []}, "the file")
        except InvalidArgument:
            if len(cookies) == 1:
                return 0
            half = len(cookies) // 2
            return await self._put(cookies[:half]) + await self._put(cookies[half:])
        return len(cookies)


_HINT = "Chromium keeps its key in a keyring on most systems: export a storage state there, or sign in on /view and save the profile."


def _is_over(cookie: Any) -> bool:
    """Whether a cookie's end has passed: the browser would remove the one that it has."""
    ends = cookie.get("expires") if isinstance(cookie, dict) else None
    return isinstance(ends, int | float) and ends != -1 and ends < time.time()
