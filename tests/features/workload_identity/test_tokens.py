"""Tokens by the API."""

import pytest

from sandbox_server.core import Call, Caller, InvalidArgument, PermissionDenied
from sandbox_server.core.dispatch import Dispatcher, InvalidFields, require_scope
from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.core.operation import operations
from sandbox_server.drivers.workload_identity.audiences import AudienceRules
from sandbox_server.features.auth.credentials import AGENT_SCOPES
from sandbox_server.features.workload_identity.tokens import TOKENS_AT_ONCE, IdentityTokens, TokenDesk, TokenRequest, token_rate
from tests.identities import ACME, URL, Identity, claims_in

pytestmark = pytest.mark.anyio

AGENT = Call(Caller("agent", AGENT_SCOPES), "1")


def feature(identity: Identity, *allowed: str) -> IdentityTokens:
    return IdentityTokens(TokenDesk(identity.issuer, AudienceRules(allowed, URL), token_rate()), identity.bindings)


async def called(made: IdentityTokens, name: str, scopes: set[str], **fields: object) -> object:
    found = next(each for each in operations(made) if each.spec.name == name)
    return await Dispatcher([require_scope]).call(found, fields, Call(Caller("someone", frozenset(scopes)), "1"))


async def test_an_agent_gets_a_token_that_no_cache_keeps(identity: Identity) -> None:
    reply = await feature(identity).get_identity_token(TokenRequest(audience=["vault"]), AGENT)

    assert claims_in(reply.data.token)["aud"] == "vault"
    assert reply.data.expires_at == identity.seconds + 600
    assert reply.headers == {"Cache-Control": "no-store"}


async def test_a_token_needs_the_scope_of_shells_and_rotation_that_of_admins(identity: Identity) -> None:
    made = feature(identity)
    with pytest.raises(PermissionDenied):
        await called(made, "get_identity_token", {"view", "files", "browser", "code"}, audience=["vault"])
    with pytest.raises(PermissionDenied):
        await called(made, "rotate_identity_key", set(AGENT_SCOPES))
    assert await called(made, "get_identity_token", {"shell"}, audience=["vault"])
    assert await called(made, "rotate_identity_key", {"admin"})


@pytest.mark.parametrize("audience", [None, [], ["a"] * 5, "vault", [1]])
async def test_fields_that_are_none_are_refused(identity: Identity, audience: object) -> None:
    with pytest.raises((InvalidFields, InvalidArgument)):
        await called(feature(identity), "get_identity_token", {"shell"}, **({} if audience is None else {"audience": audience}))


async def test_an_audience_that_the_owner_does_not_list_is_refused(identity: Identity) -> None:
    made = feature(identity, "vault")
    with pytest.raises(PermissionDenied):
        await made.get_identity_token(TokenRequest(audience=["vault", "sts.amazonaws.com"]), AGENT)


async def test_tickets_of_one_program_share_its_rate(identity: Identity) -> None:
    made = feature(identity)
    for number in range(TOKENS_AT_ONCE):
        await made.get_identity_token(TokenRequest(audience=["a"]), Call(Caller(f"agent#{number}", AGENT_SCOPES), "1"))
    with pytest.raises(ResourceExhausted):
        await made.get_identity_token(TokenRequest(audience=["a"]), AGENT)


async def test_the_identity_is_described_without_a_secret(identity: Identity) -> None:
    made = feature(identity)
    identity.bindings.bind(ACME)
    await made.rotate_identity_key()
    reply = await made.get_identity()

    assert reply.data.subject == claims_in(identity.token())["sub"]
    assert (reply.data.issuer, reply.data.tenant, reply.data.task, reply.data.labels) == (URL, "acme", "t-1", {"team": "search"})
    assert (reply.data.etag, reply.headers) == ('"1"', {"ETag": '"1"'})
    assert len(reply.data.key_ids) == 2
    assert reply.data.key_ids[0] == identity.keys.current().kid
