"""What of a text may be written down: secrets that are known are taken out of it, and what looks like one."""

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlsplit

MAX_TEXT = 1000
"""Characters of a text that are kept."""
REDACTED = "***"
MIN_SECRET = 6
"""Characters that a known secret has at least, to be looked for."""

_NAMED = re.compile(
    r"(?ix)"
    r"( [\w.-]* (?: passw(?:or)?d | passphrase | passwd | secret | token | api[_-]?key | access[_-]?key | private[_-]?key"
    r"    | credential s? | auth | cookie )"
    r"  [\w.-]* [\"']? \s* [=:] \s* )"
    r"( \"[^\"\n]*\" | '[^'\n]*' | (?:bearer|basic|token)\s+[^\s\"']+ | [^\s\"';&|,)]+ )"
)
_OPTION = re.compile(
    r"(?i)(--?[\w-]*(?:password|passphrase|passwd|secret|token|api-?key|credentials?|auth|cookie)\s+)(\"[^\"\n]*\"|'[^'\n]*'|(?!-)\S+)"
)
_USER = re.compile(r"((?:^|\s)(?:-u|--user)[\s=]*[\"']?[^\s:\"']+:)[^\s\"']+")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}")
_ADDRESS = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@'\"]+@")
_SHAPED = re.compile(
    r"\b(?:eyJ[\w-]{8,}\.[\w-]+\.[\w-]*|sk-[\w-]{16,}|(?:gh[pousr]|github_pat)_\w{16,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}"
    r"|A(?:KIA|SIA)[A-Z0-9]{16}|AIza[\w-]{30,}|npm_\w{30,}|hf_\w{20,})"
)
_BLOCK = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_RANDOM = re.compile(r"(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{24,}")
"""A part of a path that is long and mixed, as a link that signs in has one."""


class Redaction:
    """Knows `secrets`: no text that it lets through holds one of them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        longest_first = sorted({secret for secret in secrets if len(secret) >= MIN_SECRET}, key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str, limit: int = MAX_TEXT) -> str:
        """A command, a note or the like, without what is or looks like a secret, and not longer than `limit`."""
        text = self._known(text[: 4 * limit])
        text = _BLOCK.sub(REDACTED, text)
        text = _ADDRESS.sub(rf"\1{REDACTED}@", text)
        text = _NAMED.sub(rf"\1{REDACTED}", text)
        text = _OPTION.sub(rf"\1{REDACTED}", text)
        text = _USER.sub(rf"\1{REDACTED}", text)
        text = _BEARER.sub(rf"\1 {REDACTED}", text)
        text = _SHAPED.sub(REDACTED, text)
        return text if len(text) <= limit else f"{text[: limit - 1]}…"

    def url(self, url: str, limit: int = 300) -> str:
        """An address without name and password, the values of its query, its fragment, and parts of the path that look random."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return "(no address)"
        if parts.scheme not in ("http", "https", "file", "ws", "wss"):
            return f"{parts.scheme}:{parts.path}"[:limit] if parts.scheme in ("about", "chrome") else f"{parts.scheme}:…"
        host = parts.netloc.rpartition("@")[2]
        path = "/".join(REDACTED if _RANDOM.fullmatch(part) else part for part in parts.path.split("/"))
        names = "&".join(f"{name}=…" for name, _ in parse_qsl(parts.query, keep_blank_values=True))
        return self._known(f"{parts.scheme}://{host}{path}{'?' if names else ''}{names}")[:limit]

    def _known(self, text: str) -> str:
        return self._secrets.sub(REDACTED, text) if self._secrets else text
