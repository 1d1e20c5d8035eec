"""Answers Caddy's question about each request: where it may go, or what its sender is told instead."""

import re
import time

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tandem_fleet.errors import FleetError
from tandem_fleet.gateway.addresses import Addresses, Target, is_ambiguous
from tandem_fleet.gateway.credentials import Credentials, Trust, passed_on
from tandem_fleet.gateway.pages import POLICY, Pages
from tandem_fleet.gateway.waking import Waking, is_open
from tandem_fleet.sandboxes import Sandbox, State

PERSON_SECONDS = 1.0
"""How long a person looks at nothing before there is a page: most wake sooner."""
NEWS_SECONDS = 20.0
RETRY_SECONDS = "1"
_OWN = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Vary": "Accept"}
_REFUSALS = {
    "sign_in": (401, "unauthorized", "send a token of the fleet for this sandbox: tandem token NAME"),
    "no_pages": (400, "no_pages", "pages need a host name for the sandbox: set TANDEM_GATEWAY_DOMAIN"),
    "unclear": (400, "invalid", "the path is ambiguous"),
    "missing": (404, "not_found", "there is nothing at this address"),
}


class Asked:
    """A request that Caddy asks about. Caddy replaces every header with `x-gateway-` that a client sent."""

    def __init__(self, request: Request) -> None:
        self.headers = request.headers
        self.method = self.headers.get("x-gateway-method", "GET")
        self.uri = self.headers.get("x-gateway-uri", "")
        self.host = self.headers.get("x-gateway-host", "")
        self.upgrades = bool(self.headers.get("x-gateway-upgrade"))

    @property
    def is_page(self) -> bool:
        """Whether a browser opens a page with it."""
        return self.method in ("GET", "HEAD") and not self.upgrades and "text/html" in self.headers.get("accept", "")

    @property
    def is_preflight(self) -> bool:
        """Whether a browser asks before it calls from another origin. It sends no credential with that."""
        return self.method == "OPTIONS" and "access-control-request-method" in self.headers and "origin" in self.headers

    @property
    def is_background(self) -> bool:
        """Whether an open page sent it by itself, rather than a person who opens one."""
        mode = self.headers.get("sec-fetch-mode")
        return mode != "navigate" if mode else not self.is_page


