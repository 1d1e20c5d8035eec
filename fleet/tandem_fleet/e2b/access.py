"""Who may use a sandbox by E2B's protocol: its access token, its traffic token, and signatures of links to files.

The tokens follow from the fleet's signing key and the sandbox's id, so that no store has them. One of a sandbox opens no other.
"""

import base64
import hashlib
import hmac
import time
from dataclasses import dataclass
from typing import Literal

from cryptography.hazmat.primitives import serialization

from tandem_fleet.signing_key import SigningKey

Operation = Literal["read", "write"]
SIGNATURE = "v1_"
MAX_EXPIRATION_DIGITS = 12


@dataclass(frozen=True)
class Signature:
    """What a link to a file says: for what it is, and until when."""

    path: str
    operation: Operation
    user: str
    signature: str
    expiration: str
    """Seconds since the epoch, as they stand in the link; empty where it does not end."""

    @property
    def is_current(self) -> bool:
        """Whether it has not ended."""
        if not self.expiration:
            return True
        digits = self.expiration.isascii() and self.expiration.isdigit() and len(self.expiration) <= MAX_EXPIRATION_DIGITS
        return digits and int(self.expiration) >= time.time()

    def is_of(self, token: str) -> bool:
        """Whether who made it knew the access token. It may have ended."""
        return same(self.signature, signature(self.path, self.operation, self.user, token, self.expiration))


def signature(path: str, operation: Operation, user: str, token: str, expiration: str = "") -> str:
    """The signature of a link to a file, by E2B's rule."""
    words = [path, operation, user, token, *([expiration] if expiration else [])]
    digest = hashlib.sha256(":".join(words).encode("utf-8", "surrogatepass")).digest()
    return SIGNATURE + base64.b64encode(digest).rstrip(b"=").decode()


class SandboxTokens:
    """The tokens of the fleet's sandboxes."""

    def __init__(self, key: SigningKey) -> None:
        raw = key.private.private_bytes(serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption())
        self._secret = hmac.digest(raw, b"tandem-fleet e2b tokens", "sha256")

    def access(self, sandbox: str) -> str:
        """What opens a sandbox's commands and files."""
        return self._made("access", sandbox)

    def traffic(self, sandbox: str) -> str:
        """What opens a sandbox's other ports: clients of the code interpreter send it alone."""
        return self._made("traffic", sandbox)

    def _made(self, kind: str, sandbox: str) -> str:
        return f"{kind}_" + hmac.new(self._secret, f"{kind} {sandbox}".encode(), hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two secrets are equal, without saying by time how far."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))
