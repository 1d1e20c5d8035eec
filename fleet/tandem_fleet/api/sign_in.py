"""People sign in to the wall by an OpenID provider: authorization code with PKCE, state and nonce, all of one cookie.

The service keeps nothing of a sign-in that goes on: state, nonce and verifier are made of the random cookie that the browser holds.
"""

import base64
import hashlib
import hmac
import html
import re
import secrets
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tandem_fleet.api import browser_sessions
from tandem_fleet.api.authorization import Caller
from tandem_fleet.api.pages import HEADERS
from tandem_fleet.errors import FleetError, ForbiddenError, NotFoundError, UnauthorizedError
from tandem_fleet.fleet import Fleet
from tandem_fleet.oidc.provider import Provider
from tandem_fleet.oidc.roles import ROLES, account_of, rule_of

COOKIE = "tandem_sign_in"
SECONDS = 600
"""How long a person may take at the provider."""
LONGEST = 4096
_REASON = re.compile(r"[a-z_]{1,40}")


def router(fleet: Fleet, provider: Provider | None) -> APIRouter:
    """The routes. They are no operations, and are not in the API's description."""
    routes = APIRouter()

    @routes.get("/oidc/offered", include_in_schema=False)
    async def offered() -> dict[str, bool]:
        """Whether people sign in by a provider."""
        return {"offered": provider is not None}

    if provider is None:
        return routes

    @routes.get("/oidc/login", include_in_schema=False)
    async def log_in(request: Request) -> Response:
        """Send the browser to the provider. From there it comes back to the wall, and to no other place."""
        if request.headers.get("host", "") != urlsplit(provider.settings.url).netloc:
            return _page(421, f"Sign in at {provider.settings.url}", provider.settings.url)
        secret = secrets.token_urlsafe(32)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(_part(secret, "verifier").encode()).digest()).rstrip(b"=").decode()
        try:
            url = await provider.authorization_url(_part(secret, "state"), _part(secret, "nonce"), challenge)
        except FleetError as error:
            return _refused(error)
        response = RedirectResponse(url, 303, HEADERS | {"Cache-Control": "no-store"})
        browser_sessions.keep(request, response, secret, COOKIE, SECONDS)
        return response

    @routes.get("/oidc/callback", include_in_schema=False)
    async def come_back(request: Request) -> Response:
        """What the provider sends the browser back to."""
        try:
            response: Response = RedirectResponse("/", 303, HEADERS | {"Cache-Control": "no-store"})
            browser_sessions.keep(request, response, await _begun(fleet, provider, request))
        except ForbiddenError as error:  # of an account that the provider goes on to be signed in to
            response = _refused(error, other_account=await _signs_out(provider))
        except FleetError as error:
            response = _refused(error)
        browser_sessions.keep(request, response, "", COOKIE)
        return response

    @routes.get("/oidc/logout", include_in_schema=False)
    async def log_out(request: Request) -> Response:
        """Send a browser that has signed out here to the provider, to sign out there; to the wall where it has no such place."""
        if not browser_sessions.is_own(request):
            return _refused(ForbiddenError("this request came from another site's page in your browser"))
        try:
            return RedirectResponse(await provider.end_session_url() or "/", 303, HEADERS | {"Cache-Control": "no-store"})
        except FleetError as error:
            return _refused(error)

    return routes


async def _begun(fleet: Fleet, provider: Provider, request: Request) -> str:
    """The secret of the session that an answer of the provider begins."""
    answer, secret = request.query_params, browser_sessions.kept(request, COOKIE)
    state, code = answer.get("state", ""), answer.get("code", "")
    if len(request.url.query) > LONGEST or not secret or not hmac.compare_digest(state.encode(), _part(secret, "state").encode()):
        raise UnauthorizedError("this sign-in was not begun in this browser, or has ended")
    await provider.check_issuer(answer.get("iss"))
    if not code:
        reason = answer.get("error", "")
        raise UnauthorizedError(f"the identity provider refused: {reason if _REASON.fullmatch(reason) else 'no reason that can be shown'}")
    claims = await provider.claims(code, _part(secret, "verifier"), _part(secret, "nonce"))
    account = account_of(claims)
    request.state.caller = Caller("", account.name, frozenset(), account=account.subject)
    rule = rule_of(provider.settings.rules, provider.settings.claim, claims)
    try:
        begun, _ = await fleet.people.begin_session_of(rule.tenant, account.name, ROLES[rule.role], account.subject)
    except NotFoundError as error:
        raise ForbiddenError("this account's tenant is not in this fleet: tell the fleet's operator") from error
    request.state.caller = Caller(rule.tenant, account.name, frozenset(), account=account.subject)
    return begun


async def _signs_out(provider: Provider) -> bool:
    """Whether the provider has a place to sign out."""
    try:
        return bool(await provider.end_session_url())
    except FleetError:
        return False


def _part(secret: str, name: str) -> str:
    """What a sign-in sends under a name: it tells nothing of the secret, and not what is sent under another."""
    return (
        base64.urlsafe_b64encode(hmac.digest(secret.encode("utf-8", "surrogateescape"), name.encode(), hashlib.sha256))
        .rstrip(b"=")
        .decode()
    )


def _refused(error: FleetError, *, other_account: bool = False) -> Response:
    return _page(error.status, f"{error}.", "/oidc/login", error.retry_after, other_account=other_account)


def _page(status: int, text: str, link: str, retry_after: int | None = None, *, other_account: bool = False) -> Response:
    """A page with a reason and a link; with another one to sign out at the provider, where a second account can sign in."""
    other = '<p><a href="/oidc/logout">Use another account</a></p>' if other_account else ""
    said = html.escape(text[:1].upper() + text[1:])
    content = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sign in</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/static/colours.css">'
        f'<link rel="stylesheet" href="/static/wall.css"></head><body><main class="alone"><h1>You are not signed in</h1><p>{said}</p>'
        f'<p><a href="{html.escape(link)}">Sign in</a></p>{other}</main></body></html>'
    )
    wait = {"Retry-After": str(retry_after)} if retry_after is not None else {}
    return HTMLResponse(content, status, HEADERS | {"Cache-Control": "no-store"} | wait)
