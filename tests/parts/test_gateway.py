"""What the gateway asks of the server."""

import pytest

from sandbox_server.drivers.box.isolation import UNKNOWN, Isolation
from sandbox_server.parts import gateway
from sandbox_server.parts.shared import Shared, liveness_of
from sandbox_server.settings import load

LITTLE = {"DISABLE_DESKTOP": "1", "DISABLE_MCP": "1", "DISABLE_BROWSER": "1"}


pytestmark = pytest.mark.anyio


def test_readiness_asks_for_every_component_that_was_not_left_out() -> None:
    assert set(gateway.component_sockets(load({}))) == {"gateway", "mcp", "browser", "desktop", "desktop-bus", "stream", "vnc"}
    assert set(gateway.component_sockets(load(LITTLE))) == {"gateway"}


async def test_readiness_asks_the_daemons_themselves() -> None:
    assert set(await liveness_of(load({}), UNKNOWN).states()) == {"spawner"}
    assert set(await liveness_of(load({}), Isolation("box", "")).states()) == {"spawner", "box"}


def test_every_call_is_written_down_before_it_may_be_refused() -> None:
    shared = Shared(load({}))
    part = gateway.part(shared)

    assert part.guards[0] is shared.audit
    assert [feature.tag for feature in part.features] == ["auth", "auth", "health", "recorder"]


def test_keys_for_tokens_come_from_everywhere_that_the_settings_name(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load({"JWT_JWKS_URL": "https://issuer.example/keys", "JWT_JWKS_FILE": "/keys.json"})

    assert [type(source).__name__ for source in gateway._token_keys(settings)] == ["JwksUrl", "JwksFile"]
    assert list(gateway._token_keys(load({}))) == []
