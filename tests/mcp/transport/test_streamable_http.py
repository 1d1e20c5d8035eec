"""The MCP surface as clients of every kind meet it, on a socket, in front of a real API process."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from sandbox_server.mcp.app import create_mcp_app
from sandbox_server.mcp.tools import api_tools
from tests.mcp.conftest import nothing_behind
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio

CALLER = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "view code files"}
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


@pytest.fixture(scope="module")
def mcp_url(api_socket: str, serving: Callable[..., Any]) -> Iterator[str]:
    with serving(create_mcp_app(api_socket, nothing_behind(), "1.2.3")) as url:
        yield url


@pytest.fixture
async def http(mcp_url: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=mcp_url, headers=CALLER, timeout=PATIENCE_SECONDS) as client:
        yield client


@asynccontextmanager
async def session_of(http: httpx2.AsyncClient) -> AsyncIterator[ClientSession]:
    """A session of the SDK's own client."""
    async with streamable_http_client(f"{http.base_url}/mcp", http_client=http) as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        yield session


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


INITIALIZE = message("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
ADD = message("tools/call", name="sample_add", arguments={"left": 2, "right": 3})


@pytest.mark.parametrize("path", ["/mcp", "/v1/mcp"])
@pytest.mark.parametrize("accept", ["application/json", "*/*", "application/json, text/event-stream", None])
async def test_a_call_needs_neither_a_session_nor_a_particular_accept_header(
    http: httpx2.AsyncClient, path: str, accept: str | None
) -> None:
    headers = {"Accept": accept} if accept else {}
    if not accept:
        del http.headers["accept"]

    answer = await http.post(path, json=ADD, headers=headers)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["structuredContent"] == {"total": 5}


async def test_a_call_without_a_session_leaves_none_behind(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/mcp", json=ADD)

    assert "mcp-session-id" not in answer.headers


async def test_a_session_answers_in_json_to_a_client_that_reads_no_events(http: httpx2.AsyncClient) -> None:
    opened = await http.post("/mcp", json=INITIALIZE, headers={"Accept": "application/json"})
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "Accept": "application/json"}
    called = await http.post("/mcp", json=ADD, headers=session)

    assert opened.json()["result"]["serverInfo"]["name"] == "tandem"
    assert called.headers["content-type"] == "application/json"
    assert called.json()["result"]["structuredContent"] == {"total": 5}


async def test_a_session_answers_in_events_to_a_client_that_reads_them(http: httpx2.AsyncClient) -> None:
    both = {"Accept": "application/json, text/event-stream"}
    opened = await http.post("/mcp", json=INITIALIZE, headers=both)
    called = await http.post("/mcp", json=ADD, headers={**both, "Mcp-Session-Id": opened.headers["mcp-session-id"]})

    [data] = [line for line in called.text.splitlines() if line.startswith("data:")]
    assert called.headers["content-type"].startswith("text/event-stream")
    assert json.loads(data.removeprefix("data:"))["result"]["structuredContent"] == {"total": 5}


async def test_a_deleted_session_is_gone(http: httpx2.AsyncClient) -> None:
    opened = await http.post("/mcp", json=INITIALIZE)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}

    assert (await http.delete("/mcp", headers=session)).status_code == 200
    assert (await http.post("/mcp", json=ADD, headers=session)).status_code == 404


async def test_a_session_belongs_to_who_opened_it(http: httpx2.AsyncClient) -> None:
    opened = await http.post("/mcp", json=INITIALIZE)
    stolen = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "X-Sandbox-Caller": "somebody else"}

    assert (await http.post("/mcp", json=ADD, headers=stolen)).status_code == 404


async def test_the_event_stream_of_a_session_opens(http: httpx2.AsyncClient) -> None:
    opened = await http.post("/mcp", json=INITIALIZE)
    headers = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "Accept": "text/event-stream"}

    async with http.stream("GET", "/mcp", headers=headers) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")


async def test_events_without_a_session_are_refused_as_not_offered(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/mcp", headers={"Accept": "text/event-stream"})

    assert answer.status_code == 405
    assert "initialize" in answer.json()["error"]["message"]


async def test_a_request_that_did_not_pass_the_gateway_is_refused(http: httpx2.AsyncClient) -> None:
    assert (await http.post("/mcp", json=ADD, headers={"X-Sandbox-Caller": ""})).status_code == 401


async def test_the_newest_protocol_works_without_a_session(http: httpx2.AsyncClient) -> None:
    call = message("tools/call", name="sample_add", arguments={"left": 2}, _meta=MODERN)
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "sample_add", "Accept": "application/json"}

    answer = await http.post("/mcp", json=call, headers=headers)

    assert answer.json()["result"]["structuredContent"] == {"total": 3}
    assert "mcp-session-id" not in answer.headers


async def test_a_ping_is_answered_without_a_session(http: httpx2.AsyncClient) -> None:
    assert (await http.post("/mcp", json=message("ping"))).json()["result"] == {}


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '"initialize"', '{"method": "initialize"}'])
async def test_a_body_that_is_no_message_is_a_clear_error(http: httpx2.AsyncClient, body: str) -> None:
    answer = await http.post("/mcp", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


async def test_a_form_post_is_refused_because_a_foreign_page_could_send_it(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/mcp", content=json.dumps(ADD), headers={"Content-Type": "text/plain"})

    assert answer.status_code == 400


async def test_the_sdk_client_lists_and_calls_tools(http: httpx2.AsyncClient) -> None:
    async with session_of(http) as session:
        names = [tool.name for tool in (await session.list_tools()).tools]
        called = await session.call_tool("sample_tree", {})

    assert "sample_tree" in names
    assert called.structured_content == {"name": "root", "branches": [{"name": "leaf", "branches": []}]}


async def test_a_long_call_reports_progress(http: httpx2.AsyncClient, sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sample.release.clear()
    monkeypatch.setattr(api_tools, "PROGRESS_SECONDS", 0.01)
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)
        sample.release.set()

    async with session_of(http) as session:
        called = await session.call_tool("sample_slow", {}, progress_callback=hear)

    assert called.structured_content == {"result": "done"}
    assert heard[0] == "running for 0 s"


async def test_an_unknown_tool_is_an_error_of_the_protocol(http: httpx2.AsyncClient) -> None:
    async with session_of(http) as session:
        with pytest.raises(MCPError, match="Unknown tool: nothing"):
            await session.call_tool("nothing", {})


async def test_calls_run_side_by_side(http: httpx2.AsyncClient, sample: Any) -> None:
    sample.release.clear()
    slow = message("tools/call", name="sample_slow", arguments={})
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: http.post("/mcp", json=slow))
        answer = await http.post("/mcp", json=ADD)
        sample.release.set()

    assert answer.json()["result"]["structuredContent"] == {"total": 5}


async def test_while_the_api_is_away_a_call_says_so(serving: Callable[..., Any], tmp_path: Path) -> None:
    with serving(create_mcp_app(str(tmp_path / "none.sock"), nothing_behind(), "1")) as url:
        async with httpx2.AsyncClient(base_url=url, headers=CALLER, timeout=PATIENCE_SECONDS) as client:
            called = (await client.post("/mcp", json=ADD)).json()
            listed = (await client.post("/mcp", json=message("tools/list"))).json()

    assert called["result"]["isError"] is True
    assert "starting" in called["result"]["content"][0]["text"]
    assert "starting" in listed["error"]["message"]
