"""Signed tokens (JWT): their caller and their claims."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from sandbox_server.core.errors import Unauthenticated
from sandbox_server.core.tasks import in_access_thread
from sandbox_server.drivers.credentials.claims import Claims, claims_of, payload_of
from sandbox_server.drivers.credentials.token_keys import BadKey, KeySource, TokenKey

LEEWAY_SECONDS = 10.0
"""Tolerated difference between the clocks of the issuer and of this container."""
CACHED_SECONDS = 60.0
"""Seconds after which a verified token is checked again, so that a withdrawn key stops working."""
MAX_CACHED = 1024
MAX_TOKEN_CHARS = 16384


class Tokens:
    """Verifies tokens with the configured keys. Verified ones are cached by their hash."""

    def __init__(
        self, sources: Sequence[KeySource], audience: str | None, issuer: str | None, now: Callable[[], float] = time.time
    ) -> None:
        self._sources = sources
        self._audience = audience
        self._issuer = issuer
        self._now = now
        self._verified: OrderedDict[bytes, tuple[Claims, float]] = OrderedDict()

    async def verify(self, token: str) -> Claims:
        """Check the signature, `exp` and `nbf` if present, and `aud` and `iss` if configured.

        Raises Unauthenticated.
        """
        digest = hashlib.sha256(token.encode()).digest()
        claims, until = self._verified.get(digest, (None, 0.0))
        if claims is not None and self._now() < until:
            return claims
        claims = await self._verify(token)
        self._remember(digest, claims)
        return claims

    async def _verify(self, token: str) -> Claims:
        if not self._sources:
            raise Unauthenticated("wrong key: this sandbox has another one, and accepts no tokens")
        if len(token) > MAX_TOKEN_CHARS:
            raise Unauthenticated(f"a token may have {MAX_TOKEN_CHARS} characters")
        algorithm, kid = await in_access_thread(_header, token)
        key = await self._key(kid)
        if key is None or key.algorithm != algorithm:
            raise Unauthenticated("the token is not signed with a key and algorithm that this sandbox accepts")
        return claims_of(await in_access_thread(_decode, token, key, self._audience, self._issuer))

    async def _key(self, kid: str | None) -> TokenKey | None:
        for source in self._sources:
            try:
                if (key := await source.find(kid)) is not None:
                    return key
            except BadKey:
                continue
        return None

    def _remember(self, digest: bytes, claims: Claims) -> None:
        until = self._now() + CACHED_SECONDS
        self._verified[digest] = (claims, until if claims.expires is None else min(until, claims.expires + LEEWAY_SECONDS))
        self._verified.move_to_end(digest)
        if len(self._verified) > MAX_CACHED:
            self._verified.popitem(last=False)


def _header(token: str) -> tuple[str | None, str | None]:
    import jwt  # 95 ms, which callers with an API key never pay

    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, RecursionError):  # JSON that nests deeper than Python's stack
        raise Unauthenticated("wrong key: it is neither this sandbox's nor a token") from None
    return header.get("alg"), header.get("kid")


def _decode(token: str, key: TokenKey, audience: str | None, issuer: str | None) -> dict[str, Any]:
    """Return a token's payload if its signature is valid. Input that would break the library is refused before."""
    import jwt

    payload_of(token)
    required = [*(["aud"] if audience else []), *(["iss"] if issuer else [])]
    options: Any = {"require": required, "verify_aud": audience is not None, "verify_sub": False, "verify_jti": False}
    try:
        return jwt.decode(
            token, key.public, algorithms=[key.algorithm], audience=audience, issuer=issuer, leeway=LEEWAY_SECONDS, options=options
        )
    except jwt.ExpiredSignatureError:
        raise Unauthenticated("the token has expired") from None
    except jwt.ImmatureSignatureError:
        raise Unauthenticated("the token is not valid yet") from None
    except (jwt.InvalidAudienceError, jwt.InvalidIssuerError, jwt.MissingRequiredClaimError):
        raise Unauthenticated("the token is for another audience or from another issuer") from None
    except jwt.PyJWTError:
        raise Unauthenticated("the token's signature or content is not valid") from None
