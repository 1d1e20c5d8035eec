"""Capabilities: which isolation level holds here, what is lost below the highest, and what would win it."""

from typing import Literal

from sandbox_server.core import Model, operation
from sandbox_server.drivers.box.isolation import Isolation

_PROMISES = {
    "root_in_box": "the agent is root in a Linux of its own, where apt-get works and nothing of the sandbox can be reached",
    "undo": "checkpoints: go back to any earlier state of the files",
    "suspend": "suspend and resume the agent's processes",
    "kill_at_once": "whatever the agent starts ends at once with its box",
    "separate_users": "the agent is another user than the server and cannot read its secrets",
}
_AT_LEVEL: dict[str, tuple[str, ...]] = {
    "box": ("root_in_box", "undo", "suspend", "kill_at_once", "separate_users"),
    "users": ("separate_users",),
    "none": (),
}


class Capability(Model):
    """One promise."""

    name: str
    promise: str
    """What it means."""
    holds: bool
    """Whether it does, on this host."""


class CapabilityList(Model):
    """What this container can promise on this host."""

    rung: Literal["box", "users", "none"]
    """`box`: a Linux of the agent's own; `users`: an ordinary user among the container's; `none`: the server's own user."""
    reason: str
    """Why it is not a higher level; empty for the highest."""
    agent_may_be_root: bool
    """Whether `sudo` works, as far as isolation goes; the setting ALLOW_SUDO may say no as well."""
    storage: Literal["volume", "container", "memory"] | None
    """What becomes of checkpoints: kept by a volume, gone with the container, gone at the next restart; null without a box."""
    capabilities: list[Capability]
    conditions: list[str]
    """What was found of the host that bears on isolation: AppArmor, gVisor, mapped users, covered paths, Landlock."""
    flags: list[str]
    """What would win the highest isolation level, as far as flags of the engine can; empty where it holds."""


class CapabilityReport:
    """Tells what boot found out."""

    tag = "capabilities"

    def __init__(self, isolation: Isolation) -> None:
        self._isolation = isolation

    @operation("GET /v1/capabilities", scope="view")
    async def get_capabilities(self) -> CapabilityList:
        """Tell which isolation level holds, what is lost, and which flags would win it."""
        found = self._isolation
        return CapabilityList(
            rung=found.level,
            reason=found.reason,
            agent_may_be_root=found.allows_root,
            storage=found.storage,
            capabilities=[Capability(name=name, promise=text, holds=name in _AT_LEVEL[found.level]) for name, text in _PROMISES.items()],
            conditions=list(found.conditions),
            flags=list(found.flags),
        )
