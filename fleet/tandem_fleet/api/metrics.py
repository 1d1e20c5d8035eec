"""What the service measures, for Prometheus."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from tandem_fleet import metrics
from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.fleet import Fleet
from tandem_fleet.store.sandboxes import SandboxStore
from tandem_fleet.store.tenants import TenantStore

Operator = Annotated[Caller, Depends(needs(Scope.OPERATE))]


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()
    sandboxes, tenants = SandboxStore(fleet.database), TenantStore(fleet.database)

    @routes.get("/metrics", response_class=Response)
    async def get_metrics(caller: Operator) -> Response:
        """Counts and times, in Prometheus' text format."""
        counts, known = await sandboxes.counts(), len(await tenants.all())
        metrics.SANDBOXES.clear()
        for (state, template), count in counts.items():
            metrics.SANDBOXES.labels(state, template).set(count)
        metrics.TENANTS.set(known)
        return Response(generate_latest(metrics.REGISTRY), media_type=CONTENT_TYPE_LATEST)

    return routes
