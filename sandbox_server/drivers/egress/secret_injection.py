"""Puts values in the place of placeholders, in a request's target, fields and body, where a secret is bound."""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from sandbox_server.drivers.egress.bound_secrets import BODIES, BoundSecret, PlaceKind, SecretPlace
from sandbox_server.drivers.egress.json_objects import pointer_token, unique_fields

MAX_BODY = 1 << 20
"""Limit in bytes of a body in which placeholders are looked for."""
MAX_DEPTH = 64
FRAMING = frozenset((b"host", b"content-length", b"transfer-encoding", b"connection", b"upgrade", b"te", b"trailer"))
"""Fields that are never changed."""
_LOGINS = frozenset((b"authorization", b"proxy-authorization"))
_PATH_SAFE = ":@!$&'()*+,;=-._~"

type Fields = list[tuple[bytes, bytes]]
"""Names, as they were written, and values of a head."""


class InjectionRefused(ValueError):
    """A request cannot get its secret; the message says why, without the value."""


@dataclass(frozen=True, slots=True)
class UsableSecret:
    """A secret with its value, and the places of one request in which it may be put."""

    name: str
    placeholder: bytes
    value: str = field(repr=False)
    places: frozenset[SecretPlace] = frozenset()

    def may(self, kind: PlaceKind, name: str = "") -> bool:
        """Whether it may be put into a place of a kind with a name."""
        return any(place.kind is kind and place.name.lower() in ("", name.lower()) for place in self.places)

    @property
    def pointers(self) -> frozenset[str]:
        """The JSON pointers that are meant; an empty one means each string."""
        return frozenset(place.name for place in self.places if place.kind is PlaceKind.JSON)


@dataclass(frozen=True, slots=True)
class InjectedHead:
    """The target and the fields with values in them, and the names of the secrets that are in there."""

    target: bytes
    fields: Fields = field(repr=False)
    used: frozenset[str] = frozenset()


def usable(secret: BoundSecret, places: frozenset[SecretPlace]) -> UsableSecret:
    """Join a secret whose value is known with the places of one request."""
    return UsableSecret(secret.name, secret.placeholder.encode(), secret.value or "", places)


def inject_head(target: bytes, fields: Fields, secrets: Sequence[UsableSecret]) -> InjectedHead:
    """Replace placeholders in a target and in fields. Raises InjectionRefused."""
    used: set[str] = set()
    for secret in secrets:
        replaced = _in_target(target, secret), [(name, _in_field(name, value, secret)) for name, value in fields]
        if replaced != (target, fields):
            used.add(secret.name)
            target, fields = replaced
    return InjectedHead(target, fields, frozenset(used))


def _in_target(target: bytes, secret: UsableSecret) -> bytes:
    if secret.placeholder not in target:
        return target
    path, mark, query = target.partition(b"?")
    if secret.may(PlaceKind.PATH):
        path = path.replace(secret.placeholder, quote(secret.value, safe=_PATH_SAFE).encode())
    pairs = (_in_pair(pair, secret, PlaceKind.QUERY) for pair in query.split(b"&"))
    return path + mark + b"&".join(pairs)


def _in_pair(pair: bytes, secret: UsableSecret, kind: PlaceKind) -> bytes:
    name, equals, value = pair.partition(b"=")
    if secret.placeholder not in value or not secret.may(kind, name.decode("latin-1")):
        return pair
    return name + equals + value.replace(secret.placeholder, quote(secret.value, safe="").encode())


def _in_field(name: bytes, value: bytes, secret: UsableSecret) -> bytes:
    lowered = name.lower()
    if lowered in FRAMING:
        return value
    if secret.placeholder in value and secret.may(PlaceKind.HEADER, lowered.decode("latin-1")):
        return value.replace(secret.placeholder, _field_value(secret))
    if lowered in _LOGINS and value[:6].lower() == b"basic " and secret.may(PlaceKind.BASIC):
        return _in_basic(value, secret)
    return value


def _in_basic(value: bytes, secret: UsableSecret) -> bytes:
    login = _login(b"authorization", value)
    if secret.placeholder not in login:
        return value
    return value[:6] + base64.b64encode(login.replace(secret.placeholder, secret.value.encode()))


