"""What the owner says of a secret: where its value comes from, what it is bound to, and where it may be filled in."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from sandbox_server.drivers.egress.bound_secrets import BODIES, SecretBinding, read_binding
from sandbox_server.drivers.egress.host_names import normal_form
from sandbox_server.drivers.egress.policy import any_path_matches
from sandbox_server.drivers.egress.secret_users import HTTPS
from sandbox_server.settings.secrets import NAME, PLACEHOLDER

MAX_BINDINGS = 16
MAX_ENTRIES = 64
MAX_TEXT = 1024
SECRETS_FOLDER = "/run/"
"""Where a file with a value may be: the box has a /run of its own."""
_FIELDS = {"source", "bindings", "variable", "placeholder", "fill", "kind"}
_TEXTS = {"hosts", "methods", "paths", "places"}
_BINDING = {*_TEXTS, "browser"}

type PlaceholderOf = Callable[[str], str]
"""Returns the placeholder of a secret by its name, where the owner gives none."""


class SourceKind(enum.StrEnum):
    """Where a value comes from."""

    API = "api"
    ENV = "env"
    FILE = "file"
    VAULT = "vault"
    ONEPASSWORD = "onepassword"
    AWS = "aws"


class SecretKind(enum.StrEnum):
    """What a value is: a text, or the key of one-time passwords (RFC 6238), of which a code is filled in."""

    TEXT = "text"
    TOTP = "totp"


_OF_THE_CONTAINER = (SourceKind.ENV, SourceKind.FILE)
"""Sources that are given to the container, so that the API may not bind them."""
SOURCE_FIELDS: Mapping[SourceKind, tuple[str, ...]] = {
    SourceKind.VAULT: ("mount", "path", "field"),
    SourceKind.ONEPASSWORD: ("vault", "item", "field"),
    SourceKind.AWS: ("secret", "field"),
}
"""The fields of a source that is an object."""
_OPTIONAL = {"field", "mount"}


class DefinitionError(ValueError):
    """A definition that cannot be used; `field` is the one that is wrong. The message never holds a value."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


@dataclass(frozen=True, slots=True)
class SecretSource:
    """Where a value comes from: `place` is a variable, a path, or fields of a store."""

    kind: SourceKind = SourceKind.API
    place: Mapping[str, str] = field(default_factory=dict)

    @property
    def fetched(self) -> bool:
        """Whether the value comes from a store over the network, when it is needed."""
        return self.kind in SOURCE_FIELDS

    def document(self) -> dict[str, Any]:
        """Return it as it is written."""
        if self.kind is SourceKind.API:
            return {}
        return {self.kind.value: dict(self.place) if self.fetched else next(iter(self.place.values()))}

    def __str__(self) -> str:
        return f"{self.kind}:{'/'.join(self.place.values())}" if self.place else self.kind.value


@dataclass(frozen=True, slots=True)
class SecretDefinition:
    """A secret without its value."""

    name: str
    placeholder: str
    bindings: tuple[SecretBinding, ...] = ()
    source: SecretSource = field(default_factory=SecretSource)
    variable: str = ""
    """The environment variable in which programs of the agent find the placeholder."""
    fill: tuple[str, ...] = ()
    """Origins of pages into whose fields the agent may have it filled."""
    kind: SecretKind = SecretKind.TEXT
    declared: bool = False
    """Whether it comes from the setting SECRETS, and not from the API."""

    def is_put_into_forms(self, origin: str) -> bool:
        """Whether requests of pages of an origin get the value in their bodies, so that the page needs the placeholder alone."""
        parts = urlsplit(origin)
        host, port = parts.hostname or "", parts.port or HTTPS
        return self.kind is SecretKind.TEXT and any(
            binding.browser and binding.covers(host, port) and any(place.kind in BODIES for place in binding.places)
            for binding in self.bindings
        )

    def document(self) -> dict[str, Any]:
        """Return it as JSON, as `read_definition` takes it."""
        return {
            "source": self.source.document(),
            "bindings": [binding_document(each) for each in self.bindings],
            "variable": self.variable,
            "placeholder": self.placeholder,
            "fill": list(self.fill),
            "kind": self.kind.value,
        }


def binding_document(binding: SecretBinding) -> dict[str, Any]:
    """Return a binding as JSON."""
    return {
        "hosts": [f"{host}:{port}" for host, port in binding.hosts],
        "methods": list(binding.methods),
        "paths": list(binding.paths),
        "places": [str(place) for place in binding.places],
        "browser": binding.browser,
    }


