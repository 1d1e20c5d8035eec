"""Every environment variable of the container, once: name, type, default and meaning.

Stdlib only, because `boot` imports this first and has milliseconds. An empty value means unset; a
bad one raises `BadSettings`, which names the variable. `docs/settings.md` is made from it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast

from sandbox_server.settings.approvals import ApprovalsSettings
from sandbox_server.settings.auth import AuthSettings as AuthSettings
from sandbox_server.settings.box import BoxSettings as BoxSettings
from sandbox_server.settings.browser import BrowserSettings
from sandbox_server.settings.code import CodeSettings
from sandbox_server.settings.components import ComponentsSettings as ComponentsSettings
from sandbox_server.settings.control import ControlSettings
from sandbox_server.settings.desktop import DisplaySettings as DisplaySettings
from sandbox_server.settings.egress import EgressSettings as EgressSettings
from sandbox_server.settings.folders import FolderSettings as FolderSettings
from sandbox_server.settings.folders import FoldersSettings as FoldersSettings
from sandbox_server.settings.handoff import HandoffSettings
from sandbox_server.settings.hooks import HooksSettings as HooksSettings
from sandbox_server.settings.hooks import ShutdownHook as ShutdownHook
from sandbox_server.settings.identity import IdentitySettings as IdentitySettings
from sandbox_server.settings.kinds import (
    BOOLEAN,
    GROUP_ID,
    PATH,
    PORT,
    SIZE,
    TIMEZONE,
    USER_ID,
    Kind,
    Secret,
    Variable,
    account_name,
    address,
    choice,
    declared,
    integer,
    read,
    seconds,
    variable,
)
from sandbox_server.settings.mcp import McpSettings
from sandbox_server.settings.network import BoxPortsSettings, FetchingSettings
from sandbox_server.settings.paths import Paths as Paths
from sandbox_server.settings.paths import Users as Users
from sandbox_server.settings.proxy import ProxySettings
from sandbox_server.settings.recorder import RecorderSettings
from sandbox_server.settings.restore import RestoreSettings as RestoreSettings
from sandbox_server.settings.secrets import SecretsSettings
from sandbox_server.settings.skills import SkillsSettings
from sandbox_server.settings.stream import StreamSettings as StreamSettings
from sandbox_server.settings.timeouts import TimeoutsSettings


class BadSettings(ValueError):
    """Variables hold values that cannot be used; the message has one line for each."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The agent's user"""

    user: str = variable("USER", Kind("user name", account_name), "gem", "Name of the agent's user.", inherited=True)
    uid: int = variable("USER_UID", USER_ID, 1000, "Its user id.")
    gid: int = variable("USER_GID", GROUP_ID, 1000, "Its group id.")
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
        "Let the agent become root with `sudo`, without a password.",
    )
    timezone: str | None = variable("TZ", TIMEZONE, None, "Time zone, such as `Europe/Berlin`. Unset: UTC.", inherited=True)

    def __post_init__(self) -> None:
        if not self.workspace:
            object.__setattr__(self, "workspace", self.home)

    @property
    def home(self) -> str:
        return f"/home/{self.user}"


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """The gateway"""

    port: int = variable("PUBLIC_PORT", PORT, 8080, "TCP port of the gateway, the one port to publish.", inherited=True)
    ipv4: str | None = variable("PUBLIC_LISTEN_IPV4", address(4), "0.0.0.0", "IPv4 address that it binds.")
    ipv6: str | None = variable("PUBLIC_LISTEN_IPV6", address(6), "::", "IPv6 address that it binds, if the host has IPv6.")
    address_connections: int = variable(
        "CONNECTIONS_PER_ADDRESS",
        integer(0, 16384),
        1024,
        "Connections that one address outside may have at once. 0: any number, for a proxy in front.",
    )
    max_body_bytes: int = variable("MAX_BODY_BYTES", SIZE, 0, "Largest request body that it accepts, in bytes. 0: no limit of its own.")


@dataclass(frozen=True, slots=True)
class ShellSettings:
    """Shells"""

    max_sessions: int = variable(
        "MAX_SHELL_SESSIONS",
        integer(1, 1000),
        10,
        "Shell sessions of programs. One more replaces an idle unnamed one, or is answered 429. People have eight besides.",
    )
    evict_after: float = variable(
        "SHELL_EVICT_AFTER_SECONDS",
        seconds(0, 31536000),
        0.0,
        "Close the longest idle shell session, if idle for this long, to make room for one more. 0: never.",
    )


@dataclass(frozen=True, slots=True)
class BashSettings:
    """Bash commands"""

    max_sessions: int = variable(
        "MAX_BASH_SESSIONS",
        integer(1, 10000),
        64,
        "Bash sessions. One more replaces an idle one that was not created by name, or is answered 429.",
    )
    output_bytes: int = variable(
        "BASH_OUTPUT_BYTES",
        integer(1 << 20, 1 << 40),
        256 << 20,
        "Output kept on disk of each stream of a command: its first 64 KiB and its latest part. Finished commands share four times that.",
    )


@dataclass(frozen=True, slots=True)
class FilesSettings:
    """Files"""

    max_upload_bytes: int = variable("MAX_UPLOAD_BYTES", SIZE, 0, "Largest upload in bytes. 0: as much as the disk holds.")


