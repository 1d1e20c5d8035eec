"""Verifies ID tokens (OpenID Connect Core 1.0, 3.1.3.7) by the keys of a provider (RFC 7517)."""

import hmac
from collections.abc import Mapping
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from tandem_fleet.errors import UnauthorizedError

ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
"""Signatures by a private key alone: neither `none` nor a secret that both know."""
SKEW_SECONDS = 60
LONGEST_TOKEN = 64 << 10
MOST_KEYS = 64
RSA_BITS = range(2048, 8193)


class UnknownKey(Exception):
    """No key of the set has signed it: the provider may have new ones."""


def verified(token: str, keys: Mapping[str, Any], *, issuer: str, client: str, nonce: str) -> dict[str, Any]:
    """The claims of an ID token for this client, of this sign-in. Raises `UnauthorizedError`, and `UnknownKey` for a key not in the set."""
    if len(token) > LONGEST_TOKEN:
        raise UnauthorizedError("the provider's ID token is too long")
    try:
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise UnauthorizedError("the provider's ID token is not signed by a private key")
        key = _key(keys, header.get("kid"), algorithm)
        required = ["iss", "sub", "aud", "exp", "iat"]
        claims = jwt.decode(
            token, key, algorithms=[algorithm], audience=client, issuer=issuer, leeway=SKEW_SECONDS, options={"require": required}
        )
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
        raise UnauthorizedError(f"the provider's ID token does not hold: {type(error).__name__}") from error
    audience, party = claims["aud"], claims.get("azp")
    if (isinstance(audience, list) and len(audience) > 1 and party is None) or party not in (None, client):
        raise UnauthorizedError("the provider's ID token is for another client")
    sent = claims.get("nonce")
    if not isinstance(sent, str) or not hmac.compare_digest(sent.encode(), nonce.encode()):
        raise UnauthorizedError("the provider's ID token is of another sign-in")
    return dict(claims)


def _key(keys: Mapping[str, Any], number: object, algorithm: str) -> Any:
    """The key that a token names; without a name the only one that fits. Raises `UnknownKey`."""
    listed = keys.get("keys")
    candidates = [one for one in listed[:MOST_KEYS] if isinstance(one, dict)] if isinstance(listed, list) else []
    named = [one for one in candidates if number is None or one.get("kid") == number]
    usable = [key for one in named if (key := _usable(one, algorithm)) is not None]
    if len(usable) != 1:
        raise UnknownKey
    return usable[0]


def _usable(key: dict[str, Any], algorithm: str) -> Any:
    """A key as it verifies; None for one that is for something else, or cannot be used."""
    if key.get("use", "sig") != "sig" or key.get("alg", algorithm) != algorithm or key.get("kty") not in ("RSA", "EC", "OKP"):
        return None
    try:
        made = jwt.PyJWK(key, algorithm=algorithm).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    return None if isinstance(made, RSAPublicKey) and made.key_size not in RSA_BITS else made
