"""With a stand-in for Vault, which no registry that is reached here has."""

from typing import Any

import pytest

from sandbox_server.drivers.secrets.sources import ValueUnavailable
from sandbox_server.drivers.secrets.vault import RENEW_SECONDS, Vault
from tests.drivers.secrets.conftest import Serve

pytestmark = pytest.mark.anyio
KV = {"data": {"data": {"token": "the-value", "value": "default"}, "metadata": {"version": 3}}, "lease_duration": 0}


def respond(method: str, target: str, headers: dict[str, str], _: bytes) -> tuple[int, Any]:
    if headers.get("x-vault-token") != "hvs.good" or headers.get("x-vault-request") != "true":
        return 403, {"errors": ["permission denied"]}
    if (method, target) == ("POST", "/v1/auth/token/renew-self"):
        return 400, {"errors": ["lease is not renewable"]}
    return (200, KV) if target in ("/v1/secret/data/team/app", "/v1/kv/data/team/app") else (404, {"errors": []})


async def test_a_field_of_a_secret_is_fetched(serve: Serve) -> None:
    address, server = await serve(respond)
    vault = Vault(f"{address}/", "hvs.good")
    assert (await vault.fetch({"path": "team/app", "field": "token"})).value == "the-value"
    assert (await vault.fetch({"path": "team/app", "mount": "kv"})).value == "default"
    assert [target for _, target in server.asked] == ["/v1/auth/token/renew-self", "/v1/secret/data/team/app", "/v1/kv/data/team/app"]


async def test_the_tokens_lease_is_renewed_after_a_while(serve: Serve) -> None:
    address, server = await serve(respond)
    now = 0.0
    vault = Vault(address, "hvs.good", clock=lambda: now)
    for at in (0.0, 1.0, RENEW_SECONDS):
        now = at
        await vault.fetch({"path": "team/app"})
    assert [target for method, target in server.asked if method == "POST"] == ["/v1/auth/token/renew-self"] * 2


async def test_a_namespace_is_said(serve: Serve) -> None:
    said: list[str | None] = []

    def keep(method: str, target: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        said.append(headers.get("x-vault-namespace"))
        return respond(method, target, headers, body)

    address, _ = await serve(keep)
    await Vault(address, "hvs.good", "team").fetch({"path": "team/app"})
    assert said == ["team", "team"]


@pytest.mark.parametrize(
    ("token", "place"), [("bad", {"path": "team/app"}), ("hvs.good", {"path": "no"}), ("hvs.good", {"path": "team/app", "field": "no"})]
)
async def test_what_cannot_be_fetched_is_said_without_the_token(serve: Serve, token: str, place: dict[str, str]) -> None:
    address, _ = await serve(respond)
    with pytest.raises(ValueUnavailable) as refused:
        await Vault(address, token).fetch(place)
    assert token not in str(refused.value)
