"""Who shares a fleet: tenants, and the API keys by which their programs are known."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from tandem_fleet.quotas import Quota

OPERATORS_TENANT = "default"
"""The tenant of the operator. It is there from the beginning."""
_KEY = re.compile(r"tnd_([a-z0-9]{12})_([A-Za-z0-9_-]{43})")
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


class Tenant(BaseModel):
    """An organisation whose sandboxes no other tenant sees."""

    model_config = ConfigDict(frozen=True)

    id: str
    created_at: datetime
    quota: Quota = Quota()


class ApiKey(BaseModel):
    """A key, as it is listed: without its secret, which nobody keeps."""

    model_config = ConfigDict(frozen=True)

    id: str
    tenant: str
    name: str = Field(description="What it is for.")
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None = None
    used_at: datetime | None = Field(default=None, description="When it was last used, to the minute.")
    revoked_at: datetime | None = None

    def holds(self, now: datetime) -> bool:
        """Whether it opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True)
class Secret:
    """The two parts of a key: the id is stored, of the secret a digest alone."""

    id: str
    secret: str

    @classmethod
    def new(cls) -> "Secret":
        """A key that nobody has: 60 bits of id, 256 of secret."""
        return cls("".join(secrets.choice(_ALPHABET) for _ in range(12)), secrets.token_urlsafe(32))

    @classmethod
    def parse(cls, key: str) -> "Secret | None":
        """The parts of what a caller sent; None where it is no key."""
        found = _KEY.fullmatch(key)
        return cls(found[1], found[2]) if found else None

    def __str__(self) -> str:
        return f"tnd_{self.id}_{self.secret}"

    @property
    def digest(self) -> str:
        """SHA-256 of the secret, as hexadecimal digits. It is random, so it needs no salt and no slow hash."""
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def matches(self, digest: str) -> bool:
        """Whether the secret is the one of a digest, found in a time that does not depend on where they differ."""
        return hmac.compare_digest(self.digest, digest)


def is_key(sent: str) -> bool:
    """Whether what a caller sent looks like an API key."""
    return sent.startswith("tnd_")


def beyond(wanted: Collection[str], held: Collection[str]) -> list[str]:
    """The scopes that a new key shall have and its maker has not."""
    return sorted(set(wanted) - set(held))
