"""Redaction: masks secrets that a person typed in everything that DevTools clients receive, the API included.

A secret is found as typed, form-encoded, in HTML and in Base64. Its beginning and end are found as typed, if they stand
alone or are long. Other encodings are not found: see `docs/security.md`.
"""

import base64
import html
import json
import re
from collections import Counter, OrderedDict
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import quote, quote_plus

from sandbox_server import patterns
from sandbox_server.cdp.messages import NotACommandError, encode, read_message, refusal
from sandbox_server.drivers.browser.browser_client import SecretSource

MAX_SECRETS = 64
"""Limit of remembered secrets that people typed or gave; the latest are kept."""
LIMITS: dict[SecretSource, int] = {"person": MAX_SECRETS, "shared": 32, "program": 64, "code": 16}
"""The same by who they are from. Each has places of its own: what programs fill in pushes out nothing of a person's, and no code a
password."""
MAX_LENGTH = 4096
"""Of a longer value, only these first characters are remembered: a page may put anything into the field that a person types into."""
MIN_LENGTH = 6
"""Length of the shortest secret that is masked. Shorter strings occur everywhere."""
MIN_PART = 4
"""Length of the shortest beginning or end that is masked where it stands alone."""
LONG_PART = 6
"""From this length on, a beginning or end is masked within other words too."""
MAX_PART = 64
"""Of a longer secret, only these last characters are searched as its end."""
MIN_BASE64 = 8
_BASE64 = re.compile(r"[A-Za-z0-9+/]{4096,}={0,2}")
"""Long Base64 runs, such as images, in which a short word may occur by chance."""
_SAID = frozenset(
    [
        "object",
        "function",
        "undefined",
        "string",
        "number",
        "boolean",
        "symbol",
        "bigint",
        "accessor",
        "array",
        "null",
        "node",
        "regexp",
        "date",
        "error",
        "proxy",
        "promise",
        "iterator",
        "page",
        "iframe",
        "worker",
        "shared_worker",
        "service_worker",
        "browser",
        "webview",
        "other",
        "default",
        "isolated",
        "document",
        "stylesheet",
        "image",
        "media",
        "font",
        "script",
        "http",
        "https",
        "true",
        "false",
        "text",
        "data",
        "file",
        "about",
        "blank",
        "main",
        "name",
        "type",
        "value",
        "title",
    ]
)
"""Words of the protocol itself. Masking one would make every message useless."""
_KEPT = ("id", "method", "sessionId")
MASK = "(hidden)"


