"""What verifiers read."""

import json

import pytest

from sandbox_server.core.operation import operations
from sandbox_server.features.auth.paths import OPEN
from sandbox_server.features.workload_identity.discovery import JWKS_PATH, METADATA_PATH, IdentityDiscovery
from tests.identities import URL, Identity, verified

pytestmark = pytest.mark.anyio


async def test_the_metadata_has_what_openid_connect_discovery_requires_of_an_issuer_of_id_tokens(identity: Identity) -> None:
    blob = await IdentityDiscovery(identity.issuer).get_openid_configuration()
    found = json.loads(blob.body)

    assert (found["issuer"], found["jwks_uri"]) == (URL, f"{URL}/.well-known/jwks.json")
    assert found["id_token_signing_alg_values_supported"] == ["RS256"]
    assert {"response_types_supported", "subject_types_supported"} < set(found)
    assert blob.headers["Cache-Control"] == "public, max-age=300"


async def test_the_key_set_verifies_a_token(identity: Identity) -> None:
    blob = await IdentityDiscovery(identity.issuer).get_jwks()
    keys = json.loads(blob.body)["keys"]

    assert verified(identity.token("vault"), keys, "vault")["sandbox_id"] == "box-1"
    assert all("d" not in key for key in keys)


def test_both_are_open_to_everybody_at_the_gateway_too(identity: Identity) -> None:
    specs = [each.spec for each in operations(IdentityDiscovery(identity.issuer))]

    assert {spec.scope for spec in specs} == {"public"}
    assert {spec.path for spec in specs} == {JWKS_PATH, METADATA_PATH} <= OPEN