class Authorization:
    """The gateway's questions, each a path of an application that Caddy alone reaches."""

    def __init__(self, waking: Waking, addresses: Addresses, credentials: Credentials) -> None:
        self._waking = waking
        self._addresses = addresses
        self._credentials = credentials

    @property
    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/v1/gateway/authorize", self.authorize),
                Route("/v1/gateway/state", self.state),
                Route("/v1/gateway/refusal", self.refusal),
                Route("/v1/gateway/certificate", self.certificate),
            ],
            exception_handlers={Exception: _unavailable},
        )

    async def authorize(self, request: Request) -> Response:
        """Say with 204 where a request may go; any other answer is for its sender."""
        asked = Asked(request)
        if is_ambiguous(asked.uri) or not re.fullmatch("[0-9]{0,5}", asked.headers.get("x-aio-proxy-port", "")):
            return _refuse(asked, "unclear")
        target = self._addresses.target(asked.host, asked.uri)
        if target is None:
            return _refuse(asked, "missing")
        if target.by_path and asked.is_page and "authorization" not in asked.headers:
            page = self._addresses.page(target)
            return _redirect(page) if page else _refuse(asked, "no_pages")
        trust = self._credentials.judge(target, asked.headers, preflight=asked.is_preflight)
        hidden = trust == Trust.NONE or (trust == Trust.UNVERIFIED and target.is_open_to_all)
        sandbox = None if hidden else await self._waking.find(target.sandbox)
        if sandbox is None:
            return _refuse(asked, "sign_in")
        if not is_open(sandbox):
            if trust == Trust.UNVERIFIED:
                return _refuse(asked, "sign_in")
            try:
                woken = await self._woken(asked, sandbox, trust)
            except FleetError as refusal:
                return _not_woken(asked, sandbox, refusal)
            if woken is None or not is_open(woken):
                return _not_ready(asked, woken or sandbox)
            sandbox = woken
        return self._admit(asked, target, sandbox, trust)

    async def state(self, request: Request) -> Response:
        """What a sandbox is, once it is no longer `seen`, for the page that waits for it."""
        asked = Asked(request)
        target = self._addresses.target(asked.host, asked.uri)
        if target is None or self._credentials.judge(target, asked.headers, preflight=False) not in (Trust.TOKEN, Trust.BROWSER):
            return _refuse(asked, "sign_in")
        seen = dict(part.partition("=")[::2] for part in target.uri.partition("?")[2].split("&")).get("seen")
        until = time.monotonic() + NEWS_SECONDS
        while (sandbox := await self._waking.find(target.sandbox)) is not None:
            if sandbox.state != seen or (left := until - time.monotonic()) <= 0:
                return JSONResponse({"state": sandbox.state}, headers={"Cache-Control": "no-store"})
            await self._waking.news(left)
        return _refuse(asked, "sign_in")

    async def refusal(self, request: Request) -> Response:
        """What a stranger is told. Caddy puts it in place of a sandbox's own 401, so that both are the same."""
        return _refuse(Asked(request), "sign_in")

    async def certificate(self, request: Request) -> Response:
        """Say with 200 if a host name may have a certificate: the gateway's own, and those of sandboxes that exist."""
        sandbox = self._addresses.certified(request.query_params.get("domain", ""))
        known = sandbox == "" or (sandbox is not None and await self._waking.find(sandbox) is not None)
        return Response(status_code=200 if known else 404)

    async def _woken(self, asked: Asked, sandbox: Sandbox, trust: Trust) -> Sandbox | None:
        """Wake a sandbox. A page that is open somewhere does not: it would keep what is to sleep awake."""
        if trust == Trust.BROWSER and asked.is_background:
            return sandbox
        return await self._waking.wake(sandbox, PERSON_SECONDS if asked.is_page else self._waking.seconds)

    def _admit(self, asked: Asked, target: Target, sandbox: Sandbox, trust: Trust) -> Response:
        headers = {
            "X-Gateway-Upstream": sandbox.address.removeprefix("http://"),
            "X-Gateway-Form": "path" if target.by_path else "name",
            "X-Gateway-Sandbox": sandbox.id,
            "X-Gateway-Trust": trust.value,
        }
        if not target.by_path and (cookie := passed_on(asked.headers.get("cookie", ""))):
            headers["X-Gateway-Cookie"] = cookie
        if self._credentials.signs_in(target, trust):
            headers["X-Gateway-Sign"] = self._credentials.new_cookie(sandbox.id)
        return Response(status_code=204, headers=headers)


async def _unavailable(request: Request, error: Exception) -> Response:
    """What is told while the store or the engine fails. The server writes the error down."""
    asked = Asked(request)
    page = Pages.of(asked.headers.get("accept-language", "")).refused("unavailable")
    return _answer(asked, 503, "unavailable", "the fleet cannot say now where this is: try again", page, {"Retry-After": RETRY_SECONDS})


def _redirect(page: str) -> Response:
    return RedirectResponse(page, 302, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})


def _refuse(asked: Asked, what: str) -> Response:
    status, code, message = _REFUSALS[what]
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return _answer(asked, status, code, message, Pages.of(asked.headers.get("accept-language", "")).refused(what), headers)


def _not_ready(asked: Asked, sandbox: Sandbox) -> Response:
    pages = Pages.of(asked.headers.get("accept-language", ""))
    if sandbox.state == State.FAILED:
        return _answer(
            asked, 502, "sandbox_failed", f"the sandbox failed: {sandbox.reason}", pages.failed(sandbox.name, sandbox.reason), {}
        )
    said = f"the sandbox is {sandbox.state}: try again"
    return _answer(asked, 503, "not_ready", said, pages.waking(sandbox.name, sandbox.state), {"Retry-After": RETRY_SECONDS})


def _not_woken(asked: Asked, sandbox: Sandbox, refusal: FleetError) -> Response:
    page = Pages.of(asked.headers.get("accept-language", "")).failed(sandbox.name, str(refusal))
    return _answer(asked, refusal.status, refusal.code, str(refusal), page, {})


def _answer(asked: Asked, status: int, code: str, message: str, page: str, headers: dict[str, str]) -> Response:
    headers = headers | {
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Vary": "Accept",
    }
    if asked.is_page:
        return HTMLResponse(page, status, headers | {"Content-Security-Policy": POLICY})
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)
