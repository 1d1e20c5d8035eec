"""Token exchange (RFC 8693): a token of the sandbox or of a caller becomes a narrower one for another audience."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl, quote

from sandbox_server import patterns
from sandbox_server.core import Body, Call, Caller, InvalidArgument, Model, PermissionDenied, Reply, Unauthenticated, operation
from sandbox_server.core.identity import ALL_SCOPES
from sandbox_server.core.rate_limit import RateLimit
from sandbox_server.drivers.workload_identity.audiences import AudienceRules
from sandbox_server.drivers.workload_identity.token_endpoint import ACCESS_TOKEN_TYPE, GRANT, JWT_TYPE
from sandbox_server.drivers.workload_identity.token_issuer import TokenIssuer

MAX_FORM = 64 << 10
MAX_FIELDS = 32
MAX_ACTORS = 4
"""Limit of actors in a chain of `act` claims."""
MAX_SCOPE_CHARS = 1024
NEVER_DELEGATED = frozenset({"admin", "control"})
"""Scopes that no exchanged token has."""
_ID_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:id_token"
_REPEATED = ("audience", "resource")
_SCOPE = patterns.compile(r"[a-zA-Z0-9:._/-]{1,64}")
_HEADERS = {"Cache-Control": "no-store", "Pragma": "no-cache"}


class ExchangedToken(Model):
    """The answer of RFC 8693, section 2.2.1."""

    access_token: str
    issued_token_type: str
    token_type: str
    expires_in: int
    scope: str | None = None


class ExchangeRefused(Exception):
    """A refusal in the form of RFC 6749, section 5.2: `code` is its `error`."""

    def __init__(self, code: str, description: str) -> None:
        super().__init__(description)
        self.code = code
        self.description = description


@dataclass(frozen=True, slots=True)
class VerifiedCaller:
    """The caller that an API token names."""

    caller: Caller
    expires: float | None


type VerifyCaller = Callable[[str], Awaitable[VerifiedCaller]]
"""Verifies a token of this API's. Raises Unauthenticated."""


@dataclass(frozen=True, slots=True)
class _Party:
    """Whom a token is about."""

    claims: Mapping[str, Any]
    """The claims of a new token about it."""
    scopes: frozenset[str]
    expires: float | None
    is_sandbox: bool


class TokenExchange:
    """The token endpoint of the sandbox."""

    tag = "identity"

    def __init__(self, issuer: TokenIssuer, audiences: AudienceRules, rate: RateLimit, verify: VerifyCaller) -> None:
        self._issuer = issuer
        self._audiences = audiences
        self._rate = rate
        self._verify = verify

    @operation("POST /v1/identity/exchange", scope="shell", envelope=False)
    async def exchange_token(self, body: Body, call: Call) -> Reply[ExchangedToken]:
        """Exchange a token (RFC 8693): a form with `grant_type`, `subject_token`, `subject_token_type`, `audience`, and `scope`.

        `subject_token` is a token of this sandbox's that names it as its audience, or a caller's token for this API. The
        new token names who acts in `act`: of a caller's token always the sandbox. Its scopes are at most the subject's,
        without `admin` and `control`. A refusal has the form of RFC 6749.
        """
        self._rate.take(call.caller.name.partition("#")[0])
        try:
            form = _form(await _read(body), call.headers.get("content-type", ""))
            return Reply(await self._exchanged(form), headers=_HEADERS)
        except ExchangeRefused as refusal:
            told = {"error": refusal.code, "error_description": refusal.description}
            return cast("Reply[ExchangedToken]", Reply(told, status=400, headers=_HEADERS))

    async def _exchanged(self, form: Mapping[str, list[str]]) -> ExchangedToken:
        audiences = self._checked_audiences(form)
        subject = await self._party(form, "subject")
        actor = await self._party(form, "actor") if "actor_token" in form else None
        acting = actor or (None if subject.is_sandbox else self._sandbox())
        if actor and actor.is_sandbox == subject.is_sandbox:
            raise ExchangeRefused("invalid_request", "of subject and actor, one is the sandbox and one a caller")
        scopes = _narrowed(subject.scopes, form)
        claims = dict(subject.claims) | ({"scope": " ".join(sorted(scopes))} if scopes else {})
        if acting:
            claims["act"] = _actor(acting, subject)
        ends = min((each.expires for each in (subject, actor) if each and each.expires is not None), default=None)
        issued = await asyncio.to_thread(self._issuer.issue, audiences, claims, ends)
        lasts = max(1, int(issued.expires_at - self._issuer.now()))
        return ExchangedToken(
            access_token=issued.token,
            issued_token_type=JWT_TYPE,
            token_type="N_A",
            expires_in=lasts,
            scope=" ".join(sorted(scopes)) or None,
        )

    def _checked_audiences(self, form: Mapping[str, list[str]]) -> tuple[str, ...]:
        _check_words(form)
        if "resource" in form:
            raise ExchangeRefused("invalid_target", "resource is not supported: name an audience")
        if "audience" not in form:
            raise ExchangeRefused("invalid_request", "audience is missing")
        try:
            return self._audiences.check(form["audience"])
        except (InvalidArgument, PermissionDenied) as refusal:
            raise ExchangeRefused("invalid_target", refusal.message) from None

    async def _party(self, form: Mapping[str, list[str]], role: str) -> _Party:
        token, kind = form[f"{role}_token"][0], form.get(f"{role}_token_type", [""])[0]
        try:
            if kind in (JWT_TYPE, _ID_TOKEN_TYPE):
                return self._of_sandbox(await asyncio.to_thread(self._issuer.verify, token))
            if kind == ACCESS_TOKEN_TYPE:
                return _of_caller(await self._verify(token))
        except Unauthenticated:
            raise ExchangeRefused("invalid_request", f"{role}_token is not valid") from None
        raise ExchangeRefused("invalid_request", f"{role}_token_type must be {JWT_TYPE} or {ACCESS_TOKEN_TYPE}")

    def _of_sandbox(self, claims: Mapping[str, Any]) -> _Party:
        """Return the party of a verified token, which must say of the sandbox what holds now. Raises ExchangeRefused."""
        now = self._issuer.sandbox_claims()
        if any(claims.get(name) != now.get(name) for name in ("sub", "sandbox_id", "tenant", "task")):
            raise ExchangeRefused("invalid_request", "the token was issued before the sandbox was bound")
        kept = {**now, **({"act": claims["act"]} if "act" in claims else {})}
        return _Party(kept, frozenset(str(claims.get("scope", "")).split()), float(claims["exp"]), is_sandbox=True)

    def _sandbox(self) -> _Party:
        return _Party(self._issuer.sandbox_claims(), frozenset(), None, is_sandbox=True)


