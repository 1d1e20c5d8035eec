"""Environment variables: their names, their parsers, and their documentation.

`settings` declares them; nothing else reads the environment. Standard library only, because boot imports it.
"""

import base64
import binascii
import ipaddress
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

RESERVED_IDS = (990, 991, 992)
"""Users and groups of the image: control, desktop and egress."""
ZONES = "/usr/share/zoneinfo"


class Secret:
    """A value that no log line, traceback or repr shows; read it with `reveal()`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"


@dataclass(frozen=True, slots=True)
class Kind[T]:
    """The parser of a variable's text. `parse` raises ValueError with the reason."""

    label: str
    parse: Callable[[str], T]
    secret: bool = False
    """Whether the text must never be shown."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable. A `name` that ends with `*` means all variables with that prefix."""

    name: str
    kind: Kind[Any]
    default: object
    doc: str
    inherited: bool
    """The agent's processes get it too. Never true of a secret."""

    def matches(self, name: str) -> bool:
        if self.name.endswith("*"):
            return name.startswith(self.name[:-1])
        return name == self.name

    def text(self, environ: Mapping[str, str]) -> str:
        """Its text without surrounding blanks; of a prefix, one `REST=value` line for each."""
        if not self.name.endswith("*"):
            return environ.get(self.name, "").strip()
        found = (name for name in environ if self.matches(name))
        return "\n".join(f"{name.removeprefix(self.name[:-1])}={environ[name]}" for name in found)


def variable[T](name: str, kind: Kind[T], default: T, doc: str, *, inherited: bool = False) -> T:
    """Declare a dataclass field that is read from the environment variable `name`."""
    described = Variable(name, kind, default, doc, inherited)
    return field(default=default, metadata={"variable": described})


def boolean(text: str) -> bool:
    """Read true/false, yes/no, on/off, 1/0 in any case."""
    lowered = text.strip().lower()
    if lowered in {"1", "true", "yes", "on"}:
        return True
    if lowered in {"0", "false", "no", "off"}:
        return False
    raise ValueError("must be true or false")


def _absolute_path(text: str) -> str:
    if not text.startswith("/") or "\0" in text:
        raise ValueError("must be an absolute path")
    return text


def account_name(text: str) -> str:
    """Check a name for the agent's user."""
    if text in {"root", "control", "desktop", "egress"}:
        raise ValueError("must not be root, control, desktop or egress: those are the sandbox's own users")
    if not text.replace("-", "").replace("_", "").isalnum() or not text[0].isalpha() or not text.isascii():
        raise ValueError("must be a user name: letters, digits, '-' and '_', a letter first")
    return text


def _http_url(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise ValueError("must be a URL that starts with https:// or http://")
    return text


def _public_key(text: str) -> Secret:
    """Check what can be checked without a library for keys, so that boot does not wait for one."""
    try:
        pem = text if "-----BEGIN" in text else base64.b64decode("".join(text.split()), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("must be a PEM public key, or base64 of one") from None
    if "PRIVATE KEY" in pem:
        raise ValueError("holds a private key: give the public one, and treat the private one as leaked")
    if "PUBLIC KEY" not in pem:
        raise ValueError("must be a PEM public key, or base64 of one")
    return Secret(text)


def address(version: Literal[4, 6]) -> Kind[str | None]:
    """An IP address of one family; IPv6 may stand in brackets."""

    def parse(text: str) -> str:
        try:
            found = ipaddress.ip_address(text.strip("[]"))
        except ValueError:
            raise ValueError("must be an IP address") from None
        if found.version != version:
            raise ValueError(f"must be an IPv{version} address")
        return str(found)

    return Kind(f"IPv{version} address", parse)


def integer(low: int, high: int) -> Kind[int]:
    """Whole number from `low` to `high`, both included."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError(f"must be a whole number from {low} to {high}") from None
        if not low <= value <= high:
            raise ValueError(f"must be from {low} to {high}")
        return value

    return Kind("integer", parse)


def seconds(low: float, high: float) -> Kind[float]:
    """Seconds from `low` to `high`, both included."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ValueError("must be a number of seconds") from None
        if not low <= value <= high:
            raise ValueError(f"must be from {low:g} to {high:g} seconds")
        return value

    return Kind("seconds", parse)


def choice[C: str](*allowed: C) -> Kind[C]:
    """One of the given words."""

    def parse(text: str) -> C:
        for word in allowed:
            if text.strip().lower() == word:
                return word
        raise ValueError(f"must be one of {', '.join(allowed)}")

    return Kind(" or ".join(allowed), parse)


def _kernel_name(text: str) -> str:
    version = text.strip().lower().removeprefix("python")
    if version not in ("3", "3.10", "3.11", "3.12", "3.13"):
        raise ValueError("must be python3, or 3.10 to 3.13")
    return f"python{version}"


def _node_name(text: str) -> str:
    major = text.strip().lower().removeprefix("node").removeprefix("v")
    if major not in ("20", "22", "24"):
        raise ValueError("must be node20, node22 or node24")
    return f"node{major}"


def _user_id(text: str) -> int:
    value = integer(1, 2**31 - 1).parse(text)
    if value in RESERVED_IDS:
        raise ValueError(f"must not be {value}: that is one of the sandbox's own users")
    return value


def _timezone(text: str) -> str:
    """Check against the system's time zones, where it has them: with an unknown one, programs silently use UTC."""
    if os.path.isdir(ZONES) and (".." in text or not os.path.isfile(f"{ZONES}/{text}")):
        raise ValueError("must be the name of a time zone, as in Europe/Berlin")
    return text


TEXT: Kind[str | None] = Kind("text", str)
BOOLEAN = Kind("boolean", boolean)
PATH = Kind("path", _absolute_path)
PATHS = Kind("paths", lambda text: tuple(_absolute_path(part) for part in text.split(":") if part))
OPTIONAL_PATH: Kind[str | None] = Kind("path", _absolute_path)
SECRET: Kind[Secret | None] = Kind("secret", Secret, secret=True)
PUBLIC_KEY: Kind[Secret | None] = Kind("public key", _public_key, secret=True)
HTTP_URL: Kind[str | None] = Kind("URL", _http_url)
PORT = integer(1, 65535)
USER_ID = Kind("integer", _user_id)
GROUP_ID = integer(0, 2**31 - 1)
KERNEL_NAME = Kind("Python version", _kernel_name)
NODE_NAME = Kind("Node.js version", _node_name)
TIMEZONE: Kind[str | None] = Kind("time zone", _timezone)
SIZE = integer(0, 2**50)


def declared(section: type) -> Iterator[tuple[str, Variable]]:
    """Every field of a section that a variable fills, by field name."""
    for described in fields(section):
        if "variable" in described.metadata:
            yield described.name, described.metadata["variable"]


def read[S](section: type[S], environ: Mapping[str, str], problems: list[str]) -> S:
    """Make a section from the environment; a sentence for what is wrong with a value, or with all together, is added to `problems`."""
    values: dict[str, Any] = {}
    for name, known in declared(section):
        text = known.text(environ)
        if not text:
            continue
        try:
            values[name] = known.kind.parse(text)
        except ValueError as error:
            problems.append(f"{known.name} {error}")
    try:
        return section(**values)
    except ValueError as error:
        problems.append(str(error))
        return section()
