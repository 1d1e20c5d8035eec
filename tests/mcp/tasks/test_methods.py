"""Tasks over HTTP, of both generations of the protocol: requests to a person in front of a real API."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.mcp.tools.test_human_in_the_loop import ANN, answers, open_one
from tests.mcp.tools.test_human_in_the_loop import ann as ann
from tests.mcp.tools.test_human_in_the_loop import api as api
from tests.mcp.tools.test_human_in_the_loop import url as url
from tests.patience import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.anyio

AGENT = {"X-Sandbox-Caller": "agent", "X-Sandbox-Scopes": "view code"}
ASKED = {"kind": "choice", "reason": "Which seat?", "choices": ["aisle", "window"]}
EXTENSION = "io.modelcontextprotocol/tasks"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}},
}


class Client:
    """A client of either generation, without a session."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def send(self, method: str, caller: dict[str, str] | None = None, **params: Any) -> dict[str, Any]:
        """Send a message as the older generation does; the whole answer."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        found: dict[str, Any] = (await self._http.post("/mcp", json=body, headers=caller or AGENT)).json()
        return found

    async def send_modern(self, method: str, meta: dict[str, Any] = META, **params: Any) -> dict[str, Any]:
        """Send a message of 2026-07-28; the whole answer."""
        named = params.get("name") or params.get("taskId")
        headers = AGENT | {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method} | ({"Mcp-Name": named} if named else {})
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        found: dict[str, Any] = (await self._http.post("/mcp", json=body, headers=headers)).json()
        return found

    async def start(self, **more: Any) -> dict[str, Any]:
        """Ask a person by a task."""
        answer = await self.send("tools/call", name="request_human", arguments=ASKED, task={"ttl": 600_000, **more})
        task: dict[str, Any] = answer["result"]["task"]
        return task


@pytest.fixture
async def client(url: str) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE_SECONDS) as http:
        yield Client(http)


async def handoffs(ann: httpx2.AsyncClient, status: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await ann.get("/v1/handoffs", params={"status": status})).json()["data"]
    return found


async def test_a_call_by_a_task_is_answered_at_once_and_its_result_waits_for_the_person(client: Client, ann: httpx2.AsyncClient) -> None:
    task = await client.start()
    assert (task["status"], task["ttl"]) == ("working", 600_000)
    handoff = await open_one(ann)
    noted = await eventually(lambda: message_with(client, task["taskId"], handoff))
    assert noted

    waiting = asyncio.create_task(client.send("tasks/result", taskId=task["taskId"]))
    await answers(ann, choice="window")
    result = (await waiting)["result"]

    assert result["structuredContent"]["choice"] == "window"
    assert result["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": task["taskId"]}
    assert (await client.send("tasks/get", taskId=task["taskId"]))["result"]["status"] == "completed"
    assert [each["taskId"] for each in (await client.send("tasks/list"))["result"]["tasks"]] == [task["taskId"]]


async def message_with(client: Client, task: str, handoff: str) -> bool:
    shown = (await client.send("tasks/get", taskId=task))["result"]
    return handoff in shown.get("statusMessage", "")


async def test_to_cancel_a_task_withdraws_the_request_to_the_person(client: Client, ann: httpx2.AsyncClient) -> None:
    task = await client.start()
    handoff = await open_one(ann)

    cancelled = await client.send("tasks/cancel", taskId=task["taskId"])

    assert cancelled["result"]["status"] == "cancelled"
    [closed] = await handoffs(ann, "closed")
    assert (closed["id"], closed["outcome"]) == (handoff, "cancelled")
    again = await client.send("tasks/cancel", taskId=task["taskId"])
    assert (again["error"]["code"], again["error"]["message"]) == (-32602, "the task has ended already: it is cancelled")
    assert (await client.send("tasks/result", taskId=task["taskId"]))["error"]["message"] == "the task was cancelled"


async def test_a_task_cancelled_while_it_asks_leaves_nothing_open(client: Client, ann: httpx2.AsyncClient) -> None:
    task = await client.start()
    await client.send("tasks/cancel", taskId=task["taskId"])

    assert await handoffs(ann, "open") == []


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
async def test_the_id_of_anothers_task_is_worth_nothing(client: Client, ann: httpx2.AsyncClient, method: str) -> None:
    task = await client.start()
    await open_one(ann)
    other = AGENT | {"X-Sandbox-Caller": "other"}
    narrower = AGENT | {"X-Sandbox-Scopes": "code"}
    listing = AGENT | {"X-Sandbox-Tools": "sandbox_get_context"}

    for caller in (other, narrower, listing, ANN):
        refused = await client.send(method, caller, taskId=task["taskId"])
        unknown = await client.send(method, caller, taskId="no such task")
        assert refused["error"]["code"] == -32602
        assert refused["error"] == unknown["error"]
        assert (await client.send("tasks/list", caller))["result"]["tasks"] == []
    assert len(await handoffs(ann, "open")) == 1
    assert (await client.send("tasks/get", taskId=task["taskId"]))["result"]["status"] == "working"


async def test_the_list_has_pages_and_refuses_a_cursor_that_is_not_its_own(client: Client) -> None:
    started = [(await client.start())["taskId"] for _ in range(51)]

    first = (await client.send("tasks/list"))["result"]
    second = (await client.send("tasks/list", cursor=first["nextCursor"]))["result"]

    assert [each["taskId"] for page in (first, second) for each in page["tasks"]] == started
    assert "nextCursor" not in second
    assert (await client.send("tasks/list", cursor="elsewhere"))["error"]["code"] == -32602


async def test_a_caller_with_too_many_tasks_is_told(client: Client) -> None:
    for _ in range(64):
        await client.start()

    refused = await client.send("tools/call", name="request_human", arguments=ASKED, task={})

    assert refused["result"]["isError"] is True
    assert "agent has reached its limit of 64 MCP tasks" in refused["result"]["content"][0]["text"]


async def test_what_cannot_be_a_task_is_refused_and_wrong_arguments_fail_the_task(client: Client) -> None:
    refused = await client.send("tools/call", name="wait_for_human", arguments={"id": "h-1"}, task={})
    assert refused["error"]["code"] == -32601

    for arguments in ({"kind": "nothing", "reason": "x"}, {"reason": "x", "wait": "soon"}, {"reason": "x", "wait": -1}):
        started = await client.send("tools/call", name="request_human", arguments=arguments, task={})
        task = started["result"]["task"]["taskId"]
        failed = (await client.send("tasks/result", taskId=task))["result"]
        assert failed["isError"] is True, arguments
        assert (await client.send("tasks/get", taskId=task))["result"]["status"] == "failed"


async def test_a_time_that_makes_no_sense_is_an_error_or_the_nearest_that_does(client: Client) -> None:
    for ttl, kept in ((10**400, 90_000_000), (-1, 60_000), (0, 60_000)):
        assert (await client.start(ttl=ttl))["ttl"] == kept
    for wrong in ({"ttl": "soon"}, {"ttl": 1.5}):
        assert (await client.send("tools/call", name="request_human", arguments=ASKED, task=wrong))["error"]["code"] == -32602


async def test_the_list_of_tools_and_the_handshake_say_what_can_be_a_task(client: Client) -> None:
    initialize: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    opened = await client.send("initialize", **initialize)
    listed = (await client.send_modern("server/discover"))["result"]["capabilities"]

    assert opened["result"]["capabilities"]["tasks"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    assert listed["extensions"][EXTENSION] == {}
    tools = {tool["name"]: tool for tool in (await client.send("tools/list"))["result"]["tools"]}
    assert tools["request_human"]["execution"] == {"taskSupport": "optional"}
    assert "execution" not in tools["wait_for_human"]


async def test_in_the_extension_a_call_that_waits_long_becomes_a_task_of_its_own(client: Client, ann: httpx2.AsyncClient) -> None:
    started = (await client.send_modern("tools/call", name="request_human", arguments={**ASKED, "wait": 600}))["result"]
    assert (started["resultType"], started["status"]) == ("task", "working")
    await answers(ann, choice="aisle")

    async def ended() -> dict[str, Any] | None:
        found = (await client.send_modern("tasks/get", taskId=started["taskId"]))["result"]
        return found if found["status"] != "working" else None

    found = await eventually(ended)
    assert found
    assert (found["resultType"], found["status"], found["result"]["structuredContent"]["choice"]) == ("complete", "completed", "aisle")


async def test_in_the_extension_a_cancelled_task_withdraws_the_request_too(client: Client, ann: httpx2.AsyncClient) -> None:
    started = (await client.send_modern("tools/call", name="request_human", arguments={**ASKED, "wait": 600}))["result"]
    await open_one(ann)

    assert (await client.send_modern("tasks/update", taskId=started["taskId"], inputResponses={}))["result"]["resultType"] == "complete"
    assert "error" not in await client.send_modern("tasks/cancel", taskId=started["taskId"])
    assert "error" not in await client.send_modern("tasks/cancel", taskId=started["taskId"])

    [closed] = await handoffs(ann, "closed")
    assert closed["outcome"] == "cancelled"


async def test_a_client_that_does_not_declare_the_extension_gets_results_alone(client: Client, ann: httpx2.AsyncClient) -> None:
    silent = META | {"io.modelcontextprotocol/clientCapabilities": {}}
    started = (await client.send_modern("tools/call", name="request_human", arguments={**ASKED, "wait": 600}))["result"]

    refused = (await client.send_modern("tasks/get", silent, taskId=started["taskId"]))["error"]
    assert (refused["code"], refused["data"]["requiredCapabilities"]) == (-32021, {"extensions": {EXTENSION: {}}})
    await answers(ann, choice="aisle")
    calling = asyncio.create_task(client.send_modern("tools/call", silent, name="request_human", arguments={**ASKED, "wait": 600}))
    await answers(ann, choice="window")
    result = (await calling)["result"]
    assert (result["resultType"], result["structuredContent"]["choice"]) == ("complete", "window")


@pytest.mark.parametrize("method", ["tasks/result", "tasks/list"])
async def test_the_extension_has_no_methods_of_the_older_generation(client: Client, method: str) -> None:
    assert (await client.send_modern(method, taskId="x"))["error"]["code"] == -32601
    assert (await client.send("tasks/update", taskId="x"))["error"]["code"] == -32601
