"""One-time passwords by time (RFC 6238), from the key that a site shows as a text or as an otpauth address."""

import base64
import binascii
import hmac
import struct
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

_DIGESTS = ("sha1", "sha256", "sha512")
MIN_LEFT = 2.0
"""Seconds for which a code is good at least when it is made; otherwise the next one is waited for."""


class TotpKeyError(ValueError):
    """A value that is no key of one-time passwords. The message never holds it."""


@dataclass(frozen=True, slots=True)
class TotpKey:
    """A key, and how codes are made of it."""

    key: bytes
    digits: int = 6
    period: int = 30
    digest: str = "sha1"

    def code(self, at: float) -> str:
        """Return the code at a time, in seconds since the epoch."""
        mac = hmac.digest(self.key, struct.pack(">Q", int(at) // self.period), self.digest)
        offset = mac[-1] & 0xF
        number = int.from_bytes(mac[offset : offset + 4]) & 0x7FFFFFFF
        return str(number % 10**self.digits).zfill(self.digits)

    def seconds_left(self, at: float) -> float:
        """Return how long the code of a time is still good."""
        return self.period - at % self.period


def read_key(text: str) -> TotpKey:
    """Read a key in Base32, or an address such as `otpauth://totp/x?secret=...`. Raises TotpKeyError."""
    if not text.startswith("otpauth://"):
        return TotpKey(_decoded(text))
    parts = urlsplit(text)
    given = {name: values[0] for name, values in parse_qs(parts.query).items()}
    digits, period, digest = given.get("digits", "6"), given.get("period", "30"), given.get("algorithm", "SHA1").lower()
    if parts.netloc != "totp" or digits not in ("6", "7", "8") or not period.isdecimal() or not 5 <= int(period) <= 300:
        raise TotpKeyError("the address is not of a kind that is known")
    if digest not in _DIGESTS:
        raise TotpKeyError("the address names an unknown algorithm")
    return TotpKey(_decoded(given.get("secret", "")), int(digits), int(period), digest)


def _decoded(text: str) -> bytes:
    letters = text.replace(" ", "").replace("-", "").rstrip("=").upper()
    try:
        key = base64.b32decode(letters + "=" * (-len(letters) % 8))
    except binascii.Error:
        key = b""
    if not key:
        raise TotpKeyError("the value is no key in Base32")
    return key
