"""Secrets that a person typed into a page, taken out of whatever clients of DevTools are told, our API among them.

It knows a secret as it was typed, as part of a form that is sent, in HTML, and in Base64; and its beginning and its end as they were typed,
where they stand alone or are long. What a page or a script makes of it otherwise, it does not know: `docs/security.md` says what is left.
"""

import base64
import html
import json
import re
from collections import OrderedDict
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import quote, quote_plus

from sandbox_server import patterns
from sandbox_server.cdp.messages import NotACommandError, encode, read_message, refusal

MAX_SECRETS = 64
"""The latest that are kept in mind."""
MIN_LENGTH = 6
"""Characters of the shortest secret that is looked for: shorter ones are in everything."""
MIN_PART = 4
"""Characters of the shortest beginning or end of a secret that is looked for, where it stands alone."""
LONG_PART = 6
"""So long, it is looked for within other words, too."""
MAX_PART = 64
"""Of a longer one, what follows these is looked for as the secret's end alone."""
MIN_BASE64 = 8
_BASE64 = re.compile(r"[A-Za-z0-9+/]{4096,}={0,2}")
"""Pictures and the like, in which a short word may stand by chance."""
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
"""Words of the protocol's own; to hide one would tell clients nonsense of every page."""
_KEPT = ("id", "method", "sessionId")
MASK = "(hidden)"


class SecretRedaction:
    """What nobody is to be told; in memory alone."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, dict[str, str]] = OrderedDict()
        self._parts: dict[str, SecretParts] = {}
        self._found: tuple[bytes, ...] = ()

    def add(self, secret: str) -> None:
        """Keep one in mind; one that is too short is not looked for."""
        if len(secret) < MIN_LENGTH:
            return
        self._known[secret] = dict(_forms(secret))
        self._known.move_to_end(secret)
        if len(self._known) > MAX_SECRETS:
            self._known.popitem(last=False)
        self._learn()

    def discard(self, secret: str) -> None:
        """Forget one: the beginning of another."""
        if self._known.pop(secret, None):
            self._learn()

    def _learn(self) -> None:
        self._parts = {secret: self._parts.get(secret) or SecretParts(secret) for secret in self._known}
        forms = {form for forms in self._known.values() for form in forms} | {end for parts in self._parts.values() for end in parts.ends}
        self._found = tuple({written for form in forms for written in _written(form)})

    def redacted(self, message: bytes) -> bytes:
        """A message for a client without them; an error, or for an event nothing, where it cannot be read."""
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
        """A text without them; in time that grows as the text does."""
        beginning, end = self.ends
        if beginning in text:
            text = self._beginning.sub(partial(_mask, text), text)
        if end in text:
            backwards = text[::-1]
            text = self._end.sub(partial(_mask_back, backwards), backwards)[::-1]
        return text


def _beginnings(secret: str) -> patterns.Pattern[str]:
    """Matches the longest beginning from where it starts: each further character is taken or not, and nothing is tried twice."""
    rest = secret[MIN_PART:MAX_PART]
    optional = "".join(f"(?:{patterns.escape(each)}" for each in rest) + ")?" * len(rest)
    return patterns.compile(patterns.escape(secret[:MIN_PART]) + optional)


def _mask_back(text: str, match: patterns.Match[str]) -> str:
    """As `_mask`, in a text that is read from its end."""
    masked = _mask(text, match)
    return MASK[::-1] if masked == MASK else masked


def _mask(text: str, match: patterns.Match[str]) -> str:
    part, start, end = match[0], match.start(), match.end()
    alone = not text[max(0, start - 1) : start].isalnum() and not text[end : end + 1].isalnum()
    said = part in _SAID or part[::-1] in _SAID
    return MASK if len(part) >= LONG_PART or (alone and not said) else part


def _forms(secret: str) -> Iterator[tuple[str, str]]:
    """How a secret may be written, each with what is written instead."""
    for form in {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), html.escape(secret), html.escape(secret, quote=False)}:
        yield form, MASK
        yield from _in_base64(form.encode("utf-8", "surrogatepass"))


def _in_base64(content: bytes) -> Iterator[tuple[str, str]]:
    """What of Base64 is the same whatever surrounds the content, for each place in a group of three bytes that it may begin at."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + content).decode()
        middle = whole[(0, 2, 3)[before] : len(whole) - (0, 3, 2)[(before + len(content)) % 3]]
        if len(middle) >= MIN_BASE64:
            yield middle, "A" * len(middle)


def _written(form: str) -> Iterator[bytes]:
    """How a form may be written in JSON."""
    for ascii_only in (True, False):
        text = json.dumps(form, ensure_ascii=ascii_only)[1:-1]
        yield text.encode("utf-8", "surrogatepass")
