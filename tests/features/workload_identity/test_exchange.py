"""Token exchange, and what it refuses."""

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import jwt
import pytest

from sandbox_server.core import Call, Caller, Unauthenticated
from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.core.identity import ALL_SCOPES
from sandbox_server.drivers.workload_identity.audiences import AudienceRules
from sandbox_server.drivers.workload_identity.token_endpoint import ACCESS_TOKEN_TYPE, GRANT, JWT_TYPE
from sandbox_server.features.workload_identity.exchange import MAX_FORM, TokenExchange, VerifiedCaller
from sandbox_server.features.workload_identity.tokens import TOKENS_AT_ONCE, token_rate
from tests.identities import ACME, URL, Identity, claims_in, verified

pytestmark = pytest.mark.anyio

FORM = "application/x-www-form-urlencoded"
SANDBOX = "spiffe://example.org/sandbox/box-1"


class Sent:
    """A request's body."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def chunks(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._content), 1000):
            yield self._content[start : start + 1000]


class Desk:
    """The endpoint, with two callers: ann, whose token ends soon, and a sandbox's namesake."""

    def __init__(self, identity: Identity, *allowed: str) -> None:
        self.identity = identity
        self.callers = {
            "ann's": VerifiedCaller(Caller("ann@example.org", frozenset({"view", "shell", "admin", "control"})), identity.seconds + 60),
            "spiffe's": VerifiedCaller(Caller(SANDBOX, ALL_SCOPES), None),
        }
        self._exchange = TokenExchange(identity.issuer, AudienceRules(allowed, URL), token_rate(), self._verify)

    async def _verify(self, token: str) -> VerifiedCaller:
        if token not in self.callers:
            raise Unauthenticated("unknown")
        return self.callers[token]

    async def send(self, content: bytes, media_type: str = FORM, caller: str = "agent") -> tuple[int, dict[str, Any]]:
        reply = await self._exchange.exchange_token(Sent(content), Call(Caller(caller), "1", headers={"content-type": media_type}))
        assert reply.headers == {"Cache-Control": "no-store", "Pragma": "no-cache"}
        data: Any = reply.data
        return reply.status, dict(data) if isinstance(data, dict) else data.model_dump()

    async def ask(self, *more: tuple[str, str], **fields: str | None) -> tuple[int, dict[str, Any]]:
        given = {
            "grant_type": GRANT,
            "subject_token": self.identity.token(),
            "subject_token_type": JWT_TYPE,
            "audience": "vault",
        } | fields
        return await self.send(urlencode([*((name, value) for name, value in given.items() if value is not None), *more]).encode())

    async def on_behalf(self, token: str = "ann's", **fields: str | None) -> tuple[int, dict[str, Any]]:
        return await self.ask(subject_token=token, subject_token_type=ACCESS_TOKEN_TYPE, **fields)


@pytest.fixture
def desk(identity: Identity) -> Desk:
    return Desk(identity)


async def test_the_sandbox_s_token_becomes_one_for_another_audience(desk: Desk) -> None:
    status, answer = await desk.ask()
    found = verified(answer["access_token"], desk.identity.keys.published(), "vault")

    assert status == 200
    assert (found["sub"], "act" in found, "scope" in found) == (SANDBOX, False, False)
    assert (answer["issued_token_type"], answer["token_type"], answer["expires_in"]) == (JWT_TYPE, "N_A", 600)


async def test_of_a_caller_s_token_the_sandbox_is_always_the_actor(desk: Desk) -> None:
    status, answer = await desk.on_behalf()
    found = claims_in(answer["access_token"])

    assert status == 200
    assert (found["sub"], found["act"]) == ("urn:tandem:caller:ann@example.org", {"sub": SANDBOX})
    assert not {"sandbox_id", "tenant"} & set(found)


async def test_a_caller_whose_name_is_a_sandbox_s_does_not_become_it(desk: Desk) -> None:
    _, answer = await desk.on_behalf("spiffe's")
    assert claims_in(answer["access_token"])["sub"] == "urn:tandem:caller:spiffe:%2F%2Fexample.org%2Fsandbox%2Fbox-1"


async def test_scopes_are_narrowed_and_never_those_of_the_owner(desk: Desk) -> None:
    assert (await desk.on_behalf())[1]["scope"] == "shell view"
    assert (await desk.on_behalf(scope="view"))[1]["scope"] == "view"
    for scope in ("files", "admin", "control", "view admin", "view\tshell", " ", "é"):
        status, answer = await desk.on_behalf(scope=scope)
        assert (status, answer["error"]) == (400, "invalid_scope")


async def test_a_new_token_ends_no_later_than_the_old_one(desk: Desk) -> None:
    _, answer = await desk.on_behalf()
    assert answer["expires_in"] == 60
    assert claims_in(answer["access_token"])["exp"] == desk.identity.seconds + 60


