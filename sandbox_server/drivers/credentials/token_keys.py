"""Public keys for tokens, each bound to the one algorithm of its type (RFC 8725, section 3.1).

`cryptography` is imported with the first key: it costs more than the rest of the API's start.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

type Algorithm = Literal["RS256", "ES256", "EdDSA"]

MIN_RSA_BITS = 2048


class BadKey(ValueError):
    """A key that cannot be used. The message says why."""


@dataclass(frozen=True, slots=True)
class TokenKey:
    """A public key and its only accepted algorithm."""

    public: "RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey"
    algorithm: Algorithm


class KeySource(Protocol):
    """Finds the key of a token."""

    async def find(self, kid: str | None) -> TokenKey | None:
        """Return the key with this id; without an id, the only key.

        None if there is no such key. May block for a fetch.
        """


def bind(public: object) -> TokenKey:
    """Bind a key of `cryptography` to its algorithm; raises BadKey for a type, curve or size that is not accepted."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(public, rsa.RSAPublicKey):
        if public.key_size < MIN_RSA_BITS:
            raise BadKey(f"an RSA key must have {MIN_RSA_BITS} bits or more, this one has {public.key_size}")
        return TokenKey(public, "RS256")
    if isinstance(public, ec.EllipticCurvePublicKey) and isinstance(public.curve, ec.SECP256R1):
        return TokenKey(public, "ES256")
    if isinstance(public, ed25519.Ed25519PublicKey):
        return TokenKey(public, "EdDSA")
    raise BadKey("only RSA, EC P-256 and Ed25519 public keys are accepted")


def parse_public_key(text: str) -> TokenKey:
    """Parse a PEM public key, plain or in Base64 with or without line breaks. Raises BadKey."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        return bind(load_pem_public_key(_pem(text)))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise error if isinstance(error, BadKey) else BadKey(f"not a PEM public key: {error}") from None


def _pem(text: str) -> bytes:
    if "-----BEGIN" in text:
        return text.replace("\\n", "\n").encode()
    try:
        pem = base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error:
        raise BadKey("neither a PEM public key nor base64 of one") from None
    if b"PRIVATE KEY" in pem:
        raise BadKey("this is a private key: give the public one, and treat the private one as leaked")
    return pem


def parse_jwk(jwk: Mapping[str, object]) -> TokenKey:
    """Read one key of a JWKS (RFC 7517). Raises BadKey for one that is not for signing, or names another algorithm."""
    from jwt import PyJWK
    from jwt.exceptions import PyJWTError

    if jwk.get("use", "sig") != "sig" or jwk.get("kty") == "oct" or "d" in jwk:
        raise BadKey("not a public key for signing")
    try:
        key = bind(PyJWK.from_dict(dict(jwk)).key)
    except (PyJWTError, ValueError, TypeError, KeyError) as error:
        raise error if isinstance(error, BadKey) else BadKey(f"not a usable JWK: {type(error).__name__}") from None
    if jwk.get("alg", key.algorithm) != key.algorithm:
        raise BadKey(f"the JWK is for {jwk['alg']}, its type is for {key.algorithm}")
    return key


class StaticKey:
    """One key from the settings, for tokens with any `kid` or none; parsed when it is first needed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._key: TokenKey | None = None

    async def find(self, kid: str | None) -> TokenKey | None:
        """Return the key."""
        self._key = self._key or parse_public_key(self._text)
        return self._key
