"""Access tokens of the owner's token endpoint."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from sandbox_server.core import Call, Caller, NotFound
from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.drivers.workload_identity.token_endpoint import OutsideToken, TokenEndpoint
from sandbox_server.features.workload_identity.outside_tokens import AccessTokenRequest, OutsideTokens
from sandbox_server.features.workload_identity.tokens import TOKENS_AT_ONCE, token_rate
from tests.identities import ACME, Identity, claims_in

pytestmark = pytest.mark.anyio


class Endpoint:
    """Remembers what it was given."""

    def __init__(self) -> None:
        self.given: list[tuple[str, str, dict[str, Any]]] = []

    async def access_token(self, subject: Callable[[], str], about: str, **parameters: str | None) -> OutsideToken:
        self.given.append((subject(), about, parameters))
        return OutsideToken("at-1", "Bearer", 1120.5, "read")


def made(identity: Identity, endpoint: Endpoint | None) -> OutsideTokens:
    return OutsideTokens(cast("TokenEndpoint | None", endpoint), "https://sts", identity.issuer, token_rate(), lambda: 1000.0)


async def test_the_sandbox_s_token_for_the_endpoint_is_exchanged(identity: Identity) -> None:
    endpoint = Endpoint()
    identity.bindings.bind(ACME)
    request = AccessTokenRequest(audience="git", scope="read")
    reply = await made(identity, endpoint).get_access_token(request, Call(Caller("agent"), "1"))

    assert reply.data.model_dump() == {"access_token": "at-1", "token_type": "Bearer", "expires_in": 120, "scope": "read"}
    assert reply.headers == {"Cache-Control": "no-store"}
    [(subject, about, parameters)] = endpoint.given
    assert claims_in(subject)["aud"] == "https://sts"
    assert about == claims_in(subject)["sub"] == identity.issuer.subject
    assert parameters == {"audience": "git", "resource": None, "scope": "read"}


async def test_without_an_endpoint_there_are_none(identity: Identity) -> None:
    with pytest.raises(NotFound):
        await made(identity, None).find("agent")


async def test_they_have_the_rate_of_tokens(identity: Identity) -> None:
    outside = made(identity, Endpoint())
    for _ in range(TOKENS_AT_ONCE):
        await outside.find("agent")
    with pytest.raises(ResourceExhausted):
        await outside.find("agent")


@pytest.mark.parametrize("text", ["", "a\n", "é", "x" * 1025])
def test_parameters_are_short_printable_text(text: str) -> None:
    for name in ("audience", "resource", "scope"):
        with pytest.raises(ValueError, match=name):
            AccessTokenRequest.model_validate({name: text})
