"""The code interpreter, on the operations of a stub."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse
from tandem_fleet.e2b.access import SandboxTokens
from tandem_fleet.e2b.code_context import CodeContext
from tandem_fleet.e2b.code_interpreter import CodeInterpreter
from tandem_fleet.e2b.sandbox_calls import SandboxCalls
from tandem_fleet.fleet import Fleet

from tests.fleet.e2b.calling import Client, opened
from tests.fleet.e2b.stub_sandbox import StubSandbox, events

pytestmark = pytest.mark.anyio
PYTHON, NODE = CodeContext("python", "/home/gem"), CodeContext("javascript", "/home/gem")
RESULT = {"output_type": "execute_result", "data": {"text/plain": "2"}}


@pytest.fixture
def sessions(stub: StubSandbox) -> dict[str, set[str]]:
    """The sessions of the sandbox, which it makes and removes as it is told."""
    kept: dict[str, set[str]] = {"jupyter": {"mine"}, "nodejs": set()}

    def listed(kind: str) -> Any:
        return lambda _: {"sessions": {name: {} for name in kept[kind]}}

    stub.on("GET /v1/jupyter/sessions", listed("jupyter"))
    stub.on("GET /v1/nodejs/sessions", listed("nodejs"))
    stub.on("POST /v1/jupyter/sessions/create", lambda fields: kept["jupyter"].add(fields["session_id"]))
    stub.on("POST /v1/nodejs/sessions", lambda fields: kept["nodejs"].add(fields["session_id"]))
    stub.on("POST /v1/jupyter/execute", lambda _: events(("output", RESULT), ("exit", {"status": "ok", "execution_count": 7})))
    stub.on("POST /v1/nodejs/execute", lambda _: {"outputs": [RESULT], "status": "timeout", "execution_count": None})
    return kept


@pytest.fixture
async def client(http: httpx2.AsyncClient, fleet: Fleet, tokens: SandboxTokens, sessions: dict[str, set[str]]) -> Client:
    """A caller of a code interpreter."""
    made = await opened(http, fleet, tokens)
    made.headers |= {"E2b-Sandbox-Port": "49999"}
    return made


async def execute(client: Client, **fields: Any) -> list[dict[str, Any]]:
    """What an execution says."""
    answer = await client.http.post("/execute", json=fields, headers=client.headers)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_code_runs_in_a_context_that_is_made_once(client: Client, stub: StubSandbox, sessions: dict[str, set[str]]) -> None:
    for _ in range(2):
        said = await execute(client, code="1+1", context_id=None, language=None, env_vars=None)
        assert said[0] == {"type": "result", "is_main_result": True, "text": "2"}
        assert said[1] == {"type": "number_of_executions", "execution_count": 7}
    assert stub.calls("POST /v1/jupyter/sessions/create") == [{"session_id": PYTHON.id, "cwd": "/home/gem"}]
    assert stub.calls("POST /v1/jupyter/execute")[-1] == {"code": "1+1", "session_id": PYTHON.id, "timeout": 300}


async def test_javascript_is_node_js_and_a_timeout_is_an_error(client: Client, stub: StubSandbox) -> None:
    said = await execute(client, code="1+1", language="js", env_vars={"A": "1"})
    assert [one["type"] for one in said] == ["result", "error"]
    [asked] = stub.calls("POST /v1/nodejs/execute")
    assert (asked["session_id"], asked["code"]) == (NODE.id, 'Object.assign(process.env, {"A": "1"});\n1+1')


async def test_variables_are_for_one_execution(client: Client, stub: StubSandbox) -> None:
    await execute(client, code="x", env_vars={"A": "1'\""})
    codes = [one["code"] for one in stub.calls("POST /v1/jupyter/execute")]
    assert codes[1] == "x"
    names: dict[str, Any] = {}
    for code in (codes[0], "import os; seen = os.environ.get('A')", codes[2], "left = os.environ.get('A')"):
        exec(code, names)
    assert (names["seen"], names["left"]) == ("1'\"", None)


async def test_variables_of_the_sandbox_are_in_each_context(
    http: httpx2.AsyncClient, fleet: Fleet, tokens: SandboxTokens, stub: StubSandbox, sessions: Any
) -> None:
    client = await opened(http, fleet, tokens, envVars={"A": "1"})
    client.headers |= {"E2b-Sandbox-Port": "49999"}
    await execute(client, code="x")
    await execute(client, code="x", language="javascript")
    assert ["'A': '1'" in one["code"] for one in stub.calls("POST /v1/jupyter/execute")] == [True, False]
    assert ['"A": "1"' in one["code"] for one in stub.calls("POST /v1/nodejs/execute")] == [True, False]


async def test_contexts_are_made_listed_restarted_and_removed(client: Client, stub: StubSandbox, sessions: dict[str, set[str]]) -> None:
    made = (await client.http.post("/contexts", json={"cwd": "/tmp", "language": "python"}, headers=client.headers)).json()
    assert (made["language"], made["cwd"]) == ("python", "/tmp")
    assert (await client.http.get("/contexts", headers=client.headers)).json() == [made]
    stub.on(f"DELETE /v1/jupyter/sessions/{made['id']}", lambda _: sessions["jupyter"].discard(made["id"]))
    assert (await client.http.post(f"/contexts/{made['id']}/restart", headers=client.headers)).status_code == 200
    assert sessions["jupyter"] == {"mine", made["id"]}
    assert (await execute(client, code="1", context_id=made["id"]))[0]["text"] == "2"
    assert (await client.http.delete(f"/contexts/{made['id']}", headers=client.headers)).status_code == 200
    gone = await client.http.post("/execute", json={"code": "1", "context_id": made["id"]}, headers=client.headers)
    assert (gone.status_code, "not found" in gone.text) == (404, True)


WRONG: tuple[tuple[str, str, Any, int], ...] = (
    ("POST", "/execute", {"code": "1", "language": "r"}, 400),
    ("POST", "/execute", {"code": "1", "language": "python", "context_id": PYTHON.id}, 400),
    ("POST", "/execute", {"code": "1", "context_id": "../mine"}, 404),
    ("POST", "/execute", [], 400),
    ("POST", "/contexts", {"cwd": "/" + "d" * 100}, 400),
    ("DELETE", "/contexts/mine", None, 404),
    ("POST", "/contexts/mine/restart", None, 404),
    ("GET", "/elsewhere", None, 404),
    ("GET", "/health", None, 200),
)


async def test_what_cannot_be_is_refused(client: Client) -> None:
    for verb, path, body, status in WRONG:
        answer = await client.http.request(verb, path, json=body, headers=client.headers)
        assert answer.status_code == status, (path, answer.text)


async def test_the_traffic_token_opens_it_and_that_of_another_does_not(client: Client, tokens: SandboxTokens) -> None:
    number = client.sandbox.id
    named = {"E2b-Sandbox-Id": number, "E2b-Sandbox-Port": "49999"}
    for token, status in ((tokens.traffic(number), 200), (tokens.traffic("other"), 401), (tokens.access(number), 401), ("", 401)):
        answer = await client.http.get("/contexts", headers=named | {"E2B-Traffic-Access-Token": token})
        assert answer.status_code == status
    assert (await client.http.get("/contexts", headers=named)).status_code == 401


async def test_code_of_a_caller_who_leaves_is_interrupted(calls: SandboxCalls, stub: StubSandbox, sessions: dict[str, set[str]]) -> None:
    interrupted = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b'event: output\ndata: {"output_type": "stream", "name": "stdout", "text": "a"}\n\n'
        await interrupted.wait()

    stub.on("POST /v1/jupyter/execute", lambda _: StreamingResponse(endless(), media_type="text/event-stream"))
    stub.on(f"POST /v1/jupyter/sessions/{PYTHON.id}/interrupt", lambda _: interrupted.set())

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b'{"code": "while True: pass"}'}

    scope = {"type": "http", "method": "POST", "path": "/execute", "headers": []}
    answer = await CodeInterpreter(calls, {}).answer(Request(scope, receive))
    assert isinstance(answer, StreamingResponse)
    lines = aiter(answer.body_iterator)
    assert b'"text": "a"' in await anext(lines)
    await lines.aclose()  # type: ignore[attr-defined] # a generator
    async with asyncio.timeout(60):
        await interrupted.wait()
