"""A client of a token endpoint outside: exchanges the sandbox's token for an access token (RFC 8693)."""

import asyncio
import base64
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import quote, urlencode

from sandbox_server import patterns
from sandbox_server.core.errors import PermissionDenied, Unavailable

TIMEOUT = 10.0
"""Seconds for one exchange."""
MAX_ANSWER = 64 << 10
MAX_LIFETIME = 86400.0
"""Seconds for which an access token counts at most, whatever the endpoint says."""
MARGIN = 30.0
"""Seconds before its end in which an access token is not used any more."""
MAX_KEPT = 32
"""Limit of access tokens that are kept."""
GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt"
ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"
_TOKEN = patterns.compile(r"[A-Za-z0-9._~+/=:|-]{1,1000}")
MAX_TOKEN = 16384
_WORD = patterns.compile(r"[a-z_]{1,64}")


@dataclass(frozen=True, slots=True)
class OutsideToken:
    """An access token from outside."""

    token: str
    kind: str
    """Its `token_type`, such as `Bearer`."""
    expires_at: float
    """Seconds since the epoch."""
    scope: str | None = None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        return None


class TokenEndpoint:
    """The endpoint at a URL; `client` is the id and secret with which the sandbox signs in there."""

    def __init__(self, url: str, client: tuple[str, str] | None = None, now: Callable[[], float] = time.time) -> None:
        self.url = url
        self._client = client
        self._now = now
        self._kept: dict[tuple[str, ...], OutsideToken] = {}

    async def access_token(self, subject: Callable[[], str], about: str, **parameters: str | None) -> OutsideToken:
        """Exchange the token that `subject` makes; `about` names what it says, for those that are kept.

        Raises PermissionDenied if the endpoint refuses, and Unavailable if it does not answer as it must.
        """
        asked = {name: value for name, value in parameters.items() if value is not None}
        key = (about, *(f"{name}={value}" for name, value in sorted(asked.items())))
        kept = self._kept.get(key)
        if kept and kept.expires_at - MARGIN > self._now():
            return kept
        try:
            async with asyncio.timeout(TIMEOUT + 1):
                found = await asyncio.to_thread(self._exchange, subject, asked)
        except TimeoutError:
            raise Unavailable("the token endpoint does not answer", retry_after=TIMEOUT) from None
        self._keep(key, found)
        return found

    def _keep(self, key: tuple[str, ...], found: OutsideToken) -> None:
        live = {each: token for each, token in self._kept.items() if token.expires_at > self._now()}
        while len(live) >= MAX_KEPT:
            live.pop(next(iter(live)))
        self._kept = live | {key: found}

    def _exchange(self, subject: Callable[[], str], asked: Mapping[str, str]) -> OutsideToken:
        form = {"grant_type": GRANT, "subject_token": subject(), "subject_token_type": JWT_TYPE, **asked}
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json", **self._sign_in()}
        request = urllib.request.Request(self.url, urlencode(form).encode(), headers, method="POST")
        try:
            with urllib.request.build_opener(_NoRedirects).open(request, timeout=TIMEOUT) as response:
                return self._read(_object(_bounded(response)))
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error) from None
        except (OSError, ValueError) as error:
            raise Unavailable(f"the token endpoint cannot be used: {type(error).__name__}", retry_after=TIMEOUT) from None

    def _sign_in(self) -> dict[str, str]:
        """Return the header with the client's id and secret, each in form encoding (RFC 6749, section 2.3.1)."""
        if self._client is None:
            return {}
        pair = ":".join(quote(part, safe="") for part in self._client)
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}

    def _read(self, answer: Mapping[str, Any]) -> OutsideToken:
        token, kind, seconds, scope = (answer.get(name) for name in ("access_token", "token_type", "expires_in", "scope"))
        if not isinstance(token, str) or not _is_token(token) or not isinstance(kind, str) or len(kind) > 64:
            raise ValueError("no access token")
        lifetime = float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0 else 0.0
        return OutsideToken(token, kind, self._now() + min(lifetime, MAX_LIFETIME), scope if isinstance(scope, str) else None)


def _is_token(text: str) -> bool:
    return 0 < len(text) <= MAX_TOKEN and all(_TOKEN.fullmatch(text[start : start + 1000]) for start in range(0, len(text), 1000))


def _bounded(response: IO[bytes]) -> bytes:
    """Read a body in at most `TIMEOUT` seconds and `MAX_ANSWER` bytes. Raises ValueError and OSError."""
    deadline, read = time.monotonic() + TIMEOUT, b""
    while chunk := response.read1(8192):  # type: ignore[attr-defined] # an HTTPResponse has it
        read += chunk
        if len(read) > MAX_ANSWER or time.monotonic() > deadline:
            raise ValueError("too long")
    return read


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(found, dict):
        raise ValueError("no object")  # noqa: TRY004 - what somebody sends is no type
    return found


def _refusal(error: urllib.error.HTTPError) -> PermissionDenied | Unavailable:
    if not 400 <= error.code < 500:
        return Unavailable(f"the token endpoint answered {error.code}", retry_after=TIMEOUT)
    try:
        code = _object(_bounded(error)).get("error")
    except (OSError, ValueError):
        code = None
    named = code if isinstance(code, str) and _WORD.fullmatch(code) else f"status {error.code}"
    return PermissionDenied(f"the token endpoint refuses the exchange: {named}")
