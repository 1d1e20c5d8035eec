from pathlib import Path

from starlette.testclient import TestClient

from sandbox_server import app
from sandbox_server.core.openapi import document
from sandbox_server.drivers.isolation import UNKNOWN, Isolation
from sandbox_server.settings import load

SIGNED_IN = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "view"}


def test_composing_opens_nothing() -> None:
    product = app.compose(load({}))

    assert len(list(app.every_operation(product.features))) > 0


def test_no_two_operations_answer_one_route_or_share_a_tool_name() -> None:
    operations = list(app.every_operation(app.compose(load({})).features))
    routes = [(op.spec.verb, op.spec.path) for op in operations]
    tools = [name for op in operations for name in (op.spec.tool, *op.spec.aliases) if name]

    assert len(routes) == len(set(routes))
    assert len(tools) == len(set(tools))


def test_every_operation_can_be_described() -> None:
    operations = list(app.every_operation(app.compose(load({})).features))

    described = document(operations, title="x", version="1")

    assert set(described["paths"]) == {op.spec.path for op in operations if not op.spec.socket}


def test_a_request_that_did_not_pass_the_gateway_is_refused(tmp_path: Path) -> None:
    client = TestClient(app.create(load({})))

    assert client.get("/v1/openapi.json").status_code == 401
    assert client.get("/v1/openapi.json", headers=SIGNED_IN).status_code == 200


def test_only_health_needs_nobody() -> None:
    operations = app.every_operation(app.compose(load({})).features)
    public = {op.spec.path for op in operations if op.spec.scope == "public"}

    assert public <= {"/healthz", "/readyz", "/auth"}


def test_readiness_asks_for_every_component_that_was_not_left_out() -> None:
    everything = {"gateway", "spawner", "mcp", "browser", "desktop", "desktop-bus", "stream", "vnc"}
    little = load({"DISABLE_DESKTOP": "1", "DISABLE_MCP": "1", "DISABLE_BROWSER": "1"})
    assert set(app.component_sockets(load({}), UNKNOWN)) == everything
    assert set(app.component_sockets(load({}), Isolation("box", ""))) == everything | {"box"}
    assert set(app.component_sockets(little, UNKNOWN)) == {"gateway", "spawner"}
