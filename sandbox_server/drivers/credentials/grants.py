"""Grants: what the bearer of a ticket or of a session cookie may do, and their encodings."""

import base64
import binascii
import hashlib
import hmac
import json
import re
from dataclasses import asdict, dataclass

_PREFIX = re.compile(r"/[A-Za-z0-9._~!$&'()*+@:%/-]*")


@dataclass(frozen=True, slots=True)
class Grant:
    """What its bearer may do, and until when."""

    caller: str
    scopes: frozenset[str]
    prefix: str = "/"
    """Path under which it is valid, itself included. It ends at a segment's border."""
    expires: float | None = None
    """Seconds since the epoch; None if the credential behind it does not expire."""
    tools: tuple[str, ...] | None = None
    """Patterns of the only allowed tools; None if it is not limited to tools."""
    port: int | None = None
    """The only allowed port; None if it is not limited to a port."""
    share: str | None = None
    """The share link that it came from, without which it is void."""
    handoff: str | None = None
    """The handoff that it was made for, with which it ends."""
    profiles: tuple[str, ...] | None = None
    """Patterns of the only allowed browser profiles; None if it is not limited to profiles."""
    lanes: tuple[str, ...] | None = None
    """Patterns of the only allowed lanes of the browser; None if it is not limited to lanes."""
    person: bool | None = None
    """Whether a person bears it; None if its use decides: a signed-in browser is a person's."""

    def covers(self, path: str) -> bool:
        """Whether a normalised path is under the prefix, by the rule of cookies (RFC 6265, section 5.1.4)."""
        return path == self.prefix or path.startswith(self.prefix if self.prefix.endswith("/") else f"{self.prefix}/")

    def dumps(self) -> bytes:
        """Encode as JSON."""
        return json.dumps(asdict(self) | {"scopes": sorted(self.scopes)}, separators=(",", ":")).encode()

    @classmethod
    def loads(cls, text: bytes) -> "Grant":
        """Decode the output of `dumps`; raises ValueError, TypeError or KeyError for anything else."""
        values = json.loads(text)
        lists = {name: None if values.get(name) is None else tuple(values[name]) for name in ("tools", "profiles", "lanes")}
        return cls(**values | {"scopes": frozenset(values["scopes"]), **lists})


def is_prefix(text: str) -> bool:
    """Whether a path can be a grant's prefix: absolute, normalised, and safe in a cookie's `Path`."""
    segments = text.split("/")[1:]
    return _PREFIX.fullmatch(text) is not None and not {".", ".."} & set(segments) and "" not in segments[:-1]


class Seal:
    """Signs grants for cookies (HMAC-SHA256), so that sessions need no storage."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, grant: Grant) -> str:
        """Encode a grant; the result is safe as a cookie's value."""
        body = base64.urlsafe_b64encode(grant.dumps())
        return f"{body.decode()}.{self._signature(body)}"

    def open(self, sealed: str, now: float) -> Grant | None:
        """Decode a grant; None if the signature is wrong or it has expired."""
        body, _, signature = sealed.encode("utf-8", "replace").rpartition(b".")
        if not hmac.compare_digest(signature, self._signature(body).encode()):
            return None
        try:
            grant = Grant.loads(base64.urlsafe_b64decode(body))
        except (binascii.Error, ValueError, TypeError, KeyError):
            return None
        return None if grant.expires is not None and grant.expires <= now else grant

    def _signature(self, body: bytes) -> str:
        digest = hmac.new(self._key, body, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode()
