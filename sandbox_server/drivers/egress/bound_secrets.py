"""Secrets that are put into requests on their way out, each bound to hosts, methods, paths and places of a request."""

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sandbox_server.drivers.egress.host_names import normal_form
from sandbox_server.drivers.egress.policy import HttpRequest
from sandbox_server.drivers.egress.public_suffixes import is_public_suffix
from sandbox_server.drivers.egress.secret_users import HTTPS, Requester

MAX_SECRETS = 256
MAX_VALUE = 16 << 10
"""Limit in bytes of a value."""
MIN_VALUE = 6
"""Length of the shortest value: a shorter one occurs by chance in every answer, and could not be redacted there."""
_WILDCARD = "*."


class PlaceKind(enum.StrEnum):
    """Where in a request a placeholder is replaced."""

    HEADER = "header"
    BASIC = "basic"
    QUERY = "query"
    PATH = "path"
    JSON = "json"
    FORM = "form"
    SIGV4 = "sigv4"


BODIES = frozenset((PlaceKind.JSON, PlaceKind.FORM))
NAMED = frozenset((PlaceKind.HEADER, PlaceKind.QUERY, PlaceKind.JSON, PlaceKind.FORM))
"""Kinds that may name one field."""


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """A place: its kind, and the one header, parameter or JSON pointer that is meant; empty means each parameter or string."""

    kind: PlaceKind
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind.value


DEFAULT_PLACES = (SecretPlace(PlaceKind.HEADER, "Authorization"), SecretPlace(PlaceKind.BASIC))


@dataclass(frozen=True, slots=True)
class SecretBinding:
    """Requests that a secret may go out with."""

    hosts: tuple[tuple[str, int], ...]
    """Names, or `*.` and a name for those below it, each with a port."""
    methods: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Globs of paths, as those of a policy's rule."""
    places: tuple[SecretPlace, ...] = DEFAULT_PLACES
    browser: bool = False
    """Whether pages of the host itself may get the value in their requests, besides the agent's programs."""

    def covers(self, host: str, port: int) -> bool:
        """Whether requests to a host are meant."""
        return any(port == own and _matches(name, host) for name, own in self.hosts)

    def covers_request(self, request: HttpRequest) -> bool:
        """Whether a request's method and path are meant. What of it is compared and has two readings never is."""
        if self.methods and (request.method_problem or request.method not in self.methods):
            return False
        return not self.paths or (not request.path_problem and request.path_matches(self.paths))

    def serves(self, requester: Requester) -> bool:
        """Whether requests of somebody are meant."""
        return requester is Requester.PROGRAM or (requester is Requester.OWN_PAGE and self.browser)


@dataclass(frozen=True, slots=True)
class BoundSecret:
    """A secret with its placeholder. Without a value it is fetched when it is needed."""

    name: str
    placeholder: str
    bindings: tuple[SecretBinding, ...]
    value: str | None = field(default=None, repr=False)
    until: float | None = None
    """Seconds since the epoch after which the value is fetched again."""

    def places(self, host: str, port: int, request: HttpRequest, requester: Requester) -> frozenset[SecretPlace]:
        """Return the places of a request in which it may be put."""
        return frozenset(
            place for binding in self._serving(host, port, requester) if binding.covers_request(request) for place in binding.places
        )

    def why_withheld(self, host: str, port: int, requester: Requester) -> str:
        """Return why a request has no such place: who sends it, or `request` where its method or path is not bound."""
        return "request" if any(self._serving(host, port, requester)) else requester.value

    def _serving(self, host: str, port: int, requester: Requester) -> Iterator[SecretBinding]:
        return (each for each in self.bindings if each.covers(host, port) and each.serves(requester))


