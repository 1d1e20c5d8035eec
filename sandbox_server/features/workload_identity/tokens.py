"""Tokens that say which sandbox this is: issue one, describe what they say, rotate the key that signs them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from sandbox_server.core import Call, Model, Reply, operation
from sandbox_server.core.rate_limit import RateLimit
from sandbox_server.drivers.workload_identity.audiences import AudienceRules
from sandbox_server.drivers.workload_identity.binding import BindingStore
from sandbox_server.drivers.workload_identity.token_issuer import IssuedToken, TokenIssuer

TOKENS_AT_ONCE = 30
TOKENS_PER_SECOND = 1.0
NO_STORE = {"Cache-Control": "no-store"}


class TokenRequest(Model):
    audience: list[str] = Field(min_length=1, max_length=4)
    """Who will verify the token: the URL or name that the verifier expects in `aud`. Repeat it for several."""


class IdentityToken(Model):
    token: str
    """A JWT. It cannot be taken back: whoever has it can use it until it ends."""
    expires_at: int
    """Seconds since the epoch."""


class SandboxIdentity(Model):
    issuer: str
    """`iss` of the tokens. Verifiers fetch `/.well-known/openid-configuration` below it."""
    subject: str
    """`sub` of the next token: the sandbox's SPIFFE ID."""
    sandbox_id: str
    tenant: str | None = None
    task: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    bound_at: float | None = None
    """Seconds since the epoch; null while the sandbox is not bound."""
    etag: str
    """The binding's version, for `If-Match`."""
    key_ids: list[str]
    """Ids of the published keys. The first one signs."""
    token_seconds: float
    """How long a token is valid."""


class RotatedKey(Model):
    key_id: str
    """Id of the key that signs from now on."""


@dataclass(frozen=True, slots=True)
class TokenDesk:
    """Issues tokens within the rules: allowed audiences, and a rate for each caller."""

    issuer: TokenIssuer
    audiences: AudienceRules
    rate: RateLimit

    async def issue(self, audiences: Sequence[str], caller: str) -> IssuedToken:
        """Issue a token. Raises InvalidArgument, PermissionDenied and ResourceExhausted."""
        checked = self.audiences.check(audiences)
        self.rate.take(caller)
        return await asyncio.to_thread(self.issuer.issue, checked)


def token_rate() -> RateLimit:
    """Return the rate of tokens that one program gets."""
    return RateLimit("tokens: keep one until it ends", TOKENS_AT_ONCE, TOKENS_PER_SECOND)


class IdentityTokens:
    """The identity's operations."""

    tag = "identity"

    def __init__(self, tokens: TokenDesk, bindings: BindingStore) -> None:
        self._tokens = tokens
        self._bindings = bindings

    @operation("GET /v1/identity", scope="view")
    async def get_identity(self) -> Reply[SandboxIdentity]:
        """Describe the sandbox's identity: what its tokens say, and the keys that verify them."""
        issuer, current = self._tokens.issuer, self._bindings.current
        published = await asyncio.to_thread(issuer.keys.published)
        found = SandboxIdentity(
            issuer=issuer.issuer.url,
            subject=issuer.subject,
            sandbox_id=self._bindings.sandbox_id,
            tenant=current.tenant,
            task=current.task,
            labels=dict(current.labels),
            bound_at=current.bound_at,
            etag=current.etag,
            key_ids=[jwk["kid"] for jwk in published],
            token_seconds=issuer.issuer.seconds,
        )
        return Reply(found, headers={"ETag": current.etag})

    @operation("GET /v1/identity/token", scope="shell", read_only=False)
    async def get_identity_token(self, request: TokenRequest, call: Call) -> Reply[IdentityToken]:
        """Issue a short-lived token for an audience. It proves to that audience which sandbox this is.

        A token is valid for minutes; use one until it ends. Programs in the box get the same from the socket
        `/run/sandbox-agent/identity/identity.sock`, without a key.
        """
        issued = await self._tokens.issue(request.audience, call.caller.name.partition("#")[0])
        return Reply(IdentityToken(token=issued.token, expires_at=issued.expires_at), headers=NO_STORE)

    @operation("POST /v1/identity/rotate", scope="admin")
    async def rotate_identity_key(self) -> RotatedKey:
        """Replace the key that signs tokens. The old one stays published until its last token has ended."""
        return RotatedKey(key_id=(await asyncio.to_thread(self._tokens.issuer.keys.rotate)).kid)
