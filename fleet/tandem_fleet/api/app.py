"""The service's operations as a web application. `GET /openapi.json` describes them."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from tandem_fleet import __version__
from tandem_fleet.api import (
    idleness,
    metrics,
    operation,
    pages,
    people,
    pools,
    queue,
    sandboxes,
    sign_in,
    snapshots,
    templates,
    tenants,
    usage,
    wall,
    watching,
    webhooks,
)
from tandem_fleet.api.auditing import Auditing
from tandem_fleet.api.authorization import Authorization, Everybody
from tandem_fleet.api.browser_sessions import BrowserSessions
from tandem_fleet.api.measuring import Measuring
from tandem_fleet.api.messages import MAX_BODY
from tandem_fleet.api.path_check import PathCheck
from tandem_fleet.api.rate_limits import RateLimits
from tandem_fleet.errors import FleetError
from tandem_fleet.fleet import Fleet
from tandem_fleet.oidc.provider import Provider
from tandem_fleet.store.audit import AuditStore


def build(fleet: Fleet, authorization: Authorization | None = None, address: str = "", provider: Provider | None = None) -> FastAPI:
    """The application. Without an authorization everybody who gets here may do everything.

    `address` is where browsers reach its pages, `provider` is where people sign in.
    """
    app = FastAPI(title="Tandem fleet", version=__version__, docs_url=None, redoc_url=None, max_body_size=MAX_BODY)
    app.state.authorization = authorization or Everybody()
    app.state.browsers = BrowserSessions(fleet)
    app.state.limits = RateLimits()
    app.state.address = address
    app.add_middleware(Measuring)
    app.add_middleware(Auditing, store=AuditStore(fleet.database))
    of_sandboxes = (templates, pools, idleness, snapshots, sandboxes, watching, webhooks)
    for part in (*of_sandboxes, tenants, usage, metrics, operation, people, wall, queue, pages):
        app.include_router(part.router(fleet))

    app.include_router(sign_in.router(fleet, provider))

    @app.get("/healthz")
    async def alive() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    @app.get("/.well-known/jwks.json")
    async def keys() -> dict[str, Any]:
        """The key that sandboxes know callers' tokens by."""
        return fleet.key.key_set

    @app.exception_handler(FleetError)
    async def refuse(_: Request, error: FleetError) -> JSONResponse:
        return _error(error.status, error.code, str(error), error.retry_after)

    @app.exception_handler(RequestValidationError)
    async def refuse_values(_: Request, error: RequestValidationError) -> JSONResponse:
        said = "; ".join(f"{'.'.join(map(str, one['loc'][1:])) or 'body'}: {one['msg']}" for one in error.errors())
        return _error(422, "invalid", said)

    app.add_middleware(PathCheck)
    return app


def _error(status: int, code: str, message: str, retry_after: int | None = None) -> JSONResponse:
    headers = {"Retry-After": str(retry_after)} if retry_after is not None else None
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)
