"""Health: liveness, readiness and metrics."""

from collections.abc import Callable

from sandbox_server.core import Blob, Call, Model, Reply, operation
from sandbox_server.core.audit import BUCKETS, Audit, Durations
from sandbox_server.drivers.stats.components import ComponentSockets
from sandbox_server.drivers.stats.liveness import Liveness

RETRY_SECONDS = 1


class Alive(Model):
    status: str = "ok"


class Readiness(Model):
    status: str
    """`ready` or `starting`."""
    components: dict[str, str] | None = None
    """State of each component; only for signed-in callers."""


class Health:
    """Liveness, readiness and metrics."""

    tag = "health"

    def __init__(self, components: ComponentSockets, audit: Audit, liveness: Liveness) -> None:
        self._components = components
        self._liveness = liveness
        self._audit = audit
        self.more: list[Callable[[], list[str]]] = []
        """What else there is to measure, each in the same format."""

    @operation("GET /healthz", scope="public", envelope=False)
    async def healthz(self) -> Alive:
        """Report that the server answers."""
        return Alive()

    @operation("GET /readyz", scope="public", envelope=False)
    async def readyz(self, call: Call) -> Reply[Readiness]:
        """Report whether every component is ready: 200, or 503 while one is not.

        The spawner and the box daemon have to answer, too.
        """
        states = self._components.states() | await self._liveness.states()
        ready = all(state == "ready" for state in states.values())
        body = Readiness(status="ready" if ready else "starting", components=states if call.caller.may("view") else None)
        headers = {} if ready else {"Retry-After": str(RETRY_SECONDS)}
        return Reply(body, status=200 if ready else 503, headers=headers)

    @operation("GET /metrics", scope="view", media_type="text/plain")
    async def metrics(self) -> Blob:
        """Return the metrics of every operation, and of the network, in Prometheus' text format."""
        lines = exposition(self._audit.durations) + [line for more in self.more for line in more()]
        text = "\n".join(lines) + "\n"
        return Blob(text.encode(), "text/plain; version=0.0.4; charset=utf-8")


def exposition(durations: dict[tuple[str, str], Durations]) -> list[str]:
    """Format the durations as one histogram (Prometheus text format 0.0.4)."""
    name = "sandbox_operation_seconds"
    lines = [f"# HELP {name} Time to answer an operation, by outcome.", f"# TYPE {name} histogram"]
    for (operation_name, outcome), found in sorted(durations.items()):
        labels = f'operation="{operation_name}",outcome="{outcome}"'
        total = 0
        for bound, count in zip((*BUCKETS, float("inf")), found.buckets, strict=True):
            total += count
            lines.append(f'{name}_bucket{{{labels},le="{"+Inf" if bound == float("inf") else bound}"}} {total}')
        lines += [f"{name}_sum{{{labels}}} {found.seconds:.6f}", f"{name}_count{{{labels}}} {found.count}"]
    return lines
