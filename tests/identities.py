"""The sandbox's own identity on real drivers, with a clock that a test sets."""

from functools import cache
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.drivers.workload_identity.binding import BindingStore, SandboxBinding
from sandbox_server.drivers.workload_identity.signing_keys import ContainerKeys
from sandbox_server.drivers.workload_identity.token_issuer import Issuer, TokenIssuer

URL = "https://box.example.org"
SECONDS = 600.0
ACME = SandboxBinding("acme", "t-1", {"team": "search"})


class Identity:
    """Keys, binding and issuer in a folder; `now` is the time."""

    def __init__(self, folder: Path, sandbox_id: str = "box-1") -> None:
        self.seconds = 1_800_000_000.0
        self.folder = folder
        self.keys = ContainerKeys(JsonFile(str(folder / "keys.json")), 2 * SECONDS, self.now)
        self.bindings = BindingStore(JsonFile(str(folder / "identity.json")), sandbox_id, self.now)
        self.issuer = TokenIssuer(Issuer(URL, "example.org", SECONDS), self.keys, self.bindings, self.now)

    def now(self) -> float:
        """The time."""
        return self.seconds

    def token(self, *audiences: str) -> str:
        """A token for these audiences, by default for the sandbox itself."""
        return self.issuer.issue(audiences or (URL,)).token

    def forged(self, key: Any = None, algorithm: str = "RS256", kid: str | None = None, **claims: Any) -> str:
        """A token with our claims, but for what is given, signed with another key."""
        payload = {**claims_in(self.token()), **claims}
        headers = {"kid": kid or self.keys.current().kid}
        return jwt.encode(payload, stranger() if key is None else key, algorithm=algorithm, headers=headers)


@cache
def stranger() -> rsa.RSAPrivateKey:
    """A key that is not ours."""
    return rsa.generate_private_key(65537, 2048)


def pem(key: rsa.RSAPrivateKey) -> str:
    """A private key as PEM."""
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


def public_pem(key: rsa.RSAPrivateKey) -> str:
    """Its public key as PEM."""
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def claims_in(token: str) -> dict[str, Any]:
    """What a token says, unverified."""
    return dict(jwt.decode(token, options={"verify_signature": False}))


def verified(token: str, jwks: list[dict[str, str]], audience: str) -> dict[str, Any]:
    """What a token says, as a verifier that has only the JWKS reads it; its end is not looked at."""
    kid = jwt.get_unverified_header(token)["kid"]
    [jwk] = [each for each in jwks if each["kid"] == kid]
    options: Any = {"verify_exp": False, "verify_nbf": False, "verify_iat": False}
    return dict(jwt.decode(token, jwt.PyJWK(jwk).key, algorithms=["RS256"], audience=audience, issuer=URL, options=options))
