"""With a stand-in for 1Password Connect, which no registry that is reached here has."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sandbox_server.drivers.secrets.onepassword import OnePassword
from sandbox_server.drivers.secrets.sources import ValueUnavailable
from tests.drivers.secrets.conftest import Serve

pytestmark = pytest.mark.anyio
VAULT, ITEM = "v" * 26, "i" * 26
FIELDS = [{"id": "password", "label": "password", "value": "the-password"}, {"id": "x1", "label": "api key", "value": "the-key"}]


def respond(_: str, target: str, headers: dict[str, str], __: bytes) -> tuple[int, Any]:
    parts = urlsplit(target)
    if headers.get("authorization") != "Bearer token":
        return 401, {"status": 401}
    wanted = parse_qs(parts.query).get("filter", [""])[0]
    if parts.path == "/v1/vaults":
        return 200, [{"id": VAULT}] if wanted == 'name eq "My \\"vault\\""' else []
    if parts.path == f"/v1/vaults/{VAULT}/items":
        return 200, [{"id": ITEM}] * (2 if "twice" in wanted else 1)
    return (200, {"fields": FIELDS}) if parts.path == f"/v1/vaults/{VAULT}/items/{ITEM}" else (404, {})


async def test_a_field_is_found_by_ids_and_by_names(serve: Serve) -> None:
    address, server = await serve(respond)
    store = OnePassword(address, "token")
    assert (await store.fetch({"vault": VAULT, "item": ITEM})).value == "the-password"
    assert len(server.asked) == 1
    assert (await store.fetch({"vault": 'My "vault"', "item": "login", "field": "api key"})).value == "the-key"


@pytest.mark.parametrize(
    ("token", "place"),
    [
        ("wrong", {"vault": VAULT, "item": ITEM}),
        ("token", {"vault": "none", "item": ITEM}),
        ("token", {"vault": VAULT, "item": "twice"}),
        ("token", {"vault": VAULT, "item": "x" * 26}),
        ("token", {"vault": VAULT, "item": ITEM, "field": "none"}),
        ("token", {"vault": "../../admin", "item": ITEM}),
    ],
)
async def test_what_cannot_be_fetched_is_said(serve: Serve, token: str, place: dict[str, str]) -> None:
    address, _ = await serve(respond)
    with pytest.raises(ValueUnavailable) as refused:
        await OnePassword(address, token).fetch(place)
    assert "the-" not in str(refused.value).replace("the-password", "")
