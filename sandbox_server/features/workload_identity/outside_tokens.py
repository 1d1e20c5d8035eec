"""Access tokens from the owner's token endpoint, for the sandbox's own token."""

import time
from collections.abc import Callable

from pydantic import Field

from sandbox_server.core import Call, Model, NotFound, Reply, operation
from sandbox_server.core.rate_limit import RateLimit
from sandbox_server.drivers.workload_identity.token_endpoint import OutsideToken, TokenEndpoint
from sandbox_server.drivers.workload_identity.token_issuer import TokenIssuer


class AccessTokenRequest(Model):
    audience: str | None = Field(default=None, min_length=1, max_length=1024, pattern=r"^[\x20-\x7e]+$")
    """What the access token is for, as the endpoint names it."""
    resource: str | None = Field(default=None, min_length=1, max_length=1024, pattern=r"^[\x20-\x7e]+$")
    """The URL of what it is for."""
    scope: str | None = Field(default=None, min_length=1, max_length=1024, pattern=r"^[\x20-\x7e]+$")
    """What it may do, in the endpoint's words."""


class OutsideAccessToken(Model):
    access_token: str
    token_type: str
    expires_in: int
    """Seconds."""
    scope: str | None = None


class OutsideTokens:
    """Exchanges at `endpoint`, which may be None: then there is none."""

    tag = "identity"

    def __init__(
        self,
        endpoint: TokenEndpoint | None,
        audience: str,
        issuer: TokenIssuer,
        rate: RateLimit,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._endpoint = endpoint
        self._audience = audience
        self._issuer = issuer
        self._rate = rate
        self._now = now

    @operation("POST /v1/identity/access-token", scope="shell")
    async def get_access_token(self, request: AccessTokenRequest, call: Call) -> Reply[OutsideAccessToken]:
        """Exchange the sandbox's token for an access token at the owner's token endpoint (`IDENTITY_TOKEN_ENDPOINT`).

        Access tokens are kept until shortly before they end. 503: no endpoint is configured, or it does not answer.
        """
        found = await self.find(call.caller.name.partition("#")[0], **request.model_dump())
        lasts = max(0, int(found.expires_at - self._now()))
        answer = OutsideAccessToken(access_token=found.token, token_type=found.kind, expires_in=lasts, scope=found.scope)
        return Reply(answer, headers={"Cache-Control": "no-store"})

    async def find(self, caller: str, **parameters: str | None) -> OutsideToken:
        """Return an access token. Raises NotFound without an endpoint, Unavailable, PermissionDenied and ResourceExhausted."""
        if self._endpoint is None:
            raise NotFound("no token endpoint is configured", hint="IDENTITY_TOKEN_ENDPOINT names one")
        self._rate.take(caller)
        return await self._endpoint.access_token(self._subject_token, self._issuer.subject, **parameters)

    def _subject_token(self) -> str:
        return self._issuer.issue((self._audience,)).token
