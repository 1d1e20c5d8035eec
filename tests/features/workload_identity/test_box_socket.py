"""What the socket in the box answers."""

import pytest

from sandbox_server.core import InvalidArgument, PermissionDenied
from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.drivers.workload_identity.audiences import AudienceRules
from sandbox_server.drivers.workload_identity.token_socket import SocketAnswer, SocketRequest
from sandbox_server.features.workload_identity.box_socket import BoxAnswers
from sandbox_server.features.workload_identity.git_credentials import GitCredential, GitCredentials
from sandbox_server.features.workload_identity.tokens import TOKENS_AT_ONCE, TokenDesk, token_rate
from tests.identities import URL, Identity, claims_in

pytestmark = pytest.mark.anyio


async def password(host: str) -> GitCredential:
    return GitCredential("git", f"for {host}", 5.0)


@pytest.fixture
def answers(identity: Identity) -> BoxAnswers:
    desk = TokenDesk(identity.issuer, AudienceRules(("vault",), URL), token_rate())
    return BoxAnswers(desk, GitCredentials(("git.example",), password))


def asked(path: str, *, text: bool = False, **query: list[str]) -> SocketRequest:
    return SocketRequest(path, query, text)


async def test_a_token_is_given_as_an_object_or_as_text(answers: BoxAnswers, identity: Identity) -> None:
    found = await answers(asked("/token", audience=["vault"]))
    plain = await answers(asked("/token", text=True, audience=["vault"]))

    assert found
    assert plain
    assert isinstance(found.body, dict)
    assert claims_in(found.body["token"])["aud"] == "vault"
    assert isinstance(plain.body, str)
    assert claims_in(plain.body)["exp"] == found.body["expires_at"]


async def test_the_rules_of_audiences_and_rates_hold_here_too(answers: BoxAnswers) -> None:
    with pytest.raises(PermissionDenied):
        await answers(asked("/token", audience=["sts.amazonaws.com"]))
    with pytest.raises(InvalidArgument):
        await answers(asked("/token"))
    for _ in range(TOKENS_AT_ONCE):
        await answers(asked("/token", audience=["vault"]))
    with pytest.raises(ResourceExhausted):
        await answers(asked("/token", audience=["vault"]))


async def test_git_gets_its_password(answers: BoxAnswers) -> None:
    found = await answers(asked("/git-credential", protocol=["https"], host=["git.example"]))
    assert found == SocketAnswer({"username": "git", "password": "for git.example", "expires_at": 5.0})
    assert await answers(asked("/git-credential", protocol=["http"], host=["git.example"])) is None


async def test_what_is_asked_twice_or_is_not_there_is_refused(answers: BoxAnswers) -> None:
    assert await answers(asked("/")) is None
    with pytest.raises(InvalidArgument):
        await answers(asked("/git-credential", protocol=["https"], host=["git.example", "evil.example"]))
