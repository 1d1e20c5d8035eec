"""What the gateway asks of the server."""

from sandbox_server.composition import gateway
from sandbox_server.settings import load
from tests.composition.made import first

LITTLE = {"DISABLE_DESKTOP": "1", "DISABLE_MCP": "1", "DISABLE_BROWSER": "1"}


def test_readiness_asks_for_every_component_that_was_not_left_out() -> None:
    assert set(gateway.component_sockets(load({}))) == {"gateway", "mcp", "browser", "desktop", "desktop-bus", "stream", "vnc"}
    assert set(gateway.component_sockets(load(LITTLE))) == {"gateway"}


def test_the_gateways_part_has_authentication_sessions_keys_invitations_and_health() -> None:
    assert [feature.tag for feature in first().gateway.part.features] == ["auth", "auth", "auth", "auth", "health"]


def test_the_gateway_asks_the_desk_which_requests_are_open() -> None:
    made = first()

    assert made.gateway.part.features[0]._credentials._is_asked == made.handoffs.queue.is_open  # type: ignore[attr-defined]


def test_keys_for_tokens_come_from_everywhere_that_the_settings_name() -> None:
    settings = load({"JWT_JWKS_URL": "https://issuer.example/keys", "JWT_JWKS_FILE": "/keys.json"})

    assert [type(source).__name__ for source in gateway._token_keys(settings)] == ["JwksUrl", "JwksFile"]
    assert list(gateway._token_keys(load({}))) == []