async def test_a_caller_may_act_for_the_sandbox_and_is_named(desk: Desk) -> None:
    status, answer = await desk.ask(actor_token="ann's", actor_token_type=ACCESS_TOKEN_TYPE)
    found = claims_in(answer["access_token"])

    assert status == 200
    assert (found["sub"], found["act"]) == (SANDBOX, {"sub": "urn:tandem:caller:ann@example.org"})


async def test_the_chain_of_actors_is_kept_and_bounded(desk: Desk) -> None:
    actor = {"actor_token": "ann's", "actor_token_type": ACCESS_TOKEN_TYPE}
    token = desk.identity.token()
    for depth in range(1, 5):
        _, answer = await desk.ask(subject_token=token, audience=URL, **actor)
        token = answer["access_token"]
        assert json.dumps(claims_in(token)["act"]).count("sub") == depth
    status, answer = await desk.ask(subject_token=token, audience=URL, **actor)
    assert (status, answer["error"]) == (400, "invalid_request")


async def test_a_token_from_before_the_binding_is_not_exchanged(desk: Desk) -> None:
    before = desk.identity.token()
    desk.identity.bindings.bind(ACME)

    status, answer = await desk.ask(subject_token=before)
    assert (status, answer["error"]) == (400, "invalid_request")
    assert claims_in((await desk.ask())[1]["access_token"])["tenant"] == "acme"


async def test_an_audience_that_is_not_allowed_is_an_invalid_target(identity: Identity) -> None:
    desk = Desk(identity, "vault")
    for fields in ({"audience": "sts.amazonaws.com"}, {"audience": "a b"}, {"resource": "https://api.example.org"}):
        status, answer = await desk.ask(**fields)
        assert (status, answer["error"]) == (400, "invalid_target")
    assert (await desk.ask(("audience", "sts.amazonaws.com")))[1]["error"] == "invalid_target"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"grant_type": None}, "invalid_request"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"subject_token": None}, "invalid_request"),
        ({"subject_token": ""}, "invalid_request"),
        ({"subject_token_type": None}, "invalid_request"),
        ({"subject_token_type": "urn:ietf:params:oauth:token-type:saml2"}, "invalid_request"),
        ({"subject_token": "nobody's", "subject_token_type": ACCESS_TOKEN_TYPE}, "invalid_request"),
        ({"audience": None}, "invalid_request"),
        ({"actor_token": "ann's"}, "invalid_request"),
        ({"actor_token_type": JWT_TYPE}, "invalid_request"),
        ({"requested_token_type": "urn:ietf:params:oauth:token-type:saml2"}, "invalid_request"),
    ],
)
async def test_refusals_have_the_form_of_oauth(desk: Desk, fields: dict[str, str | None], error: str) -> None:
    status, answer = await desk.ask(**fields)
    assert (status, set(answer), answer["error"]) == (400, {"error", "error_description"}, error)


async def test_tokens_that_are_not_ours_are_refused(desk: Desk) -> None:
    identity = desk.identity
    forged = [identity.forged(), identity.token("vault"), identity.forged(key="k" * 32, algorithm="HS256"), "x.y.z"]
    forged += [jwt.encode(claims_in(identity.token()), "", algorithm="none")]
    for token in forged:
        status, answer = await desk.ask(subject_token=token)
        assert (status, answer["error_description"]) == (400, "subject_token is not valid")
    status, answer = await desk.ask(subject_token="ann's", subject_token_type=ACCESS_TOKEN_TYPE, actor_token="x", actor_token_type=JWT_TYPE)
    assert (status, answer["error_description"]) == (400, "actor_token is not valid")


async def test_two_tokens_of_the_same_kind_delegate_nothing(desk: Desk) -> None:
    status, _ = await desk.ask(actor_token=desk.identity.token(), actor_token_type=JWT_TYPE)
    assert status == 400


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"", FORM),
        (b"grant_type", FORM),
        (b"grant_type=%ff", FORM),
        ("grant_type=é".encode(), FORM),
        (b"grant_type=a&grant_type=b", FORM),
        (b"&".join(b"a%d=1" % number for number in range(40)), FORM),
        (b"a=" + b"x" * (MAX_FORM + 1), FORM),
        (b'{"grant_type": "x"}', "application/json"),
        (b"grant_type=x", ""),
    ],
)
async def test_a_body_that_is_no_form_is_refused(desk: Desk, content: bytes, media_type: str) -> None:
    status, answer = await desk.send(content, media_type)
    assert (status, answer["error"]) == (400, "invalid_request")


async def test_no_refusal_repeats_a_token(desk: Desk) -> None:
    secret = desk.identity.token("vault")
    for fields in ({"subject_token": secret}, {"actor_token": secret, "actor_token_type": JWT_TYPE}, {"scope": secret}):
        _, answer = await desk.ask(**fields)
        assert secret not in json.dumps(answer)


async def test_exchanges_have_a_rate(desk: Desk) -> None:
    for _ in range(TOKENS_AT_ONCE):
        await desk.send(b"")
    with pytest.raises(ResourceExhausted):
        await desk.send(b"", caller="agent#ticket")