def _field_value(secret: UsableSecret) -> bytes:
    """Return the value for a field. Raises InjectionRefused where a server would read more than one field."""
    try:
        value = secret.value.encode("latin-1")
    except UnicodeEncodeError:
        raise InjectionRefused(f"the value of {secret.name} has characters that no header may have") from None
    if any(one < 0x20 or one == 0x7F for one in value):
        raise InjectionRefused(f"the value of {secret.name} has control characters")
    return value


def mentions(placeholder: bytes, target: bytes, fields: Fields) -> bool:
    """Whether a placeholder is anywhere in a request's head."""
    return placeholder in target or any(placeholder in value or placeholder in _login(name, value) for name, value in fields)


def _login(name: bytes, value: bytes) -> bytes:
    """Return what a field of Basic authentication says; nothing if it is none."""
    if name.lower() not in _LOGINS or value[:6].lower() != b"basic ":
        return b""
    try:
        return base64.b64decode(value[6:].strip(), validate=True)
    except binascii.Error:
        return b""


def reads_body(media_type: bytes, secrets: Sequence[UsableSecret]) -> PlaceKind | None:
    """Return how a body of a media type is searched for placeholders; None if it is not."""
    essence = media_type.partition(b";")[0].strip().lower()
    found = None
    if essence == b"application/json" or essence.endswith(b"+json"):
        found = PlaceKind.JSON
    elif essence == b"application/x-www-form-urlencoded":
        found = PlaceKind.FORM
    return found if found in BODIES and any(place.kind is found for secret in secrets for place in secret.places) else None


def inject_body(kind: PlaceKind, body: bytes, secrets: Sequence[UsableSecret]) -> tuple[bytes, frozenset[str]]:
    """Replace placeholders in a whole body; returns it with the names of the secrets in it. Raises InjectionRefused."""
    present = [secret for secret in secrets if secret.placeholder in body]
    if not present:
        return body, frozenset()
    return _in_form(body, present) if kind is PlaceKind.FORM else _in_json(body, present)


def _in_form(body: bytes, secrets: Sequence[UsableSecret]) -> tuple[bytes, frozenset[str]]:
    used = set()
    for secret in secrets:
        found = b"&".join(_in_pair(pair, secret, PlaceKind.FORM) for pair in body.split(b"&"))
        if found != body:
            used.add(secret.name)
            body = found
    return body, frozenset(used)


def _in_json(body: bytes, secrets: Sequence[UsableSecret]) -> tuple[bytes, frozenset[str]]:
    try:
        document = json.loads(body, object_pairs_hook=unique_fields)
    except (ValueError, RecursionError) as error:
        raise InjectionRefused(f"the body is not JSON: {str(error)[:100]}") from None
    writer = _JsonWriter(secrets)
    written = writer.replaced(document, "")
    return (json.dumps(written, ensure_ascii=False).encode(), frozenset(writer.used)) if writer.used else (body, frozenset())


class _JsonWriter:
    """Walks a document and replaces placeholders in its strings."""

    def __init__(self, secrets: Sequence[UsableSecret]) -> None:
        self._secrets = [(secret, secret.pointers, secret.placeholder.decode()) for secret in secrets]
        self.used: set[str] = set()

    def replaced(self, value: Any, pointer: str, depth: int = 0) -> Any:
        """Return a value of the document with values in the place of placeholders. Raises InjectionRefused."""
        if depth > MAX_DEPTH:
            raise InjectionRefused("the body nests too deep")
        if isinstance(value, str):
            return self._text(value, pointer)
        if isinstance(value, Mapping):
            return {key: self.replaced(each, f"{pointer}/{pointer_token(key)}", depth + 1) for key, each in value.items()}
        if isinstance(value, list):
            return [self.replaced(each, f"{pointer}/{index}", depth + 1) for index, each in enumerate(value)]
        return value

    def _text(self, text: str, pointer: str) -> str:
        for secret, pointers, placeholder in self._secrets:
            if placeholder in text and not pointers.isdisjoint(("", pointer)):
                text = text.replace(placeholder, secret.value)
                self.used.add(secret.name)
        return text


def without_fields(fields: Fields, names: frozenset[bytes]) -> Fields:
    """Return fields without those of some names, in lower case."""
    return [(name, value) for name, value in fields if name.lower() not in names]


def with_length(fields: Fields, length: int) -> Fields:
    """Return fields for a body of another length."""
    return [*without_fields(fields, frozenset((b"content-length", b"transfer-encoding"))), (b"Content-Length", str(length).encode())]
