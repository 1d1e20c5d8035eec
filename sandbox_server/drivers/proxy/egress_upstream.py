"""Has connections that leave the box's network go by the upstream proxy: says so to the egress process, which keeps it."""

from typing import Any
from urllib.parse import quote

from sandbox_server.core.errors import InvalidArgument, Unavailable
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.proxy.routing_plan import ProxyPlan
from sandbox_server.settings.proxy import UpstreamSettings
from sandbox_server.timeouts import scaled

START_SECONDS = scaled(10.0)
"""How long a process that is starting is waited for."""


class EgressUpstreamClient:
    """Tells the egress process, by its control socket."""

    def __init__(self, path: str) -> None:
        self._client = EgressClient(path, patience=START_SECONDS)

    async def use(self, plan: ProxyPlan) -> None:
        """Have it use the upstream of a plan for new connections. Raises Unavailable, with nothing of the credentials in it."""
        try:
            await self._client.ask(**request(plan))
        except InvalidArgument:
            raise Unavailable("the egress process refuses the upstream proxy", retry_after=1.0) from None
        except Unavailable:
            raise Unavailable("the egress process does not answer: the upstream proxy is not in use yet", retry_after=1.0) from None


def request(plan: ProxyPlan) -> dict[str, Any]:
    """Return what the egress process is asked."""
    url = _url(plan.upstream) if plan.upstream else None
    return {"op": "upstream", "url": url, "excludes": list(plan.excludes), "includes": list(plan.includes)}


def _url(upstream: UpstreamSettings) -> str:
    password = upstream.password.reveal() if upstream.password else ""
    login = f"{quote(upstream.username or '', safe='')}:{quote(password, safe='')}@" if upstream.username or password else ""
    return f"{'https' if upstream.tls else 'http'}://{login}{upstream.address}"
