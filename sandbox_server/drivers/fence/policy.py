"""The isolation policy of one execution, in the shape of Anthropic's sandbox-runtime.

Reading is allowed unless denied; writing and hosts are denied unless allowed. A missing part restricts nothing. Every
operation that takes `isolation` uses this definition, and the fence is made from it.

Only the standard library, because the spawner reads it too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

MAX_ENTRIES = 256
"""Limit of entries of one list."""
MAX_LIMIT = 1 << 62

_STRICT: dict[str, object] = {"extra": "forbid"}
_LABEL = "[a-z0-9_]+(-+[a-z0-9_]+)*"
_HOST = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*")
_ADDRESS = re.compile(r"[0-9a-f]*:[0-9a-f:.]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?|\*")


def _check_paths(paths: tuple[str, ...]) -> None:
    for path in _counted(paths):
        if not path or "\0" in path:
            raise ValueError("a path must not be empty or contain NUL")
        if path.startswith("~") and path[1:2] not in ("", "/"):
            raise ValueError(f"{path!r}: only ~ and ~/... are supported, for the agent's own home")


def _counted(entries: tuple[str, ...]) -> tuple[str, ...]:
    if len(entries) > MAX_ENTRIES:
        raise ValueError(f"at most {MAX_ENTRIES} entries are allowed")
    return entries


def _check_hosts(hosts: tuple[str, ...]) -> None:
    for host in _counted(hosts):
        name = host.lower()
        if len(name) > 255 or not (_HOST.fullmatch(name) or _ADDRESS.fullmatch(name)):
            raise ValueError(f"{host!r} is not a host name, *.name or address; leave out scheme, port and path")


@dataclass(frozen=True)
class ReadPolicy:
    """What may be read. If two paths match, the longer one wins."""

    __pydantic_config__: ClassVar[dict[str, object]] = _STRICT

    deny: tuple[str, ...] = ()
    """Files and directories that may not be read or listed. A path that does not exist when the program starts is not denied."""
    allow: tuple[str, ...] = ()
    """Exceptions below a denied path. With `/` denied, list everything that a program needs, such as `/usr`, `/etc` and its directory."""

    def __post_init__(self) -> None:
        _check_paths(self.deny)
        _check_paths(self.allow)


@dataclass(frozen=True)
class WritePolicy:
    """What may be written, made, renamed and removed. Only the listed paths and devices such as /dev/null."""

    __pydantic_config__: ClassVar[dict[str, object]] = _STRICT

    allow: tuple[str, ...] = ()
    """Files and directories that may be written. Each must exist."""
    deny: tuple[str, ...] = ()
    """Exceptions below an allowed path that may not be written. Each must exist."""

    def __post_init__(self) -> None:
        _check_paths(self.allow)
        _check_paths(self.deny)


@dataclass(frozen=True)
class NetworkPolicy:
    """What may be reached. Only the listed hosts, by HTTP and by any protocol that works through a CONNECT proxy."""

    __pydantic_config__: ClassVar[dict[str, object]] = _STRICT

    allowed_domains: tuple[str, ...] = ()
    """Host names, addresses, and `*.name` for all names below a name. Empty: no network."""
    denied_domains: tuple[str, ...] = ()
    """Hosts that are refused although they are allowed."""

    def __post_init__(self) -> None:
        _check_hosts(self.allowed_domains)
        _check_hosts(self.denied_domains)


@dataclass(frozen=True)
class EnvPolicy:
    """Which variables of the agent's environment are passed on.

    Always passed: PATH, HOME, USER, LOGNAME, SHELL, LANG, TERM, TZ, and those that the request sets.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = _STRICT

    allow: tuple[str, ...] | None = None
    """Names, or prefixes with `*` at the end. Absent: all."""
    deny: tuple[str, ...] = ()
    """Names that are not passed on although they are allowed."""

    def __post_init__(self) -> None:
        for name in _counted(self.allow or ()) + _counted(self.deny):
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not a variable's name, nor a prefix with * at the end")


@dataclass(frozen=True)
class LimitsPolicy:
    """What may be used up. Each limit but `processes` applies to every single process."""

    __pydantic_config__: ClassVar[dict[str, object]] = _STRICT

    cpu_seconds: int | None = None
    """Seconds of processor time, after which the process is killed."""
    memory_bytes: int | None = None
    """Limit in bytes of private memory."""
    processes: int | None = None
    """Limit of processes and threads of the whole execution."""
    open_files: int | None = None
    """Limit of open files."""
    file_bytes: int | None = None
    """Limit in bytes of a written file."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not 1 <= value <= MAX_LIMIT:
                raise ValueError(f"{name} must be at least 1")


@dataclass(frozen=True)
class IsolationPolicy:
    """The restrictions of one execution.

    Even an empty policy applies these: no rights can be gained (`sudo` does not work), no process outside can be traced
    or signalled, Unix sockets are blocked, and the sandbox's token and terminals are hidden. If this host cannot
    enforce a part, the call fails with 409 and nothing runs.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = _STRICT

    read: ReadPolicy | None = None
    """What may be read. Absent: what the agent may read. Paths may be relative to the working directory or begin with `~`."""
    write: WritePolicy | None = None
    """What may be written. Absent: what the agent may write."""
    network: NetworkPolicy | None = None
    """What may be reached. Absent: what the agent may reach, loopback included."""
    env: EnvPolicy | None = None
    """Which variables are passed on. Absent: all."""
    limits: LimitsPolicy | None = None
    """What may be used up. Absent: the agent's limits."""
    unix_sockets: bool = False
    """Whether Unix sockets are allowed. A listener such as tmux runs outside the fence and can act for the program."""


_PARTS: dict[str, Any] = {"read": ReadPolicy, "write": WritePolicy, "network": NetworkPolicy, "env": EnvPolicy, "limits": LimitsPolicy}


def decode(encoded: Mapping[str, Any]) -> IsolationPolicy:
    """Decode a policy from `dataclasses.asdict` and JSON. Raises ValueError and TypeError for anything else."""
    given = dict(encoded)
    parts = {name: _part(kind, given.pop(name, None)) for name, kind in _PARTS.items()}
    return IsolationPolicy(**parts, **given)


def _part(kind: Any, fields: Mapping[str, Any] | None) -> Any:
    if fields is None:
        return None
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})
