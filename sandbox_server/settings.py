"""Every environment variable of the container, once: name, type, default and meaning.

Stdlib only, because `boot` imports this first and has milliseconds. An empty value means unset; a
bad one raises `BadSettings`, which names the variable. The README's table comes from `table()`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal, cast


class BadSettings(ValueError):
    """Variables hold values that cannot be used; the message has one line for each."""


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
    """How the text of a variable becomes a value; `parse` raises ValueError with the reason."""

    label: str
    parse: Callable[[str], T]


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable; a `name` that ends with `*` means all with that prefix."""

    name: str
    kind: Kind[Any]
    default: object
    doc: str
    inherited: bool
    """The agent's processes get it too. Never true of a secret."""


def variable[T](name: str, kind: Kind[T], default: T, doc: str, *, inherited: bool = False) -> T:
    """Declare a dataclass field that is read from the environment variable `name`."""
    described = Variable(name, kind, default, doc, inherited)
    return field(default=default, metadata={"variable": described})


def _boolean(text: str) -> bool:
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


def _account_name(text: str) -> str:
    if text in {"root", "control", "desktop"}:
        raise ValueError("must not be root, control or desktop: those are the sandbox's own users")
    if (
        not text.replace("-", "").replace("_", "").isalnum()
        or not text[0].isalpha()
        or not text.isascii()
    ):
        raise ValueError("must be a user name: letters, digits, '-' and '_', a letter first")
    return text


def integer(low: int, high: int) -> Kind[int]:
    """Whole number from `low` to `high`, both included."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError("must be a whole number") from None
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


TEXT: Kind[str | None] = Kind("text", str)
BOOLEAN = Kind("boolean", _boolean)
PATH = Kind("path", _absolute_path)
OPTIONAL_PATH: Kind[str | None] = Kind("path", _absolute_path)
SECRET: Kind[Secret | None] = Kind("secret", Secret)
PORT = integer(1, 65535)
ACCOUNT_ID = integer(1, 2**31 - 1)
SIZE = integer(0, 2**50)


@dataclass(frozen=True, slots=True)
class ShutdownHook:
    """A command that runs as the agent while the container stops."""

    name: str
    command: str
    timeout: float = 10.0
    priority: int = 100


def _shutdown_hooks(text: str) -> tuple[ShutdownHook, ...]:
    if not text.lstrip().startswith("["):
        return (ShutdownHook("env", text),)
    try:
        return tuple(ShutdownHook(**hook) for hook in json.loads(text))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"must be a command or a JSON list of {{name, command, timeout, priority}}: {error}"
        ) from None


SHUTDOWN_HOOKS = Kind("command or JSON", _shutdown_hooks)


def _disabled(text: str) -> frozenset[str]:
    """Read `NAME=value` lines, as `load` gives them for a prefix variable."""
    pairs = (line.partition("=") for line in text.splitlines())
    return frozenset(
        name.lower().replace("_", "-") for name, _, value in pairs if value and _boolean(value)
    )


DISABLED = Kind("boolean", _disabled)


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent's user"""

    user: str = variable(
        "USER", Kind("user name", _account_name), "gem", "Name of the agent's user.", inherited=True
    )
    uid: int = variable("USER_UID", ACCOUNT_ID, 1000, "Its user id.")
    gid: int = variable("USER_GID", ACCOUNT_ID, 1000, "Its group id.")
    workspace: str = variable(
        "WORKSPACE",
        PATH,
        "",
        "Where shells, commands and kernels start; made at boot. Unset: the home directory.",
        inherited=True,
    )
    sudo: bool = variable(
        "ALLOW_SUDO",
        BOOLEAN,
        True,
        "Whether the agent may become root with `sudo`, without a password.",
    )
    timezone: str | None = variable(
        "TZ", TEXT, None, "Time zone, as in `Europe/Berlin`. Unset: UTC.", inherited=True
    )

    def __post_init__(self) -> None:
        if not self.workspace:
            object.__setattr__(self, "workspace", self.home)

    @property
    def home(self) -> str:
        return f"/home/{self.user}"


@dataclass(frozen=True, slots=True)
class Gateway:
    """Where the gateway listens"""

    port: int = variable(
        "PUBLIC_PORT", PORT, 8080, "TCP port of the gateway, the one port to publish."
    )
    ipv4: str | None = variable(
        "PUBLIC_LISTEN_IPV4", TEXT, "0.0.0.0", "IPv4 address that it binds."
    )
    ipv6: str | None = variable(
        "PUBLIC_LISTEN_IPV6", TEXT, "[::]", "IPv6 address that it binds, where the host has IPv6."
    )


