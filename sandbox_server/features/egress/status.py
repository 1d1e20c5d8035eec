"""What the egress policy does now: whether it is enforced, by how many rules, for how many connections."""

from collections.abc import Mapping
from typing import Any, Literal

from sandbox_server.core import Failure, Model, operation
from sandbox_server.drivers.box.isolation import EgressEnforcement
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.features.egress.proposal import LearnedDestinations
from sandbox_server.features.egress.tasks import EgressTask, RunningTasks


class EgressStatus(Model):
    enabled: bool
    """Whether there is a policy. What holds programs to it is `enforcement`."""
    enforcement: EgressEnforcement
    """`namespace`: every program is under the policy, root's too. `rules`: root is exempt, and `sudo` makes the agent that.
    `proxy`: not enforced, because only programs that use the proxy of their environment ask. `off`: there is no policy."""
    running: bool
    """Whether the egress process answers. While it does not, what is enforced lets nothing out."""
    reason: str
    """Why it is not enabled or not running; else empty."""
    mode: Literal["enforce", "learn"] | None
    """Null while it is not running, as the default."""
    default: Literal["allow", "deny"] | None
    rules: int
    """Rules of the policy."""
    grants: int
    """Temporary rules in front of it."""
    open: int
    """Connections that are open."""
    asking: int
    """Connections, or groups of them, that wait for a person."""
    names: int
    """Names that programs have resolved."""
    problem: str
    """Why the policy's file could not be read; else empty."""
    events: dict[str, int]
    """What happened since the egress process started, by kind; `dropped` are events that nobody heard of."""
    tasks: list[EgressTask]
    """The tasks that run."""
    learned: int
    """Destinations that the mode `learn` has seen."""


class EgressStatusReader:
    """Asks the egress process, and says so if it is away."""

    tag = "egress"

    def __init__(self, client: EgressClient, tasks: RunningTasks, learned: LearnedDestinations, enforcement: EgressEnforcement) -> None:
        self._client = client
        self._enforcement = enforcement
        self._tasks = tasks
        self._learned = learned

    @operation("GET /v1/egress/status", scope="view")
    async def egress_status(self) -> EgressStatus:
        """Report whether an egress policy is enforced, on whom, and what it does now."""
        if self._client.off:
            return self._described({}, enabled=False, reason=self._client.off)
        try:
            return self._described(await self._client.ask("status"), enabled=True, reason="")
        except Failure as failure:
            return self._described({}, enabled=True, reason=failure.message)

    def _described(self, told: Mapping[str, Any], *, enabled: bool, reason: str) -> EgressStatus:
        counts = {name: told.get(name, 0) for name in ("rules", "grants", "open", "asking", "names")}
        return EgressStatus(
            enabled=enabled,
            enforcement=self._enforcement if enabled else "off",
            running=bool(told),
            reason=reason,
            mode=told.get("mode"),
            default=told.get("default"),
            problem=told.get("problem", ""),
            events=told.get("events", {}),
            tasks=self._tasks.running(),
            learned=len(self._learned.all()),
            **counts,
        )
