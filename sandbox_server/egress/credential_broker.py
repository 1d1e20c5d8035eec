"""The credential broker: the secrets, the authority that opens connections to their hosts, and who used what."""

import asyncio
import importlib
import ssl
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sandbox_server.drivers.egress.bound_secrets import BoundSecret, SecretTable, check_value, read_secrets
from sandbox_server.drivers.egress.echo_redaction import EchoRedactor
from sandbox_server.drivers.egress.policy import AppProtocol, Destination, HttpRequest, shortened
from sandbox_server.drivers.egress.secret_injection import Fields, InjectionRefused
from sandbox_server.drivers.egress.secret_users import SecretUsers, requester_of
from sandbox_server.drivers.egress.socket_owner import SocketOwner
from sandbox_server.egress.flow_events import FlowEvents
from sandbox_server.egress.request_injection import InjectedRequest, ReadBody, RequestInjection

if TYPE_CHECKING:
    from sandbox_server.drivers.egress.certificate_authority import CertificateAuthority

FETCH_SECONDS = 15.0
"""How long a request waits for a value that has to be fetched."""
MAX_FETCHING = 64


@dataclass(frozen=True, slots=True)
class _Fetch:
    """A value that is waited for."""

    arrived: asyncio.Future[str]
    """Resolves to what went wrong; nothing if the value is there."""


