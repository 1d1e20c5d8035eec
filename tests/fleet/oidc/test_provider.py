"""A provider that others wrote, and one that is away, slow or hostile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tandem_fleet.errors import UnauthorizedError
from tandem_fleet.oidc import provider as module
from tandem_fleet.oidc.provider import MOST_BYTES, MOST_SIGN_INS, Provider, ProviderError

from tests.fleet.oidc.hostile_provider import HostileProvider, hostile_provider

pytestmark = pytest.mark.anyio
DISCOVERY = "/.well-known/openid-configuration"


@asynccontextmanager
async def _opened(told: HostileProvider, **changed: str) -> AsyncIterator[Provider]:
    provider = Provider(told.settings(**changed))
    try:
        yield provider
    finally:
        await provider.close()


async def test_a_browser_is_sent_with_state_nonce_and_a_challenge() -> None:
    async with hostile_provider() as told, _opened(told) as provider:
        asked = parse_qs(urlsplit(await provider.authorization_url("s", "n", "c")).query)
        wanted = {"state": ["s"], "nonce": ["n"], "code_challenge": ["c"], "code_challenge_method": ["S256"], "response_type": ["code"]}
        assert wanted.items() <= asked.items()
        assert await provider.end_session_url() == ""
        assert told.asked == [DISCOVERY]


async def test_a_key_that_was_rotated_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_SECONDS", 0.0)
    async with hostile_provider() as told, _opened(told) as provider:
        for number in ("one", "two"):
            told.rotate(number)
            told.documents["/token"] = {"id_token": told.token("n")}
            assert (await provider.claims("code", "v", "n"))["sub"] == "7"
        assert told.asked.count("/keys") == 2
        told.documents["/token"] = {"id_token": told.token("n")}
        told.number = "three"
        told.documents["/token"] = {"id_token": told.token("n")}
        with pytest.raises(UnauthorizedError, match="does not publish"):
            await provider.claims("code", "v", "n")


async def test_unknown_keys_do_not_have_the_provider_asked_each_time() -> None:
    async with hostile_provider() as told, _opened(told) as provider:
        told.documents["/keys"] = {"keys": []}
        told.documents["/token"] = {"id_token": told.token("n")}
        for _ in range(5):
            with pytest.raises(UnauthorizedError):
                await provider.claims("code", "v", "n")
        assert told.asked.count("/keys") == 1


@pytest.mark.parametrize(
    "document",
    [
        None,
        b"",
        b"[]",
        b"[" * 100_000,
        b'"' + b"x" * MOST_BYTES + b'"',
        {},
        {"issuer": "https://another.example"},
        {"jwks_uri": "file:///etc/passwd"},
        {"token_endpoint": "http://169.254.169.254/token"},
        {"token_endpoint": 7},
        {"end_session_endpoint": "javascript:alert(1)"},
    ],
)
async def test_a_discovery_document_that_cannot_be_used_is_refused(document: Any) -> None:
    async with hostile_provider() as told, _opened(told) as provider:
        partial = isinstance(document, dict) and document
        told.documents[DISCOVERY] = told.documents[DISCOVERY] | document if partial else document
        with pytest.raises(ProviderError):
            await provider.authorization_url("s", "n", "c")


async def test_one_that_does_not_answer_is_waited_for_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CALL_SECONDS", 0.1)
    async with hostile_provider() as told, _opened(told) as provider:
        told.hangs = True
        async with asyncio.timeout(10):
            with pytest.raises(ProviderError):
                await provider.authorization_url("s", "n", "c")


async def test_one_too_many_who_waits_is_refused_at_once() -> None:
    async with hostile_provider() as told, _opened(told) as provider:
        told.hangs = True
        waiting = [asyncio.create_task(provider.claims("code", "v", "n")) for _ in range(MOST_SIGN_INS + 1)]
        done, _ = await asyncio.wait(waiting, timeout=5, return_when=asyncio.FIRST_COMPLETED)
        assert [str(one.exception()) for one in done] == ["too many people sign in at this moment"]
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.parametrize("told_of", [{"sub": "8"}, {}, b"signed"])
async def test_claims_of_another_account_are_not_joined(told_of: Any) -> None:
    async with hostile_provider() as told, _opened(told) as provider:
        told.documents[DISCOVERY]["userinfo_endpoint"] = f"{told.issuer}/userinfo"
        told.documents["/token"] = {"id_token": told.token("n"), "access_token": "a"}
        told.documents["/userinfo"] = told_of
        with pytest.raises(ProviderError):
            await provider.claims("code", "v", "n")
        told.documents["/userinfo"] = {"sub": "7", "groups": ["root"], "email": "ann@example.org"}
        claims = await provider.claims("code", "v", "n")
        assert (claims["groups"], claims["email"]) == (["staff"], "ann@example.org")  # what is signed goes first


async def test_an_answer_of_another_issuer_is_refused() -> None:
    async with hostile_provider() as told, _opened(told) as provider:
        await provider.check_issuer(None)
        await provider.check_issuer(told.issuer)
        told.documents[DISCOVERY]["authorization_response_iss_parameter_supported"] = True
        for other in ("https://another.example", ""):
            with pytest.raises(UnauthorizedError):
                await provider.check_issuer(other)
    async with hostile_provider() as told, _opened(told) as provider:
        told.documents[DISCOVERY]["authorization_response_iss_parameter_supported"] = True
        with pytest.raises(UnauthorizedError):
            await provider.check_issuer(None)
