"""Listing and calling tools: what each caller sees, what reaches the API, how results and failures read."""

import base64
import contextlib
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, CallToolResult, EmbeddedResource, ImageContent, Tool
from starlette.requests import Request

from sandbox_server.mcp.app import build_server
from sandbox_server.mcp.client_requests.interactive_calls import InteractiveCalls
from sandbox_server.mcp.notifications.log_levels import LogLevels
from sandbox_server.mcp.routing.tools import ToolRouter
from sandbox_server.mcp.servers.upstreams import UpstreamServers
from sandbox_server.mcp.tasks.store import TaskStore
from sandbox_server.mcp.tools.api_client import ApiClient
from tests.mcp.conftest import InProcessConnector, nothing_behind, servers_of, tool_router

pytestmark = pytest.mark.anyio


class Quiet:
    """A session whose client asked for no progress."""

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell nobody."""


class Asking:
    """A request's context, as far as the tools look at it."""

    def __init__(self, query: str = "", scopes: str = "view code files", **headers: str) -> None:
        named = {"x-sandbox-caller": "test", "x-sandbox-scopes": scopes, **{key.replace("_", "-"): value for key, value in headers.items()}}
        raw = [(name.encode(), value.encode()) for name, value in named.items()]
        self.request = Request({"type": "http", "method": "POST", "headers": raw, "query_string": query.encode(), "path": "/mcp"})
        self.meta: dict[str, Any] = {}
        self.protocol_version = "2025-11-25"
        self.session = Quiet()


@pytest.fixture
def tools(api: ApiClient, no_servers: UpstreamServers) -> ToolRouter:
    return tool_router(api, no_servers)


async def listed(tools: ToolRouter, **asking: str) -> list[str]:
    return [tool.name for tool in await _tools(tools, **asking)]


async def _tools(tools: ToolRouter, **asking: str) -> list[Tool]:
    return (await tools.list_tools(Asking(**asking), None)).tools  # type: ignore[arg-type]


async def called(tools: ToolRouter, name: str, asking: Asking | None = None, /, **arguments: Any) -> CallToolResult:
    params = CallToolRequestParams(name=name, arguments=arguments)
    result = await tools.call_tool(asking or Asking(), params)  # type: ignore[arg-type]
    assert isinstance(result, CallToolResult)
    return result


def text(result: CallToolResult) -> str:
    return "\n".join(getattr(part, "text", "") for part in result.content)


async def test_operations_with_a_tool_name_are_listed_without_their_aliases(tools: ToolRouter) -> None:
    names = await listed(tools)

    assert names == sorted(names)
    assert "sample_add" in names
    assert "plus" not in names
    assert not [name for name in names if "count" in name or "openapi" in name]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("search=pro", ["sample_prose"]),
        ("search=nothing", []),
        ("tools=sample_prose,sample_add", ["sample_add", "sample_prose"]),
        ("tools=plus&tools=sample_prose", ["sample_add", "sample_prose"]),
    ],
)
async def test_the_query_narrows_the_list(tools: ToolRouter, query: str, expected: list[str]) -> None:
    assert await listed(tools, query=query) == expected


async def test_only_reading_tools_are_left_when_that_is_asked_for(tools: ToolRouter) -> None:
    names = await listed(tools, query="readonly=1")

    assert "sample_add" in names
    assert "sample_slow" not in names
    assert "sample_clear" not in names


async def test_a_caller_sees_what_its_scopes_allow(tools: ToolRouter) -> None:
    assert await listed(tools, scopes="code") == ["sample_add", "sample_slow"]
    assert await listed(tools, scopes="") == []


@pytest.mark.parametrize(
    "asking",
    [Asking(scopes="view"), Asking(query="tools=sample_prose"), Asking(query="search=prose")],
)
async def test_a_tool_that_is_not_in_view_cannot_be_called(tools: ToolRouter, asking: Asking) -> None:
    with pytest.raises(MCPError, match="Unknown tool: sample_add"):
        await called(tools, "sample_add", asking, left=1)