@dataclass(frozen=True, slots=True)
class Auth:
    """Who may come in"""

    mode: Literal["on", "off"] = variable(
        "AUTH",
        choice("on", "off"),
        "on",
        "`off` serves everything to everyone who reaches the port.",
    )
    api_key: Secret | None = variable(
        "SANDBOX_API_KEY",
        SECRET,
        None,
        "A key that opens everything. With neither it nor a JWT key set, boot makes one.",
    )
    jwt_public_key: Secret | None = variable(
        "JWT_PUBLIC_KEY",
        SECRET,
        None,
        "Base64 of a PEM public key (RSA, EC or Ed25519): tokens it signed are accepted.",
    )
    jwks_url: str | None = variable(
        "JWT_JWKS_URL", TEXT, None, "Where to fetch a JWKS; the token's `kid` picks the key."
    )
    jwks_file: str | None = variable(
        "JWT_JWKS_FILE", OPTIONAL_PATH, None, "A JWKS in a file, read again when it changes."
    )
    audience: str | None = variable("JWT_AUDIENCE", TEXT, None, "Required `aud` of a token.")
    issuer: str | None = variable("JWT_ISSUER", TEXT, None, "Required `iss` of a token.")
    ticket_ttl: float = variable(
        "TICKET_TTL_SECONDS",
        seconds(1, 86400),
        30.0,
        "How long a ticket from `POST /tickets` can be redeemed.",
    )


@dataclass(frozen=True, slots=True)
class Shell:
    """Shells"""

    max_sessions: int = variable(
        "MAX_SHELL_SESSIONS",
        integer(1, 1000),
        10,
        "Shell sessions that may live at once; one more is answered 429.",
    )


@dataclass(frozen=True, slots=True)
class Files:
    """Files"""

    max_upload_bytes: int = variable(
        "MAX_UPLOAD_BYTES", SIZE, 0, "Largest upload in bytes. 0: as much as the disk holds."
    )


@dataclass(frozen=True, slots=True)
class Hooks:
    """Commands at points of the container's life, run as the agent"""

    init: str | None = variable(
        "RUN_HOOK_INIT", TEXT, None, "Runs first, before the workspace is prepared."
    )
    pre_services: str | None = variable(
        "RUN_HOOK_PRE_SERVICES", TEXT, None, "Runs before the services start."
    )
    post_ready: str | None = variable(
        "RUN_HOOK_POST_READY", TEXT, None, "Runs once, when every component is ready."
    )
    timeout: float = variable(
        "RUN_HOOKS_TIMEOUT",
        seconds(1, 86400),
        300.0,
        "How long each of the three may take before it is killed.",
    )
    strict: bool = variable(
        "RUN_HOOKS_STRICT", BOOLEAN, False, "Whether a hook that fails stops the container."
    )
    shutdown: tuple[ShutdownHook, ...] = variable(
        "SANDBOX_SHUTDOWN_HOOKS",
        SHUTDOWN_HOOKS,
        (),
        "A command, or a JSON list of `{name, command, timeout, priority}`, run while stopping.",
    )
    shutdown_timeout: float = variable(
        "SANDBOX_SHUTDOWN_HOOKS_TIMEOUT",
        seconds(0, 3600),
        30.0,
        "How long all of them together may take.",
    )


@dataclass(frozen=True, slots=True)
class Logs:
    """Logs"""

    directory: str = variable(
        "LOG_DIR",
        PATH,
        "/var/log/gem",
        "Directory for log files of added services; made at boot, owned by the agent.",
    )
    level: Literal["debug", "info", "warning", "error"] = variable(
        "LOG_LEVEL",
        choice("debug", "info", "warning", "error"),
        "info",
        "Least severe line that the sandbox's own processes log.",
    )


@dataclass(frozen=True, slots=True)
class Components:
    """Components"""

    disabled: frozenset[str] = variable(
        "DISABLE_*",
        DISABLED,
        frozenset(),
        "`DISABLE_<COMPONENT>=true` leaves that component out, as in `DISABLE_MCP=true`.",
    )


