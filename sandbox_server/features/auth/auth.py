"""Authorization of every request for the gateway, and tickets."""

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import Call, Caller, Failure, InvalidArgument, Model, PermissionDenied, Reply, Scope, Unauthenticated, operation
from sandbox_server.core.errors import HeldByHuman, left_to_people
from sandbox_server.core.identity import CALLER, EXPIRES, HANDOFF
from sandbox_server.core.tasks import in_access_thread
from sandbox_server.drivers.credentials.grants import Grant, is_prefix
from sandbox_server.drivers.credentials.names import GUEST, bearer_of, is_guest
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.drivers.ports.listening_ports import Ports
from sandbox_server.features.auth import cookies
from sandbox_server.features.auth.allowed_hosts import AllowedHosts
from sandbox_server.features.auth.credentials import ANYONE, NOBODY, Credentials, Identity
from sandbox_server.features.auth.origin import is_allowed, is_own
from sandbox_server.features.auth.original import Original
from sandbox_server.features.auth.paths import OPEN, is_probe, scope_for, shows_screen
from sandbox_server.features.auth.previews import is_editor, own_address, shares_origin
from sandbox_server.features.auth.turns import EditorTurns
from sandbox_server.settings import AuthSettings as AuthSettings

MAX_TICKET_SECONDS = 3600.0
_OF_PROGRAMS = ("bearer", "key", "nothing")
"""Credentials that no page can make a browser send."""


class CreateTicket(Model):
    actor: Literal["person", "agent"] | None = None
    """Who will use it. Absent: a person if it opens a page, a program otherwise; a program's tickets are always for programs."""
    path_prefix: str = "/"
    """Path under which the ticket, and the cookie that it becomes, is valid."""
    scopes: list[Scope] | None = None
    """Scopes of its bearer, at most the caller's. Absent: the caller's."""
    ttl: float | None = None
    """Seconds within which it can be redeemed, at most 3600. Absent: the setting `TICKET_TTL_SECONDS`."""
    uses: Annotated[int, Field(ge=1, le=100)] = 1
    """How many may use it, each once. Each gets an identity of its own."""


class Ticket(Model):
    ticket: str
    """Use it once, as `?ticket=`. The answer sets a cookie for the page's assets and sockets."""
    expires_in: int
    """Seconds within which it has to be used."""


