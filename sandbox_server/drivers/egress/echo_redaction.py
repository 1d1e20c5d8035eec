"""Redaction of secrets that a server sends back: in a stream, across the borders of its pieces, without changing its length."""

import base64
import html
import json
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

MASK = b"*"
MIN_FORM = 6
"""Length of the shortest form that is searched."""


def forms_of(value: str) -> frozenset[bytes]:
    """Return the ways in which a server may write a value: as it is, encoded for URLs, HTML and JSON, in Base64 and in hexadecimal."""
    return frozenset(form for form in _forms(value) if len(form) >= MIN_FORM)


def _forms(value: str) -> Iterator[bytes]:
    written = {value, quote(value), quote(value, safe=""), quote_plus(value), html.escape(value), html.escape(value, quote=False)}
    written |= {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    written |= {form.replace("/", "\\/") for form in (json.dumps(value)[1:-1],)}
    for text in written:
        yield text.encode()
        for encoded in _in_base64(text.encode()):
            yield encoded
            yield encoded.translate(bytes.maketrans(b"+/", b"-_"))
    yield value.encode().hex().encode()
    yield value.encode().hex().upper().encode()


def _in_base64(content: bytes) -> Iterator[bytes]:
    """Yield what the Base64 of a content has in common in any surroundings, for each of three offsets."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + content)
        yield whole[(0, 2, 3)[before] : len(whole) - (0, 3, 2)[(before + len(content)) % 3]]


class EchoRedactor:
    """Masks some values in one stream. What may be the beginning of one is held until it is clear."""

    def __init__(self, values: Iterable[str]) -> None:
        forms = {form for value in values for form in forms_of(value)}
        self._forms = sorted(forms, key=len, reverse=True)
        self._longest = len(self._forms[0]) if self._forms else 0
        self._held = b""
        self.found = 0
        """How many were masked."""

    @property
    def active(self) -> bool:
        """Whether there is anything to mask."""
        return bool(self._forms)

    def feed(self, received: bytes) -> bytes:
        """Take bytes, and return those that may be passed on."""
        if not self._forms:
            return received
        masked = self._masked(self._held + received)
        keep = self._beginning(masked)
        self._held = masked[len(masked) - keep :]
        return masked[: len(masked) - keep]

    def flush(self) -> bytes:
        """Return what was held, at the end of the stream."""
        held, self._held = self._held, b""
        return held

    def whole(self, text: bytes) -> bytes:
        """Mask a text that is whole, such as a header's value."""
        return self._masked(text)

    def _masked(self, text: bytes) -> bytes:
        for form in self._forms:
            if form in text:
                self.found += text.count(form)
                text = text.replace(form, MASK * len(form))
        return text

    def _beginning(self, text: bytes) -> int:
        """Return the length of the longest end of a text that is the beginning of a form."""
        tail = text[max(0, len(text) - self._longest + 1) :]
        return max((self._overlap(tail, form) for form in self._forms), default=0)

    def _overlap(self, tail: bytes, form: bytes) -> int:
        at = tail.find(form[:1], max(0, len(tail) - len(form) + 1))
        while at >= 0:
            if form.startswith(tail[at:]):
                return len(tail) - at
            at = tail.find(form[:1], at + 1)
        return 0