class _Remembered:
    """The secrets from one source, at most `limit`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.origins: OrderedDict[str, str] = OrderedDict()
        """The origin of each secret, the oldest first."""

    def add(self, secret: str, origin: str) -> None:
        """Remember one. Where that is too many, the oldest goes of the origin that has most: no page pushes out those of all others."""
        self.origins[secret] = origin
        self.origins.move_to_end(secret)
        if len(self.origins) > self._limit:
            counts = Counter(self.origins.values())
            del self.origins[next(each for each, its in self.origins.items() if counts[its] == max(counts.values()))]


class SecretRedaction:
    """The secrets to mask, kept in memory only."""

    def __init__(self) -> None:
        self._remembered = {source: _Remembered(limit) for source, limit in LIMITS.items()}
        self._known: dict[str, dict[str, str]] = {}
        self._parts: dict[str, SecretParts] = {}
        self._found: tuple[bytes, ...] = ()

    def add(self, secret: str, source: SecretSource = "person", origin: str = "") -> None:
        """Remember a secret, by who it is from and for pages of which origin. One that is too short is not masked."""
        if len(secret) < MIN_LENGTH:
            return
        self._remembered[source].add(secret[:MAX_LENGTH], origin)
        self._learn()

    def discard(self, secret: str, source: SecretSource = "person", origin: str = "") -> None:
        """Forget a value that is only the beginning of another secret from the same source and origin."""
        known = self._remembered[source].origins
        if known.get(secret) == origin:
            del known[secret]
            self._learn()

    def _learn(self) -> None:
        secrets = dict.fromkeys(secret for each in self._remembered.values() for secret in each.origins)
        self._known = {secret: self._known.get(secret) or dict(_forms(secret)) for secret in secrets}
        self._parts = {secret: self._parts.get(secret) or SecretParts(secret) for secret in self._known}
        forms = {form for forms in self._known.values() for form in forms} | {end for parts in self._parts.values() for end in parts.ends}
        self._found = tuple({written for form in forms for written in _written(form)})

    def redacted(self, message: bytes) -> bytes:
        """Return a message with secrets masked.

        If the message cannot be parsed, returns an error for a reply and nothing for an event.
        """
        if not any(found in message for found in self._found):
            return message
        try:
            parsed = read_message(message)
            return encode({key: value if key in _KEPT else self._without(value) for key, value in parsed.items()})
        except (NotACommandError, RecursionError):
            return refusal(message, "The result nests too deep to be read")

    def _without(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._masked(value)
        if isinstance(value, dict):
            return {key: self._without(each) for key, each in value.items()}
        return [self._without(each) for each in value] if isinstance(value, list) else value

    def _masked(self, text: str) -> str:
        encoded = _BASE64.fullmatch(text) is not None
        for forms in self._known.values():
            for form, mask in forms.items():
                if form in text and (mask != MASK or not encoded):
                    text = text.replace(form, mask)
        if not encoded:
            for parts in self._parts.values():
                text = parts.masked(text)
        return text


class SecretParts:
    """The beginnings and ends of one secret."""

    def __init__(self, secret: str) -> None:
        self.ends = secret[:MIN_PART], secret[-MIN_PART:]
        """The shortest ones."""
        self._beginning = _beginnings(secret)
        self._end = _beginnings(secret[::-1])

    def masked(self, text: str) -> str:
        """Return a text with the parts masked, in linear time."""
        beginning, end = self.ends
        if beginning in text:
            text = self._beginning.sub(partial(_mask, text), text)
        if end in text:
            backwards = text[::-1]
            text = self._end.sub(partial(_mask_back, backwards), backwards)[::-1]
        return text


def _beginnings(secret: str) -> patterns.Pattern[str]:
    """Return a pattern for the longest beginning. It has no backtracking: each further character matches or ends it."""
    rest = secret[MIN_PART:MAX_PART]
    optional = "".join(f"(?:{patterns.escape(each)}" for each in rest) + ")?" * len(rest)
    return patterns.compile(patterns.escape(secret[:MIN_PART]) + optional)


def _mask_back(text: str, match: patterns.Match[str]) -> str:
    """Mask like `_mask`, in a reversed text."""
    masked = _mask(text, match)
    return MASK[::-1] if masked == MASK else masked


def _mask(text: str, match: patterns.Match[str]) -> str:
    part, start, end = match[0], match.start(), match.end()
    alone = not text[max(0, start - 1) : start].isalnum() and not text[end : end + 1].isalnum()
    said = part in _SAID or part[::-1] in _SAID
    return MASK if len(part) >= LONG_PART or (alone and not said) else part


def _forms(secret: str) -> Iterator[tuple[str, str]]:
    """Yield the encodings of a secret, each with its mask."""
    for form in {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), html.escape(secret), html.escape(secret, quote=False)}:
        yield form, MASK
        yield from _in_base64(form.encode("utf-8", "surrogatepass"))


def _in_base64(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield what the Base64 of a content has in common in any surroundings, for each of three offsets, with its mask."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + content).decode()
        middle = whole[(0, 2, 3)[before] : len(whole) - (0, 3, 2)[(before + len(content)) % 3]]
        if len(middle) >= MIN_BASE64:
            yield middle, "A" * len(middle)


def _written(form: str) -> Iterator[bytes]:
    """Yield the ways in which a string may be written in JSON."""
    for ascii_only in (True, False):
        text = json.dumps(form, ensure_ascii=ascii_only)[1:-1]
        yield text.encode("utf-8", "surrogatepass")
