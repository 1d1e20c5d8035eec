"""What a caller may ask one execution to be kept from, in the shape of Anthropic's sandbox-runtime.

Reading is allowed except where it is denied; writing and hosts are denied except where they are allowed. A part that is not given
restricts nothing. This is the one definition: every operation that takes `isolation` takes this, and the fence is made from it.

Only the standard library, because the spawner reads it too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

MAX_ENTRIES = 256
"""Of one list."""
MAX_LIMIT = 1 << 62

_STRICT: dict[str, object] = {"extra": "forbid"}
_LABEL = "[a-z0-9_]+(-+[a-z0-9_]+)*"
_HOST = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*")
_ADDRESS = re.compile(r"[0-9a-f]*:[0-9a-f:.]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?|\*")


def _check_paths(paths: tuple[str, ...]) -> None:
    for path in _counted(paths):
        if not path or "\0" in path:
            raise ValueError("a path is not empty and holds no NUL")
        if path.startswith("~") and path[1:2] not in ("", "/"):
            raise ValueError(f"{path!r}: only ~ and ~/... are known, of the agent's own home")


def _counted(entries: tuple[str, ...]) -> tuple[str, ...]:
    if len(entries) > MAX_ENTRIES:
        raise ValueError(f"at most {MAX_ENTRIES} entries")
    return entries


def _check_hosts(hosts: tuple[str, ...]) -> None:
    for host in _counted(hosts):
        name = host.lower()
        if len(name) > 255 or not (_HOST.fullmatch(name) or _ADDRESS.fullmatch(name)):
            raise ValueError(f"{host!r} is no host name, no *.name and no address; a scheme, port or path is not part of one")


@dataclass(frozen=True)
class ReadPolicy:
    """What may be read. Of two paths that both fit, the longer one counts."""

    __pydantic_config__: ClassVar[dict[str, object]] = _STRICT

    deny: tuple[str, ...] = ()
    """Files and directories that may not be read, nor listed. One that does not exist when the program starts is not denied."""
    allow: tuple[str, ...] = ()
    """What may be read all the same, below something denied. With `/` denied, everything that a program needs has to be here, as in `/usr`,
    `/etc` and its directory."""

    def __post_init__(self) -> None:
        _check_paths(self.deny)
        _check_paths(self.allow)


@dataclass(frozen=True)
class WritePolicy:
    """What may be written, made, renamed and removed: nothing but devices such as /dev/null, and what is listed."""

    __pydantic_config__: ClassVar[dict[str, object]] = _STRICT

    allow: tuple[str, ...] = ()
    """Files and directories that may be written. Each must exist."""
    deny: tuple[str, ...] = ()
    """What may not, below something allowed. Each must exist: what does not exist cannot be held."""

    def __post_init__(self) -> None:
        _check_paths(self.allow)
        _check_paths(self.deny)


@dataclass(frozen=True)
class NetworkPolicy:
    """What may be reached: nothing but the hosts that are listed, by HTTP and by any protocol that a CONNECT proxy carries."""

    __pydantic_config__: ClassVar[dict[str, object]] = _STRICT

    allowed_domains: tuple[str, ...] = ()
    """Host names, `*.name` for all below a name, and addresses. Empty: no network at all."""
    denied_domains: tuple[str, ...] = ()
    """What is refused although it is allowed."""

    def __post_init__(self) -> None:
        _check_hosts(self.allowed_domains)
        _check_hosts(self.denied_domains)


@dataclass(frozen=True)
class EnvPolicy:
    """Which variables of the agent's environment are passed on. PATH, HOME, USER, LOGNAME, SHELL, LANG, TERM and TZ always are, and what
    the request itself sets."""

    __pydantic_config__: ClassVar[dict[str, object]] = _STRICT

    allow: tuple[str, ...] | None = None
    """Names, or beginnings of names with `*` at the end. Absent: all."""
    deny: tuple[str, ...] = ()
    """Names that are not passed on although they are allowed."""

    def __post_init__(self) -> None:
        for name in _counted(self.allow or ()) + _counted(self.deny):
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name of a variable, nor the beginning of one with * at the end")


@dataclass(frozen=True)
class LimitsPolicy:
    """What may be used up. All but `processes` are limits of each process."""

    __pydantic_config__: ClassVar[dict[str, object]] = _STRICT

    cpu_seconds: int | None = None
    """Seconds of processor time; then the process is killed."""
    memory_bytes: int | None = None
    """Bytes of private memory; more is not given out."""
    processes: int | None = None
    """Processes and threads of the whole execution."""
    open_files: int | None = None
    """Open files."""
    file_bytes: int | None = None
    """Size of a file that is written."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not 1 <= value <= MAX_LIMIT:
                raise ValueError(f"{name} is at least 1")


@dataclass(frozen=True)
class IsolationPolicy:
    """What one execution is kept from. Whatever is in it, even nothing: no rights can be gained (`sudo` does not work), no process outside
    can be traced or signalled, no Unix socket be used, and the sandbox's own token and terminals are out of sight. What cannot be enforced
    on this host is refused with 409, and nothing runs."""

    __pydantic_config__: ClassVar[dict[str, object]] = _STRICT

    read: ReadPolicy | None = None
    """What may be read. Absent: what the agent may read. Paths may be relative to the working directory, or begin with `~`."""
    write: WritePolicy | None = None
    """What may be written. Absent: what the agent may write."""
    network: NetworkPolicy | None = None
    """What may be reached. Absent: what the agent may reach, loopback too."""
    env: EnvPolicy | None = None
    """Which variables are passed on. Absent: all."""
    limits: LimitsPolicy | None = None
    """What may be used up. Absent: what the agent may."""
    unix_sockets: bool = False
    """Whether Unix sockets may be used. Whoever listens on one is outside the fence, and may do there what it is asked to."""


_PARTS: dict[str, Any] = {"read": ReadPolicy, "write": WritePolicy, "network": NetworkPolicy, "env": EnvPolicy, "limits": LimitsPolicy}


def decode(encoded: Mapping[str, Any]) -> IsolationPolicy:
    """Read what `dataclasses.asdict` and JSON made of a policy. Raises ValueError and TypeError for anything else."""
    given = dict(encoded)
    parts = {name: _part(kind, given.pop(name, None)) for name, kind in _PARTS.items()}
    return IsolationPolicy(**parts, **given)


def _part(kind: Any, fields: Mapping[str, Any] | None) -> Any:
    if fields is None:
        return None
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})
