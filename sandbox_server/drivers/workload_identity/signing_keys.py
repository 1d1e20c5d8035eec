"""The keys that sign the sandbox's tokens, and the JWKS (RFC 7517) that publishes them.

`cryptography` is imported with the first key: it costs more than the rest of the API's start.
"""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sandbox_server.core.errors import Conflict, ResourceExhausted, Unavailable
from sandbox_server.drivers.storage.json_file import JsonFile

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

ALGORITHM = "RS256"
"""The one algorithm that AWS, Google Cloud, Azure and Vault all accept."""
BITS = 2048
MIN_BITS = 2048
MAX_BITS = 8192
MAX_RETIRED = 8
"""Limit of retired keys that are still published."""
MAX_KEYS_IN_FILE = 8
_BEGIN = "-----BEGIN "


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key, and its public part as a JWK whose `kid` is its thumbprint (RFC 7638)."""

    private: "RSAPrivateKey"
    jwk: dict[str, str]

    @property
    def kid(self) -> str:
        """The key's id."""
        return self.jwk["kid"]


class KeyStore(Protocol):
    """Has the key that signs, and what is published. The calls block for a small file, and once to make a key."""

    def current(self) -> SigningKey:
        """Return the key that signs."""

    def published(self) -> list[dict[str, str]]:
        """Return the public keys of all tokens that may be valid."""

    def rotate(self) -> SigningKey:
        """Replace the key that signs. Raises Conflict where that is not ours to do."""

    def forget(self) -> None:
        """Read the file again at the next use."""


class ContainerKeys:
    """A key of this container's own, made when it is first needed, in a file of the user control.

    A key that was replaced is published for `lifetime` seconds more: until the last token that it signed has ended.
    """

    def __init__(self, file: JsonFile, lifetime: float, now: Callable[[], float] = time.time) -> None:
        self._file = file
        self._lifetime = lifetime
        self._now = now
        self._changing = threading.Lock()
        self._state: tuple[SigningKey, list[dict[str, Any]]] | None = None

    def current(self) -> SigningKey:
        """Return the key that signs."""
        with self._changing:
            return self._load()[0]

    def published(self) -> list[dict[str, str]]:
        """Return the public keys: the one that signs first."""
        with self._changing:
            key, retired = self._load()
        return [key.jwk, *(each["jwk"] for each in self._published(retired))]

    def rotate(self) -> SigningKey:
        """Make a new key that signs from now on. Raises ResourceExhausted while too many old ones are published."""
        with self._changing:
            key, retired = self._load()
            kept = self._published(retired)
            if len(kept) >= MAX_RETIRED:
                raise ResourceExhausted(f"{MAX_RETIRED} retired keys are still published", retry_after=self._lifetime, limit=MAX_RETIRED)
            return self._write(_made(), [{"jwk": key.jwk, "until": self._now() + self._lifetime}, *kept])

    def forget(self) -> None:
        """Read the file again at the next use."""
        with self._changing:
            self._state = None

    def _published(self, retired: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [each for each in retired if each["until"] > self._now()]

    def _load(self) -> tuple[SigningKey, list[dict[str, Any]]]:
        if self._state is None:
            found = self._file.read()
            if found is None:
                self._write(_made(), [])
            else:
                self._state = (_signing_key(_private_key(found["private"])), found["retired"])
        assert self._state is not None
        return self._state

    def _write(self, key: SigningKey, retired: list[dict[str, Any]]) -> SigningKey:
        self._file.write({"private": _pem_of(key.private), "retired": retired})
        self._state = (key, retired)
        return key


class OwnersKeys:
    """Keys of the owner, in a PEM file: the first signs, the others are only published. It is read once."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._reading = threading.Lock()
        self._keys: tuple[SigningKey, list[dict[str, str]]] | None = None

    def current(self) -> SigningKey:
        """Return the key that signs. Raises Unavailable if the file has none that can be used."""
        return self._load()[0]

    def published(self) -> list[dict[str, str]]:
        """Return the public keys of the file."""
        return self._load()[1]

    def rotate(self) -> SigningKey:
        """Raise Conflict: the owner replaces the file."""
        raise Conflict("the key is the owner's: replace IDENTITY_KEY_FILE, keep the old public key in it, and restart the container")

    def forget(self) -> None:
        """Read the file again at the next use."""
        with self._reading:
            self._keys = None

    def _load(self) -> tuple[SigningKey, list[dict[str, str]]]:
        with self._reading:
            if self._keys is None:
                try:
                    self._keys = _keys_of(self._path.read_text(encoding="ascii"))
                except (OSError, ValueError) as error:
                    raise Unavailable(f"IDENTITY_KEY_FILE cannot be used: {_reason(error)}") from None
            return self._keys


def stored_key(pem: str | None = None) -> str:
    """Return the content of the file of `ContainerKeys` with this private key in PEM, else with a new one. Raises ValueError."""
    key = _made() if pem is None else _signing_key(_private_key(pem))
    return json.dumps({"private": _pem_of(key.private), "retired": []})


def _reason(error: Exception) -> str:
    return error.strerror or "it cannot be read" if isinstance(error, OSError) else str(error)


def _keys_of(text: str) -> tuple[SigningKey, list[dict[str, str]]]:
    blocks = [f"{_BEGIN}{block}" for block in text.split(_BEGIN)[1:]]
    if not blocks or len(blocks) > MAX_KEYS_IN_FILE:
        raise ValueError(f"it must hold 1 to {MAX_KEYS_IN_FILE} PEM keys")
    key = _signing_key(_private_key(blocks[0]))
    others = [jwk_of(public) for public in map(_public_key, blocks[1:])]
    return key, [key.jwk, *(jwk for jwk in others if jwk["kid"] != key.kid)]


def _private_key(pem: str) -> "RSAPrivateKey":
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("its first key must be an RSA private key in PEM without a password") from None
    if not isinstance(key, RSAPrivateKey):
        raise ValueError("its first key must be an RSA private key")  # noqa: TRY004 - what a file holds is no type
    _check_size(key.key_size)
    return key


def _public_key(pem: str) -> "RSAPublicKey":
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    if "PRIVATE KEY" in pem:
        return _private_key(pem).public_key()
    try:
        key = load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("its further keys must be RSA keys in PEM") from None
    if not isinstance(key, RSAPublicKey):
        raise ValueError("its further keys must be RSA keys")  # noqa: TRY004 - what a file holds is no type
    _check_size(key.key_size)
    return key


def _check_size(bits: int) -> None:
    if not MIN_BITS <= bits <= MAX_BITS:
        raise ValueError(f"an RSA key must have {MIN_BITS} to {MAX_BITS} bits, one has {bits}")


def _made() -> SigningKey:
    from cryptography.hazmat.primitives.asymmetric import rsa

    return _signing_key(rsa.generate_private_key(65537, BITS))


def _signing_key(private: "RSAPrivateKey") -> SigningKey:
    return SigningKey(private, jwk_of(private.public_key()))


def _pem_of(private: "RSAPrivateKey") -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def jwk_of(public: "RSAPublicKey") -> dict[str, str]:
    """Return a public key as a JWK."""
    numbers = public.public_numbers()
    required = {"e": _encoded(numbers.e), "kty": "RSA", "n": _encoded(numbers.n)}
    digest = hashlib.sha256(json.dumps(required, separators=(",", ":"), sort_keys=True).encode()).digest()
    return {**required, "use": "sig", "alg": ALGORITHM, "kid": _base64url(digest)}


def _encoded(number: int) -> str:
    return _base64url(number.to_bytes((number.bit_length() + 7) // 8))


def _base64url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")
