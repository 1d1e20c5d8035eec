"""Who calls the service."""

import httpx2
from tandem_fleet.api.app import build
from tandem_fleet.api.authorization import Authorization
from tandem_fleet.fleet import Fleet


def client(fleet: Fleet, known: Authorization | None = None, **headers: str) -> httpx2.AsyncClient:
    """A caller with these headers; without an authorization one who may do everything."""
    transport = httpx2.ASGITransport(app=build(fleet, known))
    return httpx2.AsyncClient(transport=transport, base_url="http://fleet", headers=headers)