@dataclass(frozen=True, slots=True)
class Paths:
    """Places inside the container that no variable moves; tests build their own."""

    run: str = "/run/sandbox"
    """Sockets and secrets, 0700 of the control user."""
    agent_run: str = "/run/sandbox-agent"
    """What the agent may read of the sandbox."""
    custom_tools: str = "/opt/tandem/custom_tools"

    @property
    def api_socket(self) -> str:
        return f"{self.run}/api.sock"

    @property
    def mcp_socket(self) -> str:
        return f"{self.run}/mcp.sock"

    @property
    def spawn_socket(self) -> str:
        return f"{self.run}/spawn.sock"

    @property
    def gateway_socket(self) -> str:
        return f"{self.run}/gateway.sock"

    @property
    def environ(self) -> str:
        """The container's whole environment as a JSON object, secrets too; control's, 0400.

        `serve` and `mcp` load their settings from it.
        """
        return f"{self.run}/environ.json"

    @property
    def agent_environ(self) -> str:
        """What every process of the agent starts from, as a JSON object; root's, 0400.

        The spawner reads it.
        """
        return f"{self.run}/agent-environ.json"


@dataclass(frozen=True, slots=True)
class Users:
    """The sandbox's own accounts, made in the image. The agent's own is in `Settings.agent`."""

    control: str = "control"
    control_uid: int = 990
    desktop: str = "desktop"
    desktop_uid: int = 991


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; the defaults alone are valid ones."""

    agent: Agent = field(default_factory=Agent)
    gateway: Gateway = field(default_factory=Gateway)
    auth: Auth = field(default_factory=Auth)
    shell: Shell = field(default_factory=Shell)
    files: Files = field(default_factory=Files)
    hooks: Hooks = field(default_factory=Hooks)
    logs: Logs = field(default_factory=Logs)
    components: Components = field(default_factory=Components)
    paths: Paths = field(default_factory=Paths)
    users: Users = field(default_factory=Users)


def load(environ: Mapping[str, str]) -> Settings:
    """Read the settings.

    Raises BadSettings that names every variable with a value that cannot be used.
    """
    problems: list[str] = []
    sections = {section.name: _section(section, environ, problems) for section in fields(Settings)}
    if problems:
        raise BadSettings("\n".join(problems))
    return Settings(**cast(dict[str, Any], sections))


def _section(section: Field[Any], environ: Mapping[str, str], problems: list[str]) -> object:
    values: dict[str, object] = {}
    for described in fields(cast(type, section.type)):
        declared: Variable | None = described.metadata.get("variable")
        text = _text(declared.name, environ) if declared else ""
        if declared is None or not text:
            continue
        try:
            values[described.name] = declared.kind.parse(text)
        except ValueError as error:
            problems.append(f"{declared.name} {error}")
    return cast(type, section.type)(**values)


def _text(name: str, environ: Mapping[str, str]) -> str:
    if not name.endswith("*"):
        return environ.get(name, "").strip()
    prefix = name[:-1]
    return "\n".join(
        f"{key.removeprefix(prefix)}={value}"
        for key, value in environ.items()
        if key.startswith(prefix)
    )


def variables() -> Iterator[tuple[str, Variable]]:
    """Every variable with the title of its section, in the order of the README's table."""
    for section in fields(Settings):
        kind = cast(type, section.type)
        for described in fields(kind):
            if "variable" in described.metadata:
                yield (kind.__doc__ or "").strip(), described.metadata["variable"]


def agent_environ(environ: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Give the environment from which every process of the agent starts.

    What was given to the container passes, except the sandbox's own variables: those hold keys, or
    say how it is guarded.
    """
    own = [declared.name for _, declared in variables() if not declared.inherited]
    passed = {
        name: value
        for name, value in environ.items()
        if not any(_matches(name, pattern) for pattern in own)
    }
    agent = settings.agent
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        **passed,
        "HOME": agent.home,
        "USER": agent.user,
        "LOGNAME": agent.user,
        "SHELL": "/bin/bash",
        "WORKSPACE": agent.workspace,
    }


def _matches(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def table() -> str:
    """Give the Markdown table of every variable, grouped by section."""
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    title = ""
    for section, declared in variables():
        if section != title:
            lines.append(f"| **{section}** | | |")
            title = section
        lines.append(f"| `{declared.name}` | {_shown(declared)} | {declared.doc} |")
    return "\n".join(lines) + "\n"


def _shown(declared: Variable) -> str:
    if declared.default in (None, "", (), frozenset()):
        return declared.kind.label
    if isinstance(declared.default, bool):
        return f"`{str(declared.default).lower()}`"
    return (
        f"`{declared.default:g}`"
        if isinstance(declared.default, float)
        else f"`{declared.default}`"
    )