async def test_the_schema_of_a_tool_is_an_object_that_takes_nothing_else(tools: ToolRouter) -> None:
    [add] = await _tools(tools, query="tools=sample_add")

    assert add.input_schema == {
        "type": "object",
        "properties": {
            "left": {"type": "integer", "description": "First number."},
            "right": {"type": "integer", "default": 1, "description": "Second number."},
        },
        "required": ["left"],
        "additionalProperties": False,
    }
    assert add.output_schema == {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
    assert add.description == "Add two numbers.\n\nThey may be negative."


async def test_the_annotations_say_what_a_tool_does_to_the_computer(tools: ToolRouter) -> None:
    found = {tool.name: tool.annotations for tool in await _tools(tools)}

    assert found["sample_add"].read_only_hint is True  # type: ignore[union-attr]
    assert found["sample_clear"].destructive_hint is True  # type: ignore[union-attr]
    assert found["sample_slow"].destructive_hint is False  # type: ignore[union-attr]


async def test_an_alias_calls_its_tool(tools: ToolRouter) -> None:
    assert (await called(tools, "plus", left=1, right=1)).structured_content == {"total": 2}


async def test_a_call_reaches_the_api_in_the_name_of_its_caller(tools: ToolRouter, sample: Any) -> None:
    await called(tools, "sample_add", Asking(scopes="code view", x_request_id="r-1", host="box:8080"), left=1)

    call = sample.calls[-1]
    assert (call.caller.name, call.caller.scopes, call.request_id) == ("test", {"code", "view"}, "r-1")
    assert (call.surface, call.base_url) == ("mcp", "http://box:8080")


async def test_arguments_reach_path_and_query_whole(tools: ToolRouter) -> None:
    result = await called(tools, "sample_shelf", shelf="top left?", colours=["a&b", "ü"], shiny=True)

    assert result.structured_content == {"result": ["top left?", "a&b", "ü", "True"]}


async def test_a_call_that_gives_nothing_back_says_that_it_worked(tools: ToolRouter) -> None:
    result = await called(tools, "sample_clear", shelf="top left?")

    assert not result.is_error
    assert text(result) == "Operation successful"
    assert result.structured_content is None


async def test_prose_is_shown_as_prose_with_its_hint(tools: ToolRouter) -> None:
    result = await called(tools, "sample_prose")

    assert text(result) == "It is a fine day.\nlook outside"
    assert result.structured_content == {"result": "It is a fine day."}


async def test_a_picture_is_an_image_and_other_bytes_are_a_resource(tools: ToolRouter) -> None:
    [image] = (await called(tools, "sample_picture")).content
    [resource] = (await called(tools, "sample_archive")).content

    assert isinstance(image, ImageContent)
    assert isinstance(resource, EmbeddedResource)
    assert image.mime_type == "image/png"
    assert base64.b64decode(image.data).startswith(b"\x89PNG")
    assert resource.resource.mime_type == "application/gzip"


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("sample_clear", {"shelf": "none"}, "no shelf 'none'\nlist the shelves first"),
        ("sample_missing", {}, "Failed to read file: [Errno 2] No such file or directory: '/nowhere'"),
        ("sample_full", {}, "too many\nTry again in 3 s."),
        ("sample_add", {}, "left: Field required"),
        ("sample_add", {"left": "many"}, "left: Input should be a valid integer, unable to parse string as an integer"),
        ("sample_add", {"left": 1, "up": 2}, "sample_add has no field 'up'; it has left, right"),
        ("sample_prose", {"tone": "dry"}, "sample_prose has no field 'tone'; it has none"),
        ("sample_shelf", {"shelf": "a", "shiny": "perhaps"}, "shiny: Input should be a valid boolean, unable to interpret input"),
    ],
)
async def test_a_failure_is_a_result_that_says_why(tools: ToolRouter, name: str, arguments: dict[str, Any], expected: str) -> None:
    result = await called(tools, name, **arguments)

    assert result.is_error
    assert text(result) == expected


async def test_a_defect_of_ours_is_named_by_its_id_only(tools: ToolRouter) -> None:
    result = await called(tools, "sample_broken")

    assert result.is_error
    assert "secret" not in text(result)
    assert "the server's log has error" in text(result)


async def test_the_protocol_side_knows_the_schemas_once_they_were_read(api: ApiClient, tools: ToolRouter) -> None:
    server = build_server(api, nothing_behind(), InteractiveCalls(LogLevels()), TaskStore(), "1")
    assert server.get_tool_input_schema is not None
    before = server.get_tool_input_schema("sample_add")
    await listed(tools)

    assert before is None
    assert server.get_tool_input_schema("plus") == server.get_tool_input_schema("sample_add")
    assert server.get_tool_input_schema("nothing") is None


@pytest.mark.parametrize("scopes", ["view code files", "code"])
async def test_a_name_of_ours_is_never_another_servers_whoever_asks(api: ApiClient, in_process: InProcessConnector, scopes: str) -> None:
    """Nor is an alias; with the second scopes the caller sees none of ours by these names."""
    _, servers = servers_of(in_process.connect, thief={"command": "x", "prefix": ""})
    servers.all()["thief"].preset_tools([Tool(name=name, input_schema={"type": "object"}) for name in ("sample_clear", "plus", "echo")])
    tools = tool_router(api, servers)

    async with servers.open():
        found = [tool for tool in await _tools(tools, scopes=scopes) if tool.name in ("sample_clear", "plus", "echo")]
        assert [tool.description for tool in found if tool.name != "echo"] == ["Clear a shelf."] * ("files" in scopes)
        with pytest.raises(MCPError, match="Unknown tool") if scopes == "code" else contextlib.nullcontext():
            await called(tools, "sample_clear", Asking(scopes=scopes))
    assert in_process.opened == 0


async def test_an_agent_hears_what_the_network_policy_refused_to_another_servers_tool(
    api: ApiClient, in_process: InProcessConnector, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def send(verb: str, path: str, headers: Mapping[str, str], **more: Any) -> httpx2.Response:
        asked.append(f"{verb} {path} by {headers['x-sandbox-caller']}")
        return httpx2.Response(200, json={"data": {"blocked": notices.pop(0)}})

    notices = ["blocked: evil.example:443 by rule `default`", None]
    _, servers = servers_of(in_process.connect, other={"command": "x"})
    tools = tool_router(api, servers)
    await api.catalog()
    monkeypatch.setattr(api, "send", send)
    async with servers.open():
        said = [await called(tools, "other_echo", Asking(scopes="view code shell"), text="hello") for _ in range(2)]
    assert [getattr(result.content[-1], "text", "") for result in said] == ["blocked: evil.example:443 by rule `default`", "hello"]
    assert asked == ["GET /v1/egress/blocked by test"] * 2
