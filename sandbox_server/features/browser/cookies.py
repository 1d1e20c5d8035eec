"""The browser's cookies."""

from typing import Any

from pydantic import ConfigDict

from sandbox_server.core import Model, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers.devtools import cookies as jar
from sandbox_server.drivers.devtools.connection import DevtoolsRefused
from sandbox_server.drivers.devtools.cookies import SESSION, SameSite
from sandbox_server.drivers.devtools.devtools import Devtools

MAX_COOKIES = 10_000


class CookiesQuery(Model):
    urls: str | None = None
    """Comma-separated URLs: only the cookies that a request to one of them would carry."""


class Cookie(Model):
    """A cookie to set, for a URL or for a domain and a path."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="allow")

    name: str
    value: str
    url: str | None = None
    """URL that it is for, in place of `domain` and `path`."""
    domain: str | None = None
    """Host. With a leading dot, every host below it, too."""
    path: str | None = None
    """Null means `/`."""
    expires: float | None = None
    """Seconds since the epoch; null or -1 means a session cookie."""
    httpOnly: bool | None = None  # noqa: N815 - the contract's name
    """Whether scripts cannot read it."""
    secure: bool | None = None
    """Whether only HTTPS sends it."""
    sameSite: SameSite | None = None  # noqa: N815 - the contract's name
    """Which requests from other sites send it; null is the browser's default."""

    def wire(self) -> dict[str, Any]:
        """Return the cookie in the form of `Storage.setCookies`."""
        known = self.model_dump(exclude={*(self.model_extra or {})}, exclude_none=True)
        if known.get("expires") == SESSION:
            del known["expires"]
        return {"path": "/", **known} if self.url is None else known


class SetCookiesRequest(Model):
    cookies: list[dict[str, Any]]
    """Each has name and value, and url or domain. An existing cookie with the same name, domain and path is replaced."""


class Cookies:
    """Lists, sets and clears cookies."""

    tag = "browser-cookies"

    def __init__(self, devtools: Devtools) -> None:
        self._devtools = devtools

    @operation("GET /v1/browser/cookies", scope="browser", operation_id="get_cookies")
    async def get_cookies(self, request: CookiesQuery) -> list[dict[str, Any]]:
        """List the browser's cookies: name, value, domain, path, expires, httpOnly, secure, sameSite."""
        found = await all_cookies(self._devtools)
        urls = [url.strip() for url in (request.urls or "").split(",") if url.strip()]
        try:
            return jar.sent_to(found, urls) if urls else found
        except ValueError:
            raise InvalidFields([{"loc": ("urls",), "msg": "must be comma-separated URLs", "type": "url"}]) from None

    @operation("POST /v1/browser/cookies", scope="browser", operation_id="set_cookies", acts="cdp")
    async def set_cookies(self, request: SetCookiesRequest) -> None:
        """Set cookies, all of them or none."""
        await put_cookies(self._devtools, request.cookies, ("cookies",))

    @operation("DELETE /v1/browser/cookies", scope="browser", operation_id="clear_cookies", destructive=True, acts="cdp")
    async def clear_cookies(self) -> None:
        """Remove every cookie of the browser."""
        await self._devtools.command("Storage.clearCookies")


async def all_cookies(devtools: Devtools) -> list[dict[str, Any]]:
    """Return every cookie of the profile."""
    return [jar.to_storage_state(cookie) for cookie in (await devtools.command("Storage.getCookies"))["cookies"]]


async def put_cookies(devtools: Devtools, given: list[dict[str, Any]], place: tuple[str, ...]) -> None:
    """Set cookies. Raises InvalidFields below `place`, and InvalidArgument if the browser rejects one of them."""
    wanted = [cookie.wire() for cookie in _checked(given, place)]
    if not wanted:
        return
    try:
        await devtools.command("Storage.setCookies", {"cookies": wanted})
    except DevtoolsRefused as error:
        raise InvalidArgument(f"the browser rejected these cookies: {error}") from None


def _checked(given: list[dict[str, Any]], place: tuple[str, ...]) -> list[Cookie]:
    from pydantic import ValidationError

    if len(given) > MAX_COOKIES:
        raise InvalidFields([{"loc": place, "msg": f"at most {MAX_COOKIES} cookies are allowed", "type": "too_long"}])
    found: list[Cookie] = []
    problems: list[dict[str, Any]] = []
    for number, each in enumerate(given):
        try:
            cookie = Cookie.model_validate(each)
        except ValidationError as error:
            problems += [
                {"loc": (*place, number, *p["loc"]), "msg": p["msg"], "type": p["type"]} for p in error.errors(include_input=False)
            ]
            continue
        if cookie.url is None and cookie.domain is None:
            problems.append({"loc": (*place, number), "msg": "url or domain is required", "type": "missing"})
        found.append(cookie)
    if problems:
        raise InvalidFields(problems)
    return found