class SecretTable:
    """The secrets, looked up by the host that a connection goes to."""

    def __init__(self, secrets: Iterable[BoundSecret] = ()) -> None:
        self._secrets = {secret.name: secret for secret in secrets}

    def __len__(self) -> int:
        return len(self._secrets)

    def __iter__(self) -> Iterator[BoundSecret]:
        return iter(self._secrets.values())

    def bound_to(self, host: str, port: int) -> tuple[BoundSecret, ...]:
        """Return the secrets that may go to a host."""
        return tuple(secret for secret in self._secrets.values() if any(each.covers(host, port) for each in secret.bindings))

    def get(self, name: str) -> BoundSecret | None:
        """Return a secret by its name."""
        return self._secrets.get(name)

    def give(self, name: str, value: str | None, until: float | None) -> None:
        """Set the value of a secret, or take it away."""
        if secret := self._secrets.get(name):
            self._secrets[name] = replace(secret, value=value, until=until)


def _matches(pattern: str, host: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith(_WILDCARD) else host == pattern


def parse_place(text: str) -> SecretPlace:
    """Read `header:X-Api-Key`, `query:key`, `json:/client_secret` and the like. Raises ValueError."""
    kind, _, name = text.partition(":")
    try:
        found = SecretPlace(PlaceKind(kind), name)
    except ValueError:
        raise ValueError(f"a place is one of {', '.join(PlaceKind)}, not {kind[:40]!r}") from None
    if name and found.kind not in NAMED:
        raise ValueError(f"the place {kind} has no name")
    if found.kind is PlaceKind.HEADER and not name:
        raise ValueError("the place header names one header, such as header:X-Api-Key")
    if found.kind is PlaceKind.JSON and name and not name.startswith("/"):
        raise ValueError("the name of a place json is a JSON pointer, such as /client_secret")
    return found


def parse_host(text: str) -> tuple[str, int]:
    """Read `host`, `host:port` or `*.host`. Raises ValueError."""
    name, colon, port = text.rpartition(":") if ":" in text else (text, "", "")
    if colon and not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise ValueError(f"{text[:80]!r} has no valid port")
    below = name.startswith(_WILDCARD)
    found = normal_form(name.removeprefix(_WILDCARD))
    if below and "." not in found:
        raise ValueError(f"{text[:80]!r} would bind a whole top-level domain")
    if below and is_public_suffix(found):
        raise ValueError(f"{text[:80]!r} would bind names that anybody may register")
    return (_WILDCARD if below else "") + found, int(port) if colon else HTTPS


def check_value(value: str) -> str:
    """Return a value that may be put into requests. Raises ValueError, which never holds it."""
    if len(value) < MIN_VALUE:
        raise ValueError(f"the value has fewer than {MIN_VALUE} characters")
    if len(value.encode("utf-8", "surrogatepass")) > MAX_VALUE:
        raise ValueError(f"the value has more than {MAX_VALUE} bytes")
    if any(one < " " or one == "\x7f" for one in value):
        raise ValueError("the value has a line break or another control character")
    return value


def read_secrets(document: Sequence[Mapping[str, Any]]) -> SecretTable:
    """Read the secrets as the API sends them. Raises ValueError, KeyError and TypeError."""
    if len(document) > MAX_SECRETS:
        raise ValueError(f"at most {MAX_SECRETS} secrets")
    return SecretTable([_secret(each) for each in document])


def _secret(given: Mapping[str, Any]) -> BoundSecret:
    value = given.get("value")
    return BoundSecret(
        str(given["name"]),
        str(given["placeholder"]),
        tuple(read_binding(each) for each in given["bindings"]),
        None if value is None else check_value(str(value)),
        given.get("until"),
    )


def read_binding(given: Mapping[str, Any]) -> SecretBinding:
    """Read a binding. Raises ValueError."""
    browser = given.get("browser", False)
    if browser not in (True, False):
        raise ValueError("browser is true or false")
    return SecretBinding(
        tuple(parse_host(host) for host in given["hosts"]),
        tuple(given.get("methods", ())),
        tuple(given.get("paths", ())),
        tuple(parse_place(place) for place in given["places"]) if given.get("places") else DEFAULT_PLACES,
        bool(browser),
    )
