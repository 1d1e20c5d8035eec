"""The key that signs the tokens of the fleet's sandboxes. A sandbox has the public part, and takes only tokens that name it."""

import base64
import hashlib
import json
import os
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tandem_fleet.errors import InvalidError
from tandem_fleet.scopes import SCOPES

LONGEST_SECONDS = 86_400
ISSUER = "tandem-fleet"


@dataclass(frozen=True)
class SigningKey:
    """An Ed25519 key."""

    private: Ed25519PrivateKey

    @classmethod
    def kept(cls, path: Path) -> "SigningKey":
        """The key in a PEM file, which is made with a new key where there is none. Raises `InvalidError` for another kind of file."""
        if not path.exists():
            _write_once(path, Ed25519PrivateKey.generate())
        try:
            private = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except ValueError as error:
            raise InvalidError(f"{path} is no PEM file with a private key: {error}") from error
        if not isinstance(private, Ed25519PrivateKey):
            raise InvalidError(f"{path} holds another kind of key than Ed25519")
        return cls(private)

    @property
    def _public(self) -> bytes:
        return self.private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)

    @property
    def number(self) -> str:
        """The key's `kid`."""
        return hashlib.sha256(self._public).hexdigest()[:16]

    @property
    def key_set(self) -> dict[str, list[dict[str, str]]]:
        """The JWKS (RFC 7517) with the public key."""
        point = base64.urlsafe_b64encode(self._public).rstrip(b"=").decode()
        return {"keys": [{"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": self.number, "x": point}]}

    @property
    def key_set_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.key_set)

    def sign(self, sandbox: str, subject: str, scopes: Collection[str], seconds: int, *, person: bool = False) -> str:
        """A token for one sandbox.

        `subject` is the caller's name in the sandbox's record, `scopes` is what it allows there. It ends after `seconds`, at most a day.
        Its bearer counts as a program, or as a `person` (docs/gateway.md).
        """
        if unknown := set(scopes) - SCOPES:
            raise InvalidError(f"unknown scopes: {', '.join(sorted(unknown))}; there are {', '.join(sorted(SCOPES))}")
        if not scopes or not 1 <= seconds <= LONGEST_SECONDS:
            raise InvalidError(f"a token needs a scope, and ends after 1 to {LONGEST_SECONDS} seconds")
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": sandbox, "sub": subject, "scope": " ".join(sorted(scopes)), "iat": now, "exp": now + seconds}
        if person:
            claims["actor"] = "person"
        return jwt.encode(claims | {"jti": secrets.token_urlsafe(12)}, self.private, algorithm="EdDSA", headers={"kid": self.number})


def _write_once(path: Path, private: Ed25519PrivateKey) -> None:
    """Write a key that nobody else reads. Of several at once, one wins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