class Auth:
    """Decides about every request before it is routed. `turns` checks the lease for editors."""

    tag = "auth"

    def __init__(
        self,
        credentials: Credentials,
        tickets: Tickets,
        ports: Ports,
        settings: AuthSettings,
        now: Callable[[], float] = time.time,
        turns: EditorTurns | None = None,
        hosts: AllowedHosts | None = None,
        program_called: Callable[[], None] = lambda: None,
    ) -> None:
        """`program_called` is told of every call of a program that may pass, but for probes."""
        self._credentials = credentials
        self._tickets = tickets
        self._ports = ports
        self._settings = settings
        self._now = now
        self._turns = turns
        self._hosts = hosts or AllowedHosts(settings.hosts, "localhost", settings.preview_domain)
        self._program_called = program_called

    @operation("GET /auth", scope="public", envelope=False, operation_id="authenticate")
    async def authenticate_request(self, call: Call) -> Reply[dict[str, str]]:
        """Decide whether a request may pass, and report its caller.

        The gateway asks this about each request and applies the headers of the answer. Called through the gateway, it
        returns the caller itself.
        """
        if CALLER in call.headers:
            return Reply(_names(Grant(call.caller.name, call.caller.scopes)))
        original = Original.of(call.headers)
        try:
            return await self._admit(original)
        except Failure as refusal:
            return _refusal_response(refusal)

    @operation("POST /tickets", scope="any", envelope=False)
    async def create_ticket(self, request: CreateTicket, call: Call) -> Ticket:
        """Make a ticket: a credential for one use, for clients that cannot send headers.

        It allows at most what the caller may do, and it and its session end no later than the caller's own credential.
        A program makes tickets for programs only, whatever its scopes, unless it has the owner's key.
        """
        if request.actor == "person" and not call.caller.decides:
            raise left_to_people("to make a ticket for a person")
        scopes = call.caller.scopes if request.scopes is None else frozenset(request.scopes)
        if not scopes <= call.caller.scopes:
            raise PermissionDenied(f"you do not have the scope {min(scopes - call.caller.scopes)!r} yourself")
        if not is_prefix(request.path_prefix):
            raise InvalidArgument("path_prefix must be an absolute path without '..', '//' or characters that a cookie cannot hold")
        ttl = self._settings.ticket_ttl if request.ttl is None else request.ttl
        if not 0 < ttl <= max(MAX_TICKET_SECONDS, self._settings.ticket_ttl):
            raise InvalidArgument(f"ttl must be greater than 0 and at most {MAX_TICKET_SECONDS:g} seconds")
        expires = call.headers.get(EXPIRES)
        person = None if request.actor is None and call.caller.decides else request.actor == "person"
        ends = float(expires) if expires else None
        ttl = ttl if ends is None else min(ttl, max(1.0, ends - self._now()))
        handoff = call.headers.get(HANDOFF) or None
        caller = call.caller
        grant = Grant(
            bearer_of(caller.name),
            scopes,
            request.path_prefix,
            ends,
            caller.tools,
            profiles=caller.profiles,
            lanes=caller.lanes,
            person=person,
            handoff=handoff,
        )
        run = in_access_thread if caller.decides else asyncio.to_thread  # what programs make waits for no place of people's
        ticket = await run(self._tickets.create, grant, ttl, request.uses, maker=caller.name, person=caller.person)
        return Ticket(ticket=ticket, expires_in=math.ceil(ttl))

    @operation("DELETE /v1/session", scope="any")
    async def sign_out(self, call: Call) -> Reply[None]:
        """Sign this browser out by removing its cookie.

        Other browsers, and copies of the cookie, stay signed in until their sessions end.
        """
        here = Original.of(call.headers)
        return Reply(None, status=204, headers={"Set-Cookie": cookies.clear_cookie(here.host, is_encrypted=here.is_encrypted)})

    async def _admit(self, original: Original) -> Reply[dict[str, str]]:
        """Decide about one request; raises Unauthenticated, PermissionDenied, HeldByHuman or InvalidArgument."""
        self._credentials.check(original)
        if self._settings.mode == "off":
            await self._hosts.check(original)
        identity = await self._identify(original)
        _check_path(identity, original)
        if original.port is not None and identity.grant.share is not None:
            self._ports.check_shareable(original.port)
        if self._turns:
            self._turns.check(identity, original)
        signs_in = identity.via == "ticket" or (identity.via == "query" and original.is_page)
        cookies_then = [*self._credentials.sessions(original), *([identity.grant] if signs_in else [])]
        if identity.via not in _OF_PROGRAMS and shares_origin(original, cookies_then):
            return await self._preview_elsewhere(identity, original)
        if is_program(identity, original):
            self._program_called()
        headers = self._sign_in(identity, original) if signs_in else self._identify_visitor(identity, original)
        if signs_in and original.is_page:
            return Reply({}, status=401, headers={**headers, "X-Sandbox-Redirect": self._address(original, identity.grant)})
        if original.port is None and identity.via not in _OF_PROGRAMS and is_editor(original.path):
            return _editor_elsewhere(original)
        upstream = await self._upstream(original)
        return Reply(_names(identity.grant), headers={**headers, **upstream, **self._forwarded_headers(identity, original)})

    async def _upstream(self, original: Original) -> dict[str, str]:
        """Return the headers that name the program of a preview or an editor, and the network that it is in."""
        if original.port is None:
            return {"X-Sandbox-Network": "box"} if self._ports.has_box and is_editor(original.path) else {}
        place = await self._ports.place(original.port)
        return {"X-Sandbox-Upstream": place.authority, "X-Sandbox-Network": "box" if place.in_box else ""}

    async def _identify(self, original: Original) -> Identity:
        if self._settings.mode == "off":
            visitor = self._credentials.visitor(original)
            return visitor if is_allowed(original, self._settings.origins) else _unless_foreign(visitor, original, silence=True)
        try:
            identity = await self._credentials.identify(original)
            return _unless_foreign(identity, original, silence=False) if identity.via == "session" else identity
        except (Unauthenticated, PermissionDenied):
            if original.path in OPEN and original.port is None:
                return NOBODY
            raise

    async def _preview_elsewhere(self, identity: Identity, original: Original) -> Reply[dict[str, str]]:
        """Redirect a page to its preview host, where a ticket signs the browser in for that preview only."""
        address = own_address(original, self._settings.preview_domain, self._credentials.is_secret)
        if not original.is_page or address is None:
            raise PermissionDenied(
                "a preview cannot use the host on which you are signed in: set PREVIEW_DOMAIN, or use a ticket for its path"
            )
        scopes = identity.grant.scopes & {"code"}
        grant = replace(identity.grant, caller=_caller_on_preview(identity), scopes=scopes, prefix="/", port=original.port)
        ticket = await in_access_thread(self._tickets.create, grant, self._settings.ticket_ttl, person=identity.person)
        return Reply({}, status=401, headers={"X-Sandbox-Redirect": f"{address}{'&' if '?' in address else '?'}ticket={ticket}"})

    def _sign_in(self, identity: Identity, original: Original) -> dict[str, str]:
        if identity.via == "query":  # the person who opens a page with a key is not the program that has the same key
            identity = replace(identity, grant=replace(identity.grant, caller=bearer_of(identity.grant.caller)))
        grant, sealed = self._credentials.session_of(identity)
        framed, encrypted = bool(self._settings.origins) and original.is_framed_elsewhere, original.is_encrypted
        cookie = cookies.set_cookie(sealed, grant, host=original.host, is_encrypted=encrypted, is_framed=framed, now=self._now())
        return {"Set-Cookie": cookie}

    def _identify_visitor(self, identity: Identity, original: Original) -> dict[str, str]:
        """With authentication off, give a browser that opens a page an identity: a person is not the agent."""
        if identity is not ANYONE or not original.is_page or original.port is not None:
            return {}
        return self._sign_in(Identity(replace(ANYONE.grant, caller=bearer_of(ANYONE.grant.caller)), "nothing"), original)

    def _address(self, original: Original, grant: Grant) -> str:
        r"""Return the URL without the credential, so that neither the history nor the page contains one, and without a guest's name.

        It begins with exactly one slash: `//host` and `/\host` would lead elsewhere.
        """
        names = {GUEST} if is_guest(grant.caller) else set()
        kept = original.uri_without(lambda name, value: name in names or self._credentials.is_secret(name, value))
        return "/" + kept.lstrip("/\\").replace("\\", "%5C")

    def _forwarded_headers(self, identity: Identity, original: Original) -> dict[str, str]:
        """Return the headers for the component: the caller, and the client's own headers without our credentials."""
        spent = identity.via == "bearer" or self._credentials.own_bearer(original)
        grant = identity.grant
        return {
            **Caller(
                grant.caller, grant.scopes, grant.tools, grant.profiles, grant.lanes, person=identity.person, owner=identity.owner
            ).headers(),
            EXPIRES.title(): "" if grant.expires is None else f"{math.floor(grant.expires)}",
            HANDOFF.title(): grant.handoff or "",
            "X-Sandbox-Forward-Uri": original.uri_without(self._credentials.is_secret),
            "X-Sandbox-Forward-Cookie": cookies.without_ours(original.headers.get("cookie", "")),
            "X-Sandbox-Forward-Authorization": "" if spent else original.headers.get("authorization", ""),
        }


