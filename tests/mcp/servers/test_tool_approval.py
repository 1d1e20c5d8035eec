"""Whether a tool of an upstream server may be called, as the API says."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from sandbox_server.core.approval import ApprovalDenied
from sandbox_server.core.errors import Unavailable
from sandbox_server.core.identity import SERVER, Caller
from sandbox_server.mcp.client_requests.clients import PlainHttpClient
from sandbox_server.mcp.routing.tools import call_upstream_tool
from sandbox_server.mcp.servers.tool_approval import ToolApproval
from sandbox_server.mcp.servers.upstreams import UpstreamServers, upstream_tools
from tests.mcp.conftest import InProcessConnector, servers_of

pytestmark = pytest.mark.anyio

HEADERS = {name.lower(): value for name, value in Caller("robot", frozenset({"code"}), ("x",)).headers().items()}
DENIED = {"success": False, "message": "ann denied this", "hint": "ask", "kind": "approval_denied"}


@asynccontextmanager
async def api(folder: Path, status: int, answer: object, heard: list[str]) -> AsyncIterator[ToolApproval]:
    """An API that answers this to anything, and what it hears."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line.partition(":")[2]) for line in head.lower().splitlines() if line.startswith("content-length"))
        heard.extend((head, (await reader.readexactly(length)).decode()))
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        writer.write(f"HTTP/1.1 {status} X\r\n\r\n".encode() + body)
        writer.close()

    async with await asyncio.start_unix_server(serve, folder / "api.sock"):
        yield ToolApproval(str(folder / "api.sock"))


async def test_the_api_is_asked_with_the_caller_and_the_call(tmp_path: Path) -> None:
    heard: list[str] = []
    async with api(tmp_path, 200, {"success": True}, heard) as approve:
        await approve(HEADERS, "github", "create_issue", "github_create_issue", {"title": "x"})
    assert heard[0].startswith("POST /v1/approvals/tool ")
    caller = Caller.from_headers(
        {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in heard[0].splitlines()[1:])}
    )
    assert caller == Caller("robot", frozenset({"code", SERVER}))
    assert json.loads(heard[1]) == {"server": "github", "tool": "create_issue", "name": "github_create_issue", "arguments": {"title": "x"}}


async def test_a_refusal_is_passed_on(tmp_path: Path) -> None:
    async with api(tmp_path, 403, DENIED, []) as approve:
        with pytest.raises(ApprovalDenied, match="ann denied this") as denied:
            await approve(HEADERS, "github", "create_issue", "github_create_issue", {})
    assert denied.value.hint == "ask"


@pytest.mark.parametrize(("status", "answer"), [(500, {"message": "broken"}), (200 + 1, b""), (403, b"no JSON"), (429, [])])
async def test_any_other_answer_calls_nothing(tmp_path: Path, status: int, answer: object) -> None:
    async with api(tmp_path, status, answer, []) as approve:
        with pytest.raises((Unavailable, ApprovalDenied)):
            await approve(HEADERS, "github", "create_issue", "github_create_issue", {})


async def test_without_an_api_or_a_caller_nothing_is_called(tmp_path: Path) -> None:
    approve = ToolApproval(str(tmp_path / "none.sock"))
    for headers in (HEADERS, {}):
        with pytest.raises(Unavailable):
            await approve(headers, "github", "create_issue", "github_create_issue", {})


async def test_a_tool_that_is_not_approved_does_not_reach_its_server(in_process: InProcessConnector) -> None:
    asked: list[tuple[str, ...]] = []

    async def approve(headers: Mapping[str, str], server: str, tool: str, name: str, arguments: Mapping[str, Any]) -> None:
        asked.append((server, tool, name))
        raise ApprovalDenied("ann denied this")

    sources, _ = servers_of(in_process.connect, sample={"command": "x"})
    servers = UpstreamServers(sources, in_process.connect, idle_seconds=0, approve=approve)
    request = Request({"type": "http", "headers": [(name.encode(), value.encode()) for name, value in HEADERS.items()]})
    async with servers.open():
        upstream = servers.all()["sample"]
        tool = next(iter(upstream_tools(upstream, await upstream.tools())))
        with pytest.raises(ApprovalDenied):
            await call_upstream_tool(request, tool, {}, PlainHttpClient())
    assert asked == [("sample", tool.tool.name, tool.name)]
