"""Messages of E2B's REST API."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from tandem_fleet.e2b.messages import Message
from tandem_fleet.e2b.network_rules import NetworkRules

MAX_FORKS = 100
LONGEST_SECONDS = 30 * 86_400
Timeout = Annotated[int, Field(ge=0, le=LONGEST_SECONDS)]
Names = dict[Annotated[str, Field(max_length=256)], Annotated[str, Field(max_length=32_768)]]


def _name(field: str) -> str:
    """A field's name on the wire: some end in capitals, one is in snake case."""
    if field == "allow_internet_access":
        return field
    camel = to_camel(field)
    return f"{camel[:-2]}{camel[-2:].upper()}" if camel.endswith(("Id", "Mb")) else camel


class ControlMessage(Message):
    """A message of this API."""

    model_config = ConfigDict(alias_generator=_name)


class AutoResume(ControlMessage):
    """Whether calls wake a sandbox."""

    enabled: bool = False


class NewSandbox(ControlMessage):
    """A sandbox to make."""

    template_id: str = Field(min_length=1, max_length=512)
    timeout: Timeout = 300
    metadata: Names = Field(default_factory=dict, max_length=64)
    env_vars: Names = Field(default_factory=dict, max_length=256)
    auto_pause: bool = False
    auto_pause_memory: bool = True
    auto_resume: AutoResume = AutoResume()
    allow_internet_access: bool = True
    network: NetworkRules = NetworkRules()
    mcp: dict[str, Any] = Field(default_factory=dict)
    iam: dict[str, Any] = Field(default_factory=dict)
    volume_mounts: list[Any] = Field(default_factory=list)

    @property
    def not_kept(self) -> str:
        """The name of a field that asks for something that the fleet does not do; empty where there is none."""
        asked = {"mcp": self.mcp, "iam": self.iam, "volumeMounts": self.volume_mounts}
        return self.network.not_kept or next((name for name, value in asked.items() if value), "")

    @property
    def policy(self) -> dict[str, Any] | None:
        """The network policy that is asked for; None where it is the template's. Raises `InvalidError`."""
        rules = self.network
        if not self.allow_internet_access:
            rules = rules.model_copy(update={"allow_internet_access": False})
        return rules.policy() if rules.are_given else None


class ConnectRequest(ControlMessage):
    """Wake a sandbox, and have it live so long at least."""

    timeout: Timeout = 300


class TimeoutRequest(ControlMessage):
    """Have a sandbox end so many seconds from now."""

    timeout: Timeout


class RefreshRequest(ControlMessage):
    """Have a sandbox live so long at least."""

    duration: Timeout = 300


class PauseRequest(ControlMessage):
    """Have a sandbox sleep."""

    memory: bool = True


class SnapshotRequest(ControlMessage):
    """Keep the files of a sandbox."""

    name: str = Field(default="", max_length=128)
    memory: bool = True


class SnapshotInfo(ControlMessage):
    """A snapshot, which is the template of sandboxes with its files."""

    snapshot_id: str
    names: tuple[str, ...]


class ForkRequest(ControlMessage):
    """Make sandboxes with the files of one."""

    timeout: Timeout = 15
    count: Annotated[int, Field(ge=1, le=MAX_FORKS)] = 1


class Refused(ControlMessage):
    """Why one of several was not made."""

    code: int
    message: str


class OpenedSandbox(ControlMessage):
    """A sandbox, and what opens it."""

    template_id: str
    sandbox_id: str
    client_id: str
    envd_version: str
    envd_access_token: str
    traffic_access_token: str


class ForkResult(ControlMessage):
    """What became of one fork: a sandbox, or an error."""

    sandbox: OpenedSandbox | None = None
    error: Refused | None = None


class Lifecycle(ControlMessage):
    """What becomes of a sandbox at its end."""

    auto_resume: bool
    on_timeout: str


class ListedSandbox(ControlMessage):
    """A sandbox in a list."""

    template_id: str
    sandbox_id: str
    client_id: str
    alias: str
    started_at: datetime
    end_at: datetime
    cpu_count: int
    memory_mb: int
    disk_size_mb: int
    metadata: dict[str, str]
    state: str
    envd_version: str


class SandboxDetail(ListedSandbox):
    """One sandbox."""

    envd_access_token: str | None = None
    lifecycle: Lifecycle


class Metric(ControlMessage):
    """What a sandbox used at a moment."""

    timestamp: datetime
    timestamp_unix: int
    cpu_count: int
    cpu_used_pct: float
    mem_used: int
    mem_total: int
    mem_cache: int
    disk_used: int
    disk_total: int
