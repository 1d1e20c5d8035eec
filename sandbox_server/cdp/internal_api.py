"""The internal API of the browser process: paths for the API server. The gateway does not route them."""

import orjson
from pydantic import Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sandbox_server.cdp.browser_connection import BrowserLink
from sandbox_server.cdp.browser_supervisor import BrowserSupervisor
from sandbox_server.cdp.emulation import Emulation
from sandbox_server.cdp.policy_reload import take_authority, take_proxy
from sandbox_server.cdp.private_window import BLANK, PrivateWindow
from sandbox_server.cdp.profile_in_use import ProfileInUse
from sandbox_server.cdp.secret_fill import SecretFill, put
from sandbox_server.cdp.tab_strip import TabStrip
from sandbox_server.cdp.takeover import TakeoverRules
from sandbox_server.cdp.websockets import DevtoolsSessions
from sandbox_server.core.control import Holding
from sandbox_server.core.errors import InvalidArgument
from sandbox_server.core.results import Model
from sandbox_server.drivers.browser.chromium import Chromium
from sandbox_server.drivers.profiles.names import is_name

MAX_URL = 8 << 10
NEWS_SECONDS = 300.0
"""Seconds that a request waits for another state of the tabs before it returns the same state again."""


class BrowserRestart(Model):
    """Settings for a restart. A missing field keeps its value."""

    url_blocklist: list[str] | None = None
    url_allowlist: list[str] | None = None
    allow_file_selection_dialogs: bool | None = None
    """Null restores Chromium's default."""
    locale: str | None = Field(default=None, max_length=200)


class PrivateWindowRequest(Model):
    """A request to open a window for a person in private mode."""

    person: str = Field(max_length=200)
    url: str = Field(default=BLANK, max_length=MAX_URL)


class BrowserInternalApi:
    """Endpoints that read the browser's state and change its settings."""

    def __init__(
        self,
        browser: BrowserSupervisor,
        sessions: DevtoolsSessions,
        chromium: Chromium,
        emulation: Emulation,
        takeover: TakeoverRules,
        profile: ProfileInUse,
    ) -> None:
        self._profile = profile
        self._browser = browser
        self._sessions = sessions
        self._chromium = chromium
        self._emulation = emulation
        self._takeover = takeover
        self._fresh = PrivateWindow(browser)
        self._strip = TabStrip()
        self._trusted: tuple[BrowserLink, str] | None = None
        """The browser that was last told whom to trust, and whom."""

    async def restart(self, request: Request) -> Response:
        """Restart the browser, and answer when the next one serves."""
        try:
            wanted = BrowserRestart.model_validate_json(await request.body() or b"{}")
        except ValueError as error:
            raise InvalidArgument(str(error)) from error
        self._chromium.change(language=wanted.locale, **_policies(wanted))
        await self._browser.restart()
        return await self.status(request)

    async def tabs(self, _: Request) -> Response:
        """The tab strip. Secrets are masked, because pages write them into titles and URLs too."""
        tabs = await self._strip.tabs(await self._browser.link())
        told = self._browser.secrets.redacted(orjson.dumps({"tabs": tabs}))  # which are dataclasses, that orjson writes itself
        return Response(orjson.dumps(orjson.loads(told)["tabs"]), media_type="application/json")

    async def pages(self, request: Request) -> Response:
        """The pages by target id. With a `state`, waits until the pages differ from it. Does not start the browser."""
        tabs = self._browser.tabs
        await tabs.until_not(request.query_params.get("state", ""), NEWS_SECONDS)
        return JSONResponse({"state": tabs.state, "pages": tabs.pages})

    async def page_size(self, _: Request) -> Response:
        """The size of the page in front, in CSS pixels."""
        width, height = await self._strip.page_size(await self._browser.link())
        return JSONResponse({"width": width, "height": height})

    async def emulate(self, request: Request) -> Response:
        """Set the commands that every page is given, or clear them."""
        commands = orjson.loads(await request.body() or b"null")
        await self._emulation.set(await self._browser.link(), commands)
        return JSONResponse({})

    async def use_proxy(self, request: Request) -> Response:
        """Set the browser's proxy, or clear it."""
        address = orjson.loads(await request.body() or b"null")
        self._chromium.change(proxy=address)
        self._chromium.write_policies()
        if running := self._browser.running:
            await take_proxy(running, proxied=address is not None)
        return await self.status(request)

    async def trust_authority(self, request: Request) -> Response:
        """Have the browser trust the sandbox's authority as its file says now, and no earlier one."""
        self._chromium.write_policies()
        running, authority = self._browser.running, self._chromium.authority()
        if running and (running, authority) != self._trusted:
            await take_authority(running, authority)
            self._trusted = running, authority
        return await self.status(request)

    async def drop(self, request: Request) -> Response:
        """Fill a secret into a field. From then on it is masked for all clients."""
        try:
            wanted = SecretFill.model_validate_json(await request.body())
        except ValidationError as error:
            raise InvalidArgument(", ".join(str(problem["loc"][0]) for problem in error.errors() if problem["loc"])) from None
        self._browser.secrets.add(wanted.secret.get_secret_value(), wanted.source, wanted.origin)
        await put(await self._browser.link(), self._strip, wanted)
        return JSONResponse({})

    async def control(self, request: Request) -> Response:
        """Apply the lease that the API sends."""
        try:
            holding = Holding.loads(orjson.loads(await request.body()))
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidArgument(f"invalid control state: {error}") from error
        await self._fresh.keep(holding)  # before anyone else may see pages again
        self._browser.hold(holding)
        await self._takeover.keep(holding)
        return JSONResponse({})

    async def use_profile(self, request: Request) -> Response:
        """Start the browser anew on another profile, and answer when it serves."""
        name = orjson.loads(await request.body() or b"null")
        if not isinstance(name, str) or not is_name(name):
            raise InvalidArgument("a profile's name is small letters, digits, '-' and '_'")
        await self._profile.use(name, self._chromium, self._browser)
        return await self.status(request)

    async def open_fresh(self, request: Request) -> Response:
        """Open an empty window in a browser context of its own, for a person in private mode."""
        try:
            wanted = PrivateWindowRequest.model_validate_json(await request.body())
        except ValueError as error:
            raise InvalidArgument(str(error)) from error
        await self._fresh.open(wanted.person, wanted.url)
        return JSONResponse({})

    async def close_fresh(self, _: Request) -> Response:
        """Close the private window if it is open."""
        await self._fresh.keep()
        return JSONResponse({})

    async def status(self, _: Request) -> Response:
        """The browser's state, the number of messages from clients, and which requests are held up. Does not start the browser."""
        return JSONResponse(
            {
                "pid": self._browser.pid,
                "profile": self._browser.profile,
                "sandbox": self._chromium.sandbox,
                "messages": self._sessions.taken,
                "gated": self._sessions.gated,
            }
        )


def _policies(wanted: BrowserRestart) -> dict[str, object]:
    given = wanted.model_fields_set
    policies: dict[str, object] = {}
    if wanted.url_blocklist is not None:
        policies["blocked_urls"] = tuple(wanted.url_blocklist)
    if wanted.url_allowlist is not None:
        policies["allowed_urls"] = tuple(wanted.url_allowlist)
    if "allow_file_selection_dialogs" in given:
        policies["file_dialogs"] = wanted.allow_file_selection_dialogs
    return policies