def is_program(identity: Identity, original: Original) -> bool:
    """Whether an agent's program sends the request: no browser, and no probe of whoever runs the container."""
    return (
        not identity.person
        and identity is not NOBODY
        and identity.via in _OF_PROGRAMS
        and not original.is_page
        and not is_probe(original.path)
    )


def _caller_on_preview(identity: Identity) -> str:
    """Return the caller's name on a preview, which stays the same, so that the holder of the lease is recognised there."""
    caller = identity.grant.caller
    return caller if "#" in caller else bearer_of(caller)


def _refusal_response(refusal: Failure) -> Reply[dict[str, str]]:
    """Return a refusal that nginx understands: 401 if the caller is unknown, else 403, which it turns into 423 or 400 by a header."""
    headers = {"X-Sandbox-Reason": refusal.message}
    if isinstance(refusal, HeldByHuman):
        return Reply({"message": refusal.message}, status=403, headers={"X-Sandbox-Held": "held"})
    if isinstance(refusal, Unauthenticated):
        return Reply({"message": refusal.message}, status=401, headers={**headers, "WWW-Authenticate": 'Bearer realm="sandbox"'})
    if isinstance(refusal, InvalidArgument):
        headers["X-Sandbox-Malformed"] = "malformed"
    return Reply({"message": refusal.message}, status=403, headers=headers)


def _names(grant: Grant) -> dict[str, str]:
    return {"caller": grant.caller, "scopes": " ".join(sorted(grant.scopes))}


def _unless_foreign(identity: Identity, original: Original, *, silence: bool) -> Identity:
    if not is_own(original, silence=silence):
        raise PermissionDenied("this request came from another site's page in your browser")
    return identity


def _check_path(identity: Identity, original: Original) -> None:
    """Raise PermissionDenied unless the caller may use the path."""
    if identity is NOBODY:
        return
    if original.path == "/tickets" and identity.via == "ticket":
        raise PermissionDenied("a ticket cannot make tickets: sign in with it, or use the credential that made it")
    if original.path == "/tickets" and identity.grant.prefix != "/":
        raise PermissionDenied("a ticket that is bound to a path cannot make tickets")
    if identity.grant.port is not None and identity.grant.port != original.port:
        raise PermissionDenied(f"this link allows only port {identity.grant.port}")
    scope = scope_for(original.path) if original.port is None else "code"
    if scope is not None and scope not in identity.grant.scopes:
        raise PermissionDenied(f"this needs the scope '{scope}'")
    if scope is not None and identity.grant.tools is not None:
        raise PermissionDenied("this token allows only the tools that it names")
    if shows_screen(original.path) and original.port is None and identity.grant.profiles is not None:
        raise PermissionDenied("a token that names browser profiles sees their pages, and not the screen")
    if shows_screen(original.path) and original.port is None and identity.grant.lanes is not None:
        raise PermissionDenied("a token that names lanes sees their pages, and not the screen")


def _editor_elsewhere(original: Original) -> Reply[dict[str, str]]:
    """Redirect a page to ours, which starts the editor and continues to its preview; raises PermissionDenied otherwise."""
    if not original.is_page:
        raise PermissionDenied("a signed-in browser can open an editor only at its preview URL")
    name = original.path.split("/")[1]
    return Reply({}, status=401, headers={"X-Sandbox-Redirect": f"/static/editor/index.html?{name}"})
