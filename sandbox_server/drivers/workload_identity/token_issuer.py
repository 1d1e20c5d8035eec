"""The sandbox's tokens: JWTs (RFC 7519) with a SPIFFE-shaped subject, signed with RS256."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_server.core.errors import Unauthenticated
from sandbox_server.drivers.credentials.claims import payload_of
from sandbox_server.drivers.workload_identity.binding import BindingStore, SandboxBinding
from sandbox_server.drivers.workload_identity.signing_keys import ALGORITHM, KeyStore

MAX_TOKEN_CHARS = 16384
REQUIRED = ("iss", "sub", "aud", "exp", "nbf", "iat", "jti")
_INVALID = "the token is not one of this sandbox's, or has ended"


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who issues the tokens, and for how long."""

    url: str
    trust_domain: str
    seconds: float

    def subject(self, sandbox_id: str, binding: SandboxBinding) -> str:
        """Return the SPIFFE ID of a sandbox. Tenant and task come first, so that a prefix names all of a tenant's."""
        tenant = f"/tenant/{binding.tenant}" if binding.tenant else ""
        task = f"/task/{binding.task}" if binding.task else ""
        return f"spiffe://{self.trust_domain}{tenant}{task}/sandbox/{sandbox_id}"


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token, and when it ends."""

    token: str
    expires_at: int
    """Seconds since the epoch."""


class TokenIssuer:
    """Issues tokens about this sandbox, and verifies its own. The calls block for a signature."""

    def __init__(
        self,
        issuer: Issuer,
        keys: KeyStore,
        bindings: BindingStore,
        now: Callable[[], float] = time.time,
        may_issue: Callable[[], None] = lambda: None,
    ) -> None:
        """`may_issue` raises a Failure while no token may be issued."""
        self.issuer = issuer
        self.keys = keys
        self._bindings = bindings
        self.now = now
        self._may_issue = may_issue

    @property
    def subject(self) -> str:
        """The sandbox's subject as it is now."""
        return self.issuer.subject(self._bindings.sandbox_id, self._bindings.current)

    def sandbox_claims(self) -> dict[str, Any]:
        """Return the claims about the sandbox: subject, id, and what it is bound to."""
        sandbox_id, binding = self._bindings.sandbox_id, self._bindings.current
        bound = {"tenant": binding.tenant, "task": binding.task, "labels": dict(binding.labels) or None}
        return {"sub": self.issuer.subject(sandbox_id, binding), "sandbox_id": sandbox_id} | {
            name: value for name, value in bound.items() if value is not None
        }

    def issue(self, audiences: Sequence[str], claims: Mapping[str, Any] | None = None, ends_by: float | None = None) -> IssuedToken:
        """Sign a token for these audiences. `claims` replace those about the sandbox; it ends at `ends_by` at the latest.

        Raises a Failure while none may be issued.
        """
        self._may_issue()
        import jwt

        issued_at = int(self.now())
        expires_at = int(min(issued_at + self.issuer.seconds, ends_by or float("inf")))
        payload = {
            "iss": self.issuer.url,
            **(self.sandbox_claims() if claims is None else claims),
            "aud": audiences[0] if len(audiences) == 1 else list(audiences),
            "iat": issued_at,
            "nbf": issued_at,
            "exp": expires_at,
            "jti": secrets.token_hex(16),
        }
        key = self.keys.current()
        return IssuedToken(jwt.encode(payload, key.private, algorithm=ALGORITHM, headers={"kid": key.kid}), expires_at)

    def verify(self, token: str) -> dict[str, Any]:
        """Return the claims of a token of this sandbox's that was issued for it (its issuer is in `aud`).

        Raises Unauthenticated for every other one. The header's `kid` only chooses among our own keys.
        """
        import jwt

        if len(token) > MAX_TOKEN_CHARS:
            raise Unauthenticated(f"a token may have {MAX_TOKEN_CHARS} characters")
        try:
            header = jwt.get_unverified_header(token)
            jwk = next((each for each in self.keys.published() if each["kid"] == header.get("kid")), None)
            if jwk is None or header.get("alg") != ALGORITHM or "crit" in header:
                raise Unauthenticated(_INVALID)
            payload_of(token)
            found: dict[str, Any] = jwt.decode(
                token,
                jwt.PyJWK.from_dict(jwk).key,
                algorithms=[ALGORITHM],
                audience=self.issuer.url,
                issuer=self.issuer.url,
                options={"require": list(REQUIRED), "verify_exp": False, "verify_nbf": False, "verify_iat": False},
            )
        except (jwt.PyJWTError, RecursionError):
            raise Unauthenticated(_INVALID) from None
        if not found["nbf"] <= self.now() < found["exp"]:
            raise Unauthenticated(_INVALID)
        return found
