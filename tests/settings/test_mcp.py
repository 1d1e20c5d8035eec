import json

import pytest

from sandbox_server.settings import BadSettings, load, without_secrets
from sandbox_server.settings.mcp import servers_in

SERVERS = {"one": {"command": "x", "env": {"KEY": "s3cret"}}}


@pytest.mark.parametrize("value", [json.dumps(SERVERS), json.dumps({"mcpServers": SERVERS}), "/etc/servers.json"])
def test_servers_are_given_as_json_or_by_a_path(value: str) -> None:
    extra = load({"EXTRA_MCP_SERVERS": value}).mcp.extra

    assert extra
    assert extra.reveal() == value


@pytest.mark.parametrize("value", ["servers.json", "[]", '{"one": 1}', '{"mcpServers": {"one": "x"}}'])
def test_what_is_neither_stops_the_boot_with_the_variables_name(value: str) -> None:
    with pytest.raises(BadSettings, match="EXTRA_MCP_SERVERS"):
        load({"EXTRA_MCP_SERVERS": value})


def test_the_variable_is_a_secret() -> None:
    environ = {"EXTRA_MCP_SERVERS": json.dumps(SERVERS)}

    assert without_secrets(environ) == {}
    assert "s3cret" not in repr(load(environ))


def test_a_document_may_have_servers_at_the_top() -> None:
    assert servers_in(SERVERS) == servers_in({"mcpServers": SERVERS, "other": 1}) == SERVERS
