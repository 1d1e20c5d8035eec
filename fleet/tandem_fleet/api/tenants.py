"""Operations on tenants, API keys and the record of calls."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.api.messages import LARGEST
from tandem_fleet.errors import ForbiddenError
from tandem_fleet.fleet import Fleet
from tandem_fleet.quotas import Quota
from tandem_fleet.sandboxes import Name
from tandem_fleet.store.audit import AuditStore, Entry
from tandem_fleet.store.tenants import TenantStore
from tandem_fleet.tenants import ApiKey, Tenant, beyond

LEAST = (Scope.READ, Scope.WRITE, Scope.USE)
"""What a key may do unless more is asked for."""
LONGEST = 10 * 366 * 86_400
Admin = Annotated[Caller, Depends(needs(Scope.ADMIN))]
Operator = Annotated[Caller, Depends(needs(Scope.OPERATE))]
Whose = Annotated[str | None, Query(max_length=64, description="Another tenant's, for the operator.")]
Limit = Annotated[int, Query(ge=1, le=1000)]


class TenantRequest(BaseModel):
    """A tenant to make."""

    model_config = ConfigDict(extra="forbid")

    id: Name


class TenantPage(BaseModel):
    """All tenants."""

    tenants: list[Tenant]


class KeyRequest(BaseModel):
    """A key to make."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=128, pattern=r"^[ -~]+$", description="What it is for, in ASCII.")
    scopes: list[Scope] = Field(default=list(LEAST), min_length=1, max_length=16)
    seconds: int | None = Field(default=None, ge=60, le=LONGEST, description="When it ends; never unless said otherwise.")


class MadeKey(BaseModel):
    """A key, with its secret: it is shown here and never again."""

    key: str
    made: ApiKey


class KeyPage(BaseModel):
    """A part of a list."""

    keys: list[ApiKey]
    next_cursor: str | None = None


class AuditPage(BaseModel):
    """A part of a record."""

    entries: list[Entry]
    next_cursor: int | None = None


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()
    store = TenantStore(fleet.database)
    _add_tenants(routes, store, fleet)
    _add_keys(routes, store)
    _add_audit(routes, AuditStore(fleet.database))
    return routes


def whose(caller: Caller, tenant: str | None) -> str:
    """The tenant that a call is about: the caller's, or another one for the operator. Raises `ForbiddenError`."""
    if tenant in (None, caller.tenant):
        return caller.tenant
    if Scope.OPERATE not in caller.scopes:
        raise ForbiddenError("only the operator names another tenant")
    return str(tenant)


def _add_tenants(routes: APIRouter, store: TenantStore, fleet: Fleet) -> None:
    @routes.get("/v1/tenants")
    async def list_tenants(caller: Operator) -> TenantPage:
        """All tenants, by name."""
        return TenantPage(tenants=await store.all())

    @routes.post("/v1/tenants", status_code=201)
    async def create_tenant(caller: Operator, request: TenantRequest) -> Tenant:
        """Add a tenant. A name is used once: the record of a deleted one stays its own."""
        return await store.create(request.id)

    @routes.get("/v1/tenants/{tenant}")
    async def get_tenant(caller: Operator, tenant: str) -> Tenant:
        """One tenant."""
        return await store.get(tenant)

    @routes.put("/v1/tenants/{tenant}/quota")
    async def limit_tenant(caller: Operator, tenant: str, quota: Quota) -> Tenant:
        """Say what a tenant may have. What it has already stays, and it gets no more."""
        return await store.limit(tenant, quota)

    @routes.delete("/v1/tenants/{tenant}")
    async def delete_tenant(caller: Operator, tenant: str) -> Tenant:
        """Remove a tenant that has no sandboxes and no snapshots, with its keys, sessions, templates and webhooks."""
        deleted = await store.delete(tenant)
        fleet.pools.renew()
        return deleted


def _add_keys(routes: APIRouter, store: TenantStore) -> None:
    @routes.get("/v1/keys")
    async def list_keys(
        caller: Admin, tenant: Whose = None, cursor: Annotated[str, Query(max_length=64)] = "", limit: Limit = 100
    ) -> KeyPage:
        """API keys, without their secrets, revoked ones too."""
        keys = await store.keys(whose(caller, tenant), after=cursor, limit=limit)
        return KeyPage(keys=keys, next_cursor=keys[-1].id if len(keys) == limit else None)

    @routes.post("/v1/keys", status_code=201)
    async def create_key(caller: Admin, request: KeyRequest, tenant: Whose = None) -> MadeKey:
        """Make an API key. It may do no more than who makes it, and is shown once."""
        if more := beyond(request.scopes, caller.scopes):
            raise ForbiddenError(f"a key cannot have what its maker has not: {', '.join(more)}")
        expires = datetime.now(UTC) + timedelta(seconds=request.seconds) if request.seconds else None
        made, secret = await store.create_key(whose(caller, tenant), request.name, set(request.scopes), expires)
        return MadeKey(key=str(secret), made=made)

    @routes.delete("/v1/keys/{key}")
    async def revoke_key(caller: Admin, key: str, tenant: Whose = None) -> ApiKey:
        """Revoke an API key: the next call with it is refused."""
        return await store.revoke_key(whose(caller, tenant), key)


def _add_audit(routes: APIRouter, store: AuditStore) -> None:
    @routes.get("/v1/audit")
    async def list_audit(
        caller: Admin, tenant: Whose = None, cursor: Annotated[int | None, Query(ge=0, le=LARGEST)] = None, limit: Limit = 100
    ) -> AuditPage:
        """Calls that changed something or were refused, the newest first. The operator's `tenant=` gives those of nobody known."""
        entries = await store.page(whose(caller, tenant), before=cursor, limit=limit)
        return AuditPage(entries=entries, next_cursor=entries[-1].number if len(entries) == limit else None)
