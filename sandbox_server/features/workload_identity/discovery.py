"""What verifiers read: the issuer's metadata (OpenID Connect Discovery 1.0) and its keys (RFC 7517). Public, and cacheable."""

import asyncio
import json

from sandbox_server.core import Blob, operation
from sandbox_server.drivers.workload_identity.signing_keys import ALGORITHM
from sandbox_server.drivers.workload_identity.token_issuer import REQUIRED, TokenIssuer

CACHED = {"Cache-Control": "public, max-age=300"}
JWKS_PATH = "/.well-known/jwks.json"
METADATA_PATH = "/.well-known/openid-configuration"
_CLAIMS = (*REQUIRED, "sandbox_id", "tenant", "task", "labels", "act", "scope")


class IdentityDiscovery:
    """The issuer's documents."""

    tag = "identity"

    def __init__(self, issuer: TokenIssuer) -> None:
        self._issuer = issuer

    @operation(f"GET {METADATA_PATH}", scope="public", media_type="application/json")
    async def get_openid_configuration(self) -> Blob:
        """Describe the issuer of the sandbox's tokens, for verifiers."""
        url = self._issuer.issuer.url
        document = {
            "issuer": url,
            "jwks_uri": f"{url}{JWKS_PATH}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [ALGORITHM],
            "claims_supported": list(_CLAIMS),
        }
        return Blob(json.dumps(document).encode(), "application/json", CACHED)

    @operation(f"GET {JWKS_PATH}", scope="public", media_type="application/json")
    async def get_jwks(self) -> Blob:
        """List the public keys of the sandbox's tokens."""
        keys = await asyncio.to_thread(self._issuer.keys.published)
        return Blob(json.dumps({"keys": keys}).encode(), "application/json", CACHED)