class CredentialBroker:
    """Holds values in memory alone. The authority is made with the first secret, or the first rule that compares requests."""

    def __init__(self, events: FlowEvents, clock: Callable[[], float] = time.time) -> None:
        self._events = events
        self._clock = clock
        self._secrets = SecretTable()
        self._users = SecretUsers()
        self._authority: CertificateAuthority | None = None
        self._client: ssl.SSLContext | None = None
        self._fetching: dict[str, _Fetch] = {}
        self._used: dict[str, float] = {}
        self._counts: Counter[str] = Counter()

    def replace(self, document: Sequence[Mapping[str, Any]], users: SecretUsers) -> None:
        """Put secrets, and those who may use them, in the place of all others. Raises ValueError and others.

        No value is kept: one that was known may be for another binding, or from another source. One that is not given is fetched.
        """
        self._secrets, self._users = read_secrets(document), users
        for secret in self._secrets:
            self._prepare(secret)

    def _prepare(self, secret: BoundSecret) -> None:
        """Sign the certificates of its hosts, so that no first connection waits for that."""
        for host, _ in [place for binding in secret.bindings for place in binding.hosts]:
            if not host.startswith("*"):
                self.authority().context(host)
        self.authority()

    def give(self, name: str, value: str | None, until: float | None, problem: str) -> bool:
        """Take a value that was fetched, or the reason why there is none; False if nobody waits for it. Raises ValueError."""
        if value is not None:
            self._secrets.give(name, check_value(value), until)
        fetch = self._fetching.pop(name, None)
        if fetch is None or fetch.arrived.done():
            return False
        fetch.arrived.set_result("" if value is not None else problem or "it has no value")
        return True

    def values(self) -> dict[str, str]:
        """Return the values that are known, for the API after it was started again."""
        return {secret.name: secret.value for secret in self._secrets if secret.value is not None}

    def describe(self) -> dict[str, object]:
        """Return what may be told of the secrets: which are known, and when each was used last."""
        known = sorted(secret.name for secret in self._secrets if secret.value is not None)
        return {
            "secrets": len(self._secrets),
            "known": known,
            "used": dict(self._used),
            "counts": dict(self._counts),
            "minted": self._minted,
        }

    @property
    def has_authority(self) -> bool:
        """Whether the authority was made."""
        return self._authority is not None

    def authority(self) -> "CertificateAuthority":
        """Return the authority; make it the first time, and say so."""
        if self._authority is None:
            from sandbox_server.drivers.egress.certificate_authority import CertificateAuthority  # and libcrypto's functions

            importlib.import_module("sandbox_server.egress.intercepted_flow")  # and h11: the first connection does not wait for them
            self._authority = CertificateAuthority()
            self.client_context()
            self._events.publish("authority")
        return self._authority

    def client_context(self) -> ssl.SSLContext:
        """Return the context that verifies servers by this machine's authorities."""
        if self._client is None:
            self._client = ssl.create_default_context()
            self._client.minimum_version = ssl.TLSVersion.TLSv1_2
            self._client.set_alpn_protocols(["http/1.1"])
        return self._client

    def binds(self, destination: Destination) -> bool:
        """Whether a secret is bound to a destination."""
        return bool(destination.name and self._secrets.bound_to(destination.name, destination.port))

    def opens(self, destination: Destination, *, inspects: bool) -> bool:
        """Whether TLS to a destination is opened: a secret is bound to it, or its rule compares requests."""
        return bool(destination.name) and destination.protocol is AppProtocol.TLS and (inspects or self.binds(destination))

    def redactor(self, destination: Destination) -> EchoRedactor:
        """Return what searches an answer for the secrets that are bound to its host."""
        bound = self._secrets.bound_to(destination.name, destination.port)
        return EchoRedactor(secret.value for secret in bound if secret.value is not None)

    async def inject(
        self, destination: Destination, request: HttpRequest, target: bytes, fields: Fields, read_body: ReadBody, owner: SocketOwner | None
    ) -> InjectedRequest:
        """Put the secrets into a request that may have them, and tell of it by their names. Raises InjectionRefused."""
        place = destination.name, destination.port
        requester = requester_of(owner, self._users, fields, place)
        injection = RequestInjection(self._secrets.bound_to(*place), place, request, requester, self._value_of)
        found = await injection.inject(target, fields, read_body)
        for name, reason in sorted([*((name, "") for name in found.used), *found.unbound.items()]):
            self._tell(name, reason, destination, request, owner)
        return found

    def _tell(self, name: str, withheld: str, destination: Destination, request: HttpRequest, owner: SocketOwner | None) -> None:
        """Tell that a request got a secret, or why it did not."""
        outcome = "not_bound" if withheld else "sent"
        if owner is None or owner.private is None:
            self._counts[outcome] += 1
            if outcome == "sent":
                self._used[name] = round(self._clock(), 3)
        self._events.publish(
            "secret",
            name=name,
            outcome=outcome,
            reason=withheld,
            destination=str(destination),
            host=destination.name,
            port=destination.port,
            method=shortened(request.method),
            path=shortened(request.path.partition("?")[0]),
            uid=owner.uid if owner else None,
            inode=owner.inode if owner else 0,
            private=owner.private if owner else None,
        )

    async def _value_of(self, secret: BoundSecret) -> BoundSecret:
        """Return a secret with its value, which is fetched if it is not known or too old. Raises InjectionRefused."""
        known = self._bound(secret)
        if known.value is None or (known.until is not None and self._clock() >= known.until):
            if problem := await self._fetch(secret.name):
                raise InjectionRefused(f"the secret {secret.name} could not be fetched: {problem}")
            known = self._bound(secret)
        if known.value is None:
            raise InjectionRefused(f"the secret {secret.name} was removed")
        return known

    def _bound(self, secret: BoundSecret) -> BoundSecret:
        """Return a secret as it is now, if it is bound as it was when the request came. Raises InjectionRefused."""
        known = self._secrets.get(secret.name)
        if known is None or known.bindings != secret.bindings:
            raise InjectionRefused(f"the secret {secret.name} was removed, or bound anew")
        return known

    async def _fetch(self, name: str) -> str:
        fetch = self._fetching.get(name)
        if fetch is None:
            if len(self._fetching) >= MAX_FETCHING:
                return "too many are being fetched"
            fetch = self._fetching[name] = _Fetch(asyncio.get_running_loop().create_future())
            self._events.publish("secret_needed", name=name)
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                return await asyncio.shield(fetch.arrived)
        except TimeoutError:
            self._fetching.pop(name, None)
            return f"no answer within {FETCH_SECONDS:g} s"

    @property
    def _minted(self) -> int:
        return self._authority.minted if self._authority else 0