def read_definition(name: str, given: Mapping[str, Any], placeholder_of: PlaceholderOf, *, declared: bool = False) -> SecretDefinition:
    """Read what the owner says of a secret, in the container's SECRETS if it is `declared`. Raises DefinitionError."""
    if not NAME.fullmatch(name):
        raise DefinitionError("name", "is letters, digits and _, a letter first, at most 64 of them")
    if unknown := given.keys() - _FIELDS:
        raise DefinitionError(min(unknown), f"is not known; known are {', '.join(sorted(_FIELDS))}")
    placeholder = _text(given, "placeholder") or placeholder_of(name)
    if not PLACEHOLDER.fullmatch(placeholder):
        raise DefinitionError("placeholder", "is 12 to 256 letters, digits, _ and -")
    variable = _text(given, "variable")
    if variable and not NAME.fullmatch(variable):
        raise DefinitionError("variable", "is no name of an environment variable")
    fill = tuple(_origin(each) for each in _list(given, "fill"))
    bindings = tuple(_binding(each, f"bindings/{index}") for index, each in enumerate(_list(given, "bindings", MAX_BINDINGS)))
    if not bindings and not fill:
        raise DefinitionError("bindings", "a secret is bound to a host, or may be filled into a page")
    try:
        kind = SecretKind(given.get("kind") or SecretKind.TEXT)
    except ValueError:
        raise DefinitionError("kind", f"is one of {', '.join(SecretKind)}") from None
    source = _source(given.get("source"))
    if source.kind in _OF_THE_CONTAINER and not declared:
        raise DefinitionError("source", f"{source.kind} is for secrets that the container's SECRETS declares")
    return SecretDefinition(name, placeholder, bindings, source, variable, fill, kind, declared)


def _text(given: Mapping[str, Any], name: str) -> str:
    found = given.get(name) or ""
    if not isinstance(found, str) or len(found) > MAX_TEXT:
        raise DefinitionError(name, f"is a text of at most {MAX_TEXT} characters")
    return found


def _list(given: Mapping[str, Any], name: str, most: int = MAX_ENTRIES) -> Sequence[Any]:
    found = given.get(name) or []
    if not isinstance(found, (list, tuple)) or len(found) > most:
        raise DefinitionError(name, f"is a list of at most {most}")
    return found


def _binding(given: object, field: str) -> SecretBinding:
    if not isinstance(given, Mapping) or given.keys() - _BINDING:
        raise DefinitionError(field, f"is an object with {', '.join(sorted(_BINDING))}")
    for name in _TEXTS:
        if not all(isinstance(each, str) and 0 < len(each) <= MAX_TEXT for each in _list(given, name)):
            raise DefinitionError(f"{field}/{name}", "is a list of texts")
    if not given.get("hosts"):
        raise DefinitionError(f"{field}/hosts", "names no host")
    try:
        for path in given.get("paths") or ():
            any_path_matches([path], "/")
        return read_binding(given)
    except ValueError as error:
        raise DefinitionError(field, str(error)) from None


def _origin(text: object) -> str:
    """Return the origin of a page, which is https. Raises DefinitionError."""
    try:
        parts = urlsplit(str(text))
        port = parts.port
        host = normal_form(parts.hostname or "")
    except ValueError:
        raise DefinitionError("fill", f"{str(text)[:80]!r} is no origin") from None
    if parts.scheme != "https" or parts.path.strip("/") or parts.query or parts.fragment or parts.username:
        raise DefinitionError("fill", f"{str(text)[:80]!r} is no origin, such as https://example.com")
    return f"https://{host}" + (f":{port}" if port and port != 443 else "")


def _source(given: object) -> SecretSource:
    if not given:
        return SecretSource()
    if not isinstance(given, Mapping) or len(given) != 1:
        raise DefinitionError("source", f"is an object with one of {', '.join(SourceKind)}")
    [(name, place)] = given.items()
    try:
        kind = SourceKind(name)
    except ValueError:
        raise DefinitionError("source", f"is one of {', '.join(SourceKind)}") from None
    if kind in SOURCE_FIELDS:
        return SecretSource(kind, _store_place(kind, place))
    if kind is SourceKind.API:
        return SecretSource()
    if not isinstance(place, str) or not 0 < len(place) <= MAX_TEXT:
        raise DefinitionError(f"source/{kind}", "is a text")
    if kind is SourceKind.FILE and (not place.startswith(SECRETS_FOLDER) or "/../" in f"{place}/" or "\0" in place):
        raise DefinitionError("source/file", "is below /run, where programs in the box cannot read it: mount it at /run/secrets")
    return SecretSource(kind, {"place": place})


def _store_place(kind: SourceKind, place: object) -> dict[str, str]:
    names = SOURCE_FIELDS[kind]
    if not isinstance(place, Mapping) or place.keys() - set(names):
        raise DefinitionError(f"source/{kind}", f"is an object with {', '.join(names)}")
    found = {name: str(place[name]) for name in names if place.get(name)}
    missing = [name for name in names if name not in found and name not in _OPTIONAL]
    if missing or not all(len(each) <= MAX_TEXT for each in found.values()):
        raise DefinitionError(f"source/{kind}", f"needs {', '.join(missing) or 'shorter texts'}")
    return found


def check_distinct(definitions: Sequence[SecretDefinition]) -> None:
    """Check that no placeholder is in another, and no two secrets share a variable. Raises DefinitionError."""
    for index, one in enumerate(definitions):
        for other in definitions[index + 1 :]:
            if one.placeholder in other.placeholder or other.placeholder in one.placeholder:
                raise DefinitionError("placeholder", f"of {other.name} and of {one.name} hold each other")
            if one.variable and one.variable == other.variable:
                raise DefinitionError("variable", f"{one.variable} is that of {one.name} and of {other.name}")
