"""One request of an opened connection gets the secrets that are bound to it: in its head, its body and its signature."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sandbox_server.drivers.egress import aws_signature
from sandbox_server.drivers.egress.bound_secrets import BoundSecret, PlaceKind, SecretPlace
from sandbox_server.drivers.egress.policy import HttpRequest
from sandbox_server.drivers.egress.secret_injection import (
    Fields,
    UsableSecret,
    inject_body,
    inject_head,
    mentions,
    reads_body,
    usable,
    with_length,
)
from sandbox_server.drivers.egress.secret_users import Requester

type ReadBody = Callable[[], Awaitable[bytes]]
"""Reads the whole body of the request, within a bound."""
type ValueOf = Callable[[BoundSecret], Awaitable[BoundSecret]]
"""Returns a secret with its value. Raises InjectionRefused."""

_HASH = b"x-amz-content-sha256"
_HEX_HASH = 64


@dataclass(frozen=True, slots=True)
class InjectedRequest:
    """A request as the server gets it. `body` is None where the body was not read."""

    target: bytes
    fields: Fields = field(repr=False)
    body: bytes | None = field(default=None, repr=False)
    used: frozenset[str] = frozenset()
    unbound: Mapping[str, str] = field(default_factory=dict)
    """Why the placeholders of some secrets, by name, stay in the head."""
    for_page: bool = False
    """Whether a page in a browser gets the answer to a request with a value."""


class RequestInjection:
    """Works on one request. The secrets are those that are bound to its host and port, which are its `place`."""

    def __init__(
        self, secrets: Sequence[BoundSecret], place: tuple[str, int], request: HttpRequest, requester: Requester, value_of: ValueOf
    ) -> None:
        self._places = {secret.name: secret.places(*place, request, requester) for secret in secrets}
        self._secrets = secrets
        self._place = place
        self._requester = requester
        self._request = request
        self._value_of = value_of

    async def inject(self, target: bytes, fields: Fields, read_body: ReadBody) -> InjectedRequest:
        """Return the request with values in it. Raises InjectionRefused."""
        allowed = [secret for secret in self._secrets if self._places[secret.name]]
        placed = [usable(secret, self._places[secret.name]) for secret in allowed]
        kind = reads_body(next((value for name, value in fields if name.lower() == b"content-type"), b""), placed)
        signed = aws_signature.authorization(fields) if any(each.may(PlaceKind.SIGV4) for each in placed) else None
        body_hash = aws_signature.payload_hash(fields) if signed else None
        body = await read_body() if kind or (signed and body_hash is None) else None
        signer = self._signer(allowed, target, fields, signed, body_hash or hashlib.sha256(body or b"").hexdigest()) if signed else None
        values = await self._values(allowed, signer, target, fields, body or b"")
        head = inject_head(target, fields, list(values.values()))
        used, found = set(head.used), head.fields
        if kind and body is not None:
            body, in_body = inject_body(kind, body, list(values.values()))
            used |= in_body
            found = with_length(found, len(body)) if in_body else found
        if signer:
            used.add(signer.name)
            found = self._signed_again(values[signer.name], head.target, found, body)
        for_page = bool(used) and self._requester is Requester.OWN_PAGE
        return InjectedRequest(head.target, found, body, frozenset(used), self._unbound(target, fields), for_page)

    def _signer(
        self, secrets: Sequence[BoundSecret], target: bytes, fields: Fields, signed: aws_signature.AwsAuthorization, body_hash: str
    ) -> BoundSecret | None:
        """Return the secret whose placeholder the request is signed with."""
        place = SecretPlace(PlaceKind.SIGV4)
        method = self._request.method
        return next(
            (
                secret
                for secret in secrets
                if place in self._places[secret.name]
                and aws_signature.signed_with(secret.placeholder, method, target, fields, signed, body_hash)
            ),
            None,
        )

    async def _values(
        self, secrets: Sequence[BoundSecret], signer: BoundSecret | None, target: bytes, fields: Fields, body: bytes
    ) -> dict[str, UsableSecret]:
        """Return the secrets that the request mentions, with their values."""
        found = {}
        for secret in secrets:
            placeholder = secret.placeholder.encode()
            if secret is signer or placeholder in body or mentions(placeholder, target, fields):
                found[secret.name] = usable(await self._value_of(secret), self._places[secret.name])
        return found

    def _signed_again(self, secret: UsableSecret, target: bytes, fields: Fields, body: bytes | None) -> Fields:
        said = next((value.decode("latin-1") for name, value in fields if name.lower() == _HASH), None)
        body_hash = hashlib.sha256(body).hexdigest() if body is not None else said or hashlib.sha256(b"").hexdigest()
        if said and body is not None:
            body_hash = body_hash if len(said) == _HEX_HASH else said
            fields = [(name, body_hash.encode() if name.lower() == _HASH else value) for name, value in fields]
        signed = aws_signature.authorization(fields)
        assert signed  # a value in its key keeps the field's form
        signature = aws_signature.sign(secret.value, self._request.method, target, fields, signed, body_hash)
        return aws_signature.with_signature(fields, signed, signature)

    def _unbound(self, target: bytes, fields: Fields) -> dict[str, str]:
        return {
            secret.name: secret.why_withheld(*self._place, self._requester)
            for secret in self._secrets
            if not self._places[secret.name] and mentions(secret.placeholder.encode(), target, fields)
        }
