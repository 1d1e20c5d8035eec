from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ReadResourceRequestParams, Resource

from sandbox_server.mcp.resources import ApiResources
from sandbox_server.mcp.routing.resources import ResourceRouter
from sandbox_server.mcp.servers.upstreams import UpstreamServers
from tests.mcp.conftest import InProcessConnector, servers_of
from tests.mcp.routing.test_tools import Asking
from tests.mcp.test_resources import Answers

pytestmark = pytest.mark.anyio


def router(servers: UpstreamServers) -> ResourceRouter:
    return ResourceRouter(ApiResources(Answers()), servers)  # type: ignore[arg-type]


async def read(resources: ResourceRouter, uri: str, asking: Asking) -> Any:
    return await resources.read(asking, ReadResourceRequestParams(uri=uri))  # type: ignore[arg-type]


async def test_resources_of_all_are_listed_and_read_by_their_own_addresses(in_process: InProcessConnector) -> None:
    _, servers = servers_of(in_process.connect, sample={"command": "x"}, again={"command": "x"})
    resources, asking = router(servers), Asking(scopes="browser code")
    async with servers.open():
        listed: list[Resource] = (await resources.list_resources(asking, None)).resources  # type: ignore[arg-type]
        templates = (await resources.list_templates(asking, None)).resource_templates  # type: ignore[arg-type]
        own = await read(resources, "sandbox://screen", asking)
        foreign = await read(resources, "sample://note", asking)
        named = await read(resources, "sample://note/x", asking)

    assert {str(resource.uri) for resource in listed} == {"sandbox://screen", "sample://note"}
    assert "sample://note/{name}" in [template.uri_template for template in templates]
    assert own.contents[0].mime_type == "image/png"
    assert (foreign.contents[0].text, named.contents[0].text) == ("take note", "note x")


async def test_what_nobody_has_is_an_error(in_process: InProcessConnector) -> None:
    _, servers = servers_of(in_process.connect, sample={"command": "x"})
    async with servers.open():
        with pytest.raises(MCPError, match="Unknown resource"):
            await read(router(servers), "nobody://x", Asking(scopes="code"))
        with pytest.raises(MCPError, match="Unknown resource"):
            await read(router(servers), "sample://note", Asking(scopes="view"))


async def test_a_token_that_names_its_tools_reads_nothing(in_process: InProcessConnector) -> None:
    _, servers = servers_of(in_process.connect, sample={"command": "x"})
    asking = Asking(scopes="code browser", x_sandbox_tools="sample_echo")
    async with servers.open():
        assert (await router(servers).list_resources(asking, None)).resources == []  # type: ignore[arg-type]
        assert (await router(servers).list_templates(asking, None)).resource_templates == []  # type: ignore[arg-type]
        for uri in ("sandbox://screen", "sample://note"):
            with pytest.raises(MCPError, match="Unknown resource"):
                await read(router(servers), uri, asking)