def _of_caller(verified: VerifiedCaller) -> _Party:
    """Return the party of a caller. Its subject is a URN, so that it can never be a sandbox's."""
    caller = verified.caller
    claims = {"sub": f"urn:tandem:caller:{quote(caller.name, safe='@.:-_')}"}
    return _Party(claims, (caller.scopes & ALL_SCOPES) - NEVER_DELEGATED, verified.expires, is_sandbox=False)


def _actor(acting: _Party, subject: _Party) -> dict[str, Any]:
    """Return the `act` claim, with the actors before it inside. Raises ExchangeRefused for a chain that is too long."""
    found: dict[str, Any] = {"sub": acting.claims["sub"]}
    if before := subject.claims.get("act"):
        found["act"] = before
    depth, inner = 0, found
    while inner:
        depth, inner = depth + 1, inner.get("act", {})
    if depth > MAX_ACTORS:
        raise ExchangeRefused("invalid_request", f"a token names at most {MAX_ACTORS} actors")
    return found


def _narrowed(scopes: frozenset[str], form: Mapping[str, list[str]]) -> frozenset[str]:
    """Return the scopes that are asked for, or all of the subject's. Raises ExchangeRefused for one that the subject does not have."""
    if "scope" not in form:
        return scopes
    words = form["scope"][0].split(" ")
    if len(form["scope"][0]) > MAX_SCOPE_CHARS or not all(_SCOPE.fullmatch(word) for word in words):
        raise ExchangeRefused("invalid_scope", "scope is malformed")
    if not scopes.issuperset(words):
        raise ExchangeRefused("invalid_scope", "the subject does not have this scope, or it is never passed on")
    return frozenset(words)


def _check_words(form: Mapping[str, list[str]]) -> None:
    """Check the fields that have few values. Raises ExchangeRefused."""
    if "grant_type" not in form:
        raise ExchangeRefused("invalid_request", "grant_type is missing")
    if form["grant_type"] != [GRANT]:
        raise ExchangeRefused("unsupported_grant_type", f"grant_type must be {GRANT}")
    for name in ("subject_token", "subject_token_type"):
        if name not in form:
            raise ExchangeRefused("invalid_request", f"{name} is missing")
    if ("actor_token" in form) != ("actor_token_type" in form):
        raise ExchangeRefused("invalid_request", "actor_token and actor_token_type belong together")
    if form.get("requested_token_type", [JWT_TYPE]) not in ([JWT_TYPE], [_ID_TOKEN_TYPE], [ACCESS_TOKEN_TYPE]):
        raise ExchangeRefused("invalid_request", f"requested_token_type must be {JWT_TYPE}")


async def _read(body: Body) -> bytes:
    read = b""
    async for chunk in body.chunks():
        read += chunk
        if len(read) > MAX_FORM:
            raise ExchangeRefused("invalid_request", f"a form has at most {MAX_FORM} bytes")
    return read


def _form(body: bytes, media_type: str) -> dict[str, list[str]]:
    """Parse a form. Fields without a value count as missing (RFC 6749, section 3.2). Raises ExchangeRefused."""
    if media_type.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise ExchangeRefused("invalid_request", "the body must be application/x-www-form-urlencoded")
    try:
        pairs = parse_qsl(body.decode("ascii"), strict_parsing=bool(body), max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:
        raise ExchangeRefused("invalid_request", "the form is malformed") from None
    form: dict[str, list[str]] = {}
    for name, value in pairs:
        if name in form and name not in _REPEATED:
            raise ExchangeRefused("invalid_request", "a parameter stands twice")
        form.setdefault(name, []).append(value)
    return form