@dataclass(frozen=True, slots=True)
class LogsSettings:
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
class Settings:
    """All settings; the defaults alone are valid ones."""

    agent: AgentSettings = field(default_factory=AgentSettings)
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    auth: AuthSettings = field(default_factory=AuthSettings)
    shell: ShellSettings = field(default_factory=ShellSettings)
    bash: BashSettings = field(default_factory=BashSettings)
    files: FilesSettings = field(default_factory=FilesSettings)
    code: CodeSettings = field(default_factory=CodeSettings)
    skills: SkillsSettings = field(default_factory=SkillsSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    display: DisplaySettings = field(default_factory=DisplaySettings)
    stream: StreamSettings = field(default_factory=StreamSettings)
    control: ControlSettings = field(default_factory=ControlSettings)
    handoff: HandoffSettings = field(default_factory=HandoffSettings)
    approvals: ApprovalsSettings = field(default_factory=ApprovalsSettings)
    identity: IdentitySettings = field(default_factory=IdentitySettings)
    recorder: RecorderSettings = field(default_factory=RecorderSettings)
    hooks: HooksSettings = field(default_factory=HooksSettings)
    logs: LogsSettings = field(default_factory=LogsSettings)
    timeouts: TimeoutsSettings = field(default_factory=TimeoutsSettings)
    box: BoxSettings = field(default_factory=BoxSettings)
    restore: RestoreSettings = field(default_factory=RestoreSettings)
    components: ComponentsSettings = field(default_factory=ComponentsSettings)
    browser: BrowserSettings = field(default_factory=BrowserSettings)
    egress: EgressSettings = field(default_factory=EgressSettings)
    secrets: SecretsSettings = field(default_factory=SecretsSettings)
    folders: FoldersSettings = field(default_factory=FoldersSettings)
    fetching: FetchingSettings = field(default_factory=FetchingSettings)
    box_ports: BoxPortsSettings = field(default_factory=BoxPortsSettings)
    proxy: ProxySettings = field(default_factory=ProxySettings)
    paths: Paths = field(default_factory=Paths)
    users: Users = field(default_factory=Users)

    @property
    def downloads(self) -> str:
        """Where the agent gets what the browser downloads."""
        return self.browser.downloads or f"{self.agent.home}/Downloads"


def load(environ: Mapping[str, str]) -> Settings:
    """Read the settings.

    Raises BadSettings that names every variable with a value that cannot be used.
    """
    problems: list[str] = []
    sections = {section.name: read(cast("type[Any]", section.type), environ, problems) for section in fields(Settings)}
    if problems:
        raise BadSettings("\n".join(problems))
    settings = Settings(**sections)
    if settings.gateway.port in settings.box_ports.published:
        raise BadSettings(f"PUBLISHED_PORTS must not name {settings.gateway.port}, which is the gateway's own port")
    return settings


def load_written(path: str | None = None) -> Settings:
    """Read them from the environment that boot wrote down; where it wrote none, this process's own counts."""
    try:
        with open(path or Paths().environ, encoding="utf-8") as file:
            return load(json.load(file))
    except FileNotFoundError:
        return load(os.environ)


def variables() -> Iterator[tuple[str, Variable]]:
    """Every variable with the title of its section, in the order of `docs/settings.md`."""
    for section in fields(Settings):
        kind = cast("type", section.type)
        for _, known in declared(kind):
            yield (kind.__doc__ or "").strip(), known


def secrets_in(settings: Settings) -> Iterator[str]:
    """Every secret that the settings hold."""
    return (secret.reveal() for _, secret in _secrets(settings))


def secret_variables(settings: Settings) -> list[str]:
    """Names of the variables that were given to the container and hold a secret."""
    return sorted({variable.name for variable, _ in _secrets(settings)} | settings.secrets.hidden)


def _secrets(settings: Settings) -> Iterator[tuple[Variable, Secret]]:
    for section in fields(Settings):
        values = getattr(settings, section.name)
        for name, known in declared(cast("type", section.type)):
            if isinstance(value := getattr(values, name), Secret):
                yield known, value


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Leave out every variable that holds a secret."""
    secret = {known.name for _, known in variables() if known.kind.secret} | load(environ).secrets.hidden
    return {name: value for name, value in environ.items() if name not in secret}


def agent_environ(environ: Mapping[str, str], settings: Settings, placeholders: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give the environment from which every process of the agent starts; `placeholders` are those of declared secrets, by variable.

    What was given to the container passes, except the sandbox's own variables: those hold keys, or say how it is guarded.
    """
    own = [known for _, known in variables() if not known.inherited]
    passed = {name: value for name, value in environ.items() if not any(known.matches(name) for known in own)}
    passed = {name: value for name, value in passed.items() if name not in settings.secrets.hidden}
    agent = settings.agent
    path = passed.pop("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    return {
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        **(settings.proxy.environment if settings.proxy.configured else {}),
        **passed,
        **settings.identity.environment(settings.paths.identity, passed),
        **(placeholders or {}),
        "PATH": f"{agent.home}/.local/bin:{path}",  # where pip and npm put what the agent installs
        "HOME": agent.home,
        "USER": agent.user,
        "LOGNAME": agent.user,
        "SHELL": "/bin/bash",
        "WORKSPACE": agent.workspace,
    }
