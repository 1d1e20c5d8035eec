"""Callers who send an API key, or the service's own."""

from tandem_fleet.api.authorization import Authorization, Caller, Scope
from tandem_fleet.errors import UnauthorizedError
from tandem_fleet.store.tenants import TenantStore
from tandem_fleet.tenants import Secret, is_key


class ApiKeys:
    """Who has a tenant's key is that tenant's caller; what is no API key is somebody else's to know."""

    def __init__(self, store: TenantStore, otherwise: Authorization) -> None:
        self._store = store
        self._otherwise = otherwise

    async def caller(self, bearer: str) -> Caller:
        """See `Authorization.caller`."""
        if not is_key(bearer):
            return await self._otherwise.caller(bearer)
        secret = Secret.parse(bearer)
        known = await self._store.known(secret) if secret else None
        if known is None:
            raise UnauthorizedError("this key is unknown, expired or revoked")
        key, quota = known
        scopes = frozenset(Scope(scope) for scope in key.scopes if scope in set(Scope))
        return Caller(key.tenant, f"{key.name} ({key.id})", scopes, quota.requests_per_minute)
