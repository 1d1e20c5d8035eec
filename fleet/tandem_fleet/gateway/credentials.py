"""What a request carries that can be for a sandbox. The sandbox itself decides what it opens; here it decides whether it is woken.

The fleet's tokens are verified. A browser that a sandbox signed in gets a cookie of the gateway beside the sandbox's own, which can be
verified while the sandbox sleeps, and opens nothing by itself. Tickets, links and keys of the sandbox's own are known only to the sandbox.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qsl

import jwt

from tandem_fleet.gateway.addresses import Target
from tandem_fleet.signing_key import ISSUER, SigningKey

COOKIE = "tandem_gateway"
COOKIE_SECONDS = 12 * 3600
SESSION = "sandbox_session"
"""How the names of a sandbox's own cookies begin, behind `__Host-` where there is TLS."""
_IN_QUERY = ("ticket", "share", "api_key")
_BEARER = re.compile(r"Bearer +(\S+)", re.IGNORECASE)


class Trust(StrEnum):
    """What is known of who sent a request."""

    TOKEN = "token"
    """A token of the fleet's for this sandbox."""
    BROWSER = "browser"
    """The gateway's cookie: the sandbox signed this browser in."""
    UNVERIFIED = "unverified"
    """Something that the sandbox alone can judge."""
    NONE = "none"
    """Nothing that can be for this sandbox."""


@dataclass(frozen=True)
class Credentials:
    """Judges requests by the fleet's key."""

    key: SigningKey
    secure: bool
    """Whether clients speak TLS: then the cookie is accepted from the exact host alone."""

    @property
    def cookie_name(self) -> str:
        """The gateway's cookie."""
        return f"__Host-{COOKIE}" if self.secure else COOKIE

    def judge(self, target: Target, headers: Mapping[str, str], *, preflight: bool) -> Trust:
        """What a request carries, of the most trusted kind. A request by path has no cookies."""
        sent = [found[1]] if (found := _BEARER.fullmatch(headers.get("authorization", "").strip())) else []
        sent += [key] if (key := headers.get("x-aio-api-key", "").strip()) else []
        sent += [value for name, value in _query(target.uri) if name in _IN_QUERY and value]
        if any(self._holds(token, target.sandbox) for token in sent):
            return Trust.TOKEN
        cookies = [] if target.by_path else _pairs(headers.get("cookie", ""))
        if any(name == self.cookie_name and self._holds(value, _audience(target.sandbox)) for name, value in cookies):
            return Trust.BROWSER
        has_session = any(name.removeprefix("__Host-").startswith(SESSION) for name, _ in cookies)
        return Trust.UNVERIFIED if preflight or sent or has_session else Trust.NONE

    def signs_in(self, target: Target, trust: Trust) -> bool:
        """Whether the sandbox may sign a browser in with this request."""
        return not target.by_path and (trust == Trust.UNVERIFIED or any(name in _IN_QUERY for name, _ in _query(target.uri)))

    def new_cookie(self, sandbox: str) -> str:
        """The `Set-Cookie` header by which a browser that was signed in wakes a sandbox later."""
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": _audience(sandbox), "iat": now, "exp": now + COOKIE_SECONDS}
        value = jwt.encode(claims, self.key.private, algorithm="EdDSA", headers={"kid": self.key.number})
        secure = "; Secure" if self.secure else ""
        return f"{self.cookie_name}={value}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Lax{secure}"

    def _holds(self, token: str, audience: str) -> bool:
        try:
            jwt.decode(
                token,
                self.key.private.public_key(),
                algorithms=["EdDSA"],
                audience=audience,
                issuer=ISSUER,
                options={"require": ["exp", "aud", "iss"]},
            )
        except jwt.PyJWTError:
            return False
        return True


def passed_on(header: str) -> str:
    """A `Cookie` header without the gateway's own, which a sandbox does not get to see."""
    return "; ".join(f"{name}={value}" for name, value in _pairs(header) if name.removeprefix("__Host-") != COOKIE)


def _audience(sandbox: str) -> str:
    """Another audience than a sandbox's, so that the cookie opens none."""
    return f"{sandbox}/gateway"


def _query(uri: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(uri.partition("?")[2], keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        return []


def _pairs(header: str) -> list[tuple[str, str]]:
    pairs = (pair.strip().partition("=") for pair in header.split(";") if pair.strip())
    return [(name.strip(), value.strip()) for name, _, value in pairs]
