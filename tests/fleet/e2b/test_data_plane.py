"""Which sandbox a request is for, and who may."""

from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from tandem_fleet.e2b.access import SandboxTokens, signature
from tandem_fleet.e2b.data_plane import Target, target_of
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired

from tests.fleet.e2b.calling import Client, opened
from tests.fleet.e2b.stub_sandbox import StubSandbox

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("headers", "path", "target"),
    [
        ({"e2b-sandbox-id": "abc"}, "/health", Target("abc", 49983)),
        ({"e2b-sandbox-id": "abc", "e2b-sandbox-port": "49999"}, "/", Target("abc", 49999)),
        ({"e2b-sandbox-id": "abc", "e2b-sandbox-port": "x"}, "/", Target("abc", 0)),
        ({"e2b-sandbox-id": "abc", "host": "49983-def.example.org"}, "/", Target("abc", 49983)),
        ({"host": "3000-abc.example.org:7700"}, "/", Target("abc", 3000)),
        ({"host": "fleet.example.org"}, "/files?signature=v1_x", Target("", 49983)),
        ({"host": "fleet.example.org"}, "/files", None),
        ({"host": "fleet.example.org"}, "/v2/sandboxes", None),
        ({"host": "123456-abc.example.org"}, "/", None),
    ],
)
def test_a_request_names_its_sandbox(headers: dict[str, str], path: str, target: Target | None) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    path, _, query = path.partition("?")
    assert target_of(Request({"type": "http", "path": path, "query_string": query.encode(), "headers": raw})) == target


async def test_a_token_of_one_sandbox_opens_no_other(http: httpx2.AsyncClient, fleet: Fleet, tokens: SandboxTokens) -> None:
    one, other = await opened(http, fleet, tokens), await opened(http, fleet, tokens)
    assert (await one.unary("process.Process/List", {})).status_code == 404  # what the stub answers
    wrong: tuple[dict[str, str], ...] = (
        {"X-Access-Token": other.headers["X-Access-Token"]},
        {"X-Access-Token": tokens.traffic(one.sandbox.id)},
        {"X-Access-Token": ""},
        {"X-Access-Token": "\u00e4"},
        {"E2b-Sandbox-Id": other.sandbox.id},
        {"E2b-Sandbox-Id": "none"},
    )
    for change in wrong:
        headers = {name.encode(): value.encode("latin-1") for name, value in (one.headers | change).items()}
        for path in ("/process.Process/List", "/filesystem.Filesystem/Stat", "/envs", "/metrics", "/elsewhere"):
            assert (await http.post(path, json={}, headers=headers)).status_code == 401, (change, path)
        for verb in ("GET", "POST"):
            assert (await http.request(verb, "/files?path=a", headers=headers)).status_code == 401, change


async def test_a_signature_opens_one_file_of_one_sandbox(
    http: httpx2.AsyncClient, fleet: Fleet, tokens: SandboxTokens, stub: StubSandbox
) -> None:
    one, other = await opened(http, fleet, tokens), await opened(http, fleet, tokens)
    stub.on("GET /v1/file/download", lambda fields: fields)
    token = one.headers["X-Access-Token"]
    signed = {"path": "a b", "signature": signature("a b", "read", "", token)}
    for headers in ({"E2b-Sandbox-Id": one.sandbox.id}, {"host": f"49983-{one.sandbox.id}.example.org"}, {}):
        answer = await http.get("/files", params=signed, headers=headers)
        assert (answer.status_code, answer.json()["data"]["path"]) == (200, "/home/gem/a b"), headers
    assert (await http.get("/files", params=signed, headers={"E2b-Sandbox-Id": other.sandbox.id})).status_code == 401
    for change in ({"path": "b"}, {"username": "root"}, {"signature_expiration": "9999999999"}, {"signature": "v1_"}):
        assert (await http.get("/files", params=signed | change)).status_code == 401, change
    assert (await http.post("/files", params=signed, content=b"x")).status_code == 401
    old = {"path": "a", "signature_expiration": "17", "signature": signature("a", "read", "", token, "17")}
    assert (await http.get("/files", params=old)).status_code == 401
    assert (await http.put("/files", params=signed)).status_code == 405


async def test_health_says_whether_it_runs(http: httpx2.AsyncClient, fleet: Fleet, tokens: SandboxTokens) -> None:
    client = await opened(http, fleet, tokens)

    async def health() -> tuple[int, Any]:
        answer = await http.get("/health", headers=client.headers)
        return answer.status_code, answer.json()["message"] if answer.content else None

    assert await health() == (204, None)
    await fleet.order("default", client.sandbox.id, Desired.PAUSED)
    assert await health() == (502, "The sandbox was not found")
    await fleet.order("default", client.sandbox.id, Desired.RUNNING)
    await fleet.settle(client.sandbox.id, 60)
    await fleet.order("default", client.sandbox.id, Desired.DELETED)
    assert await health() == (502, "The sandbox was not found")
    answer = await client.unary("process.Process/List", {})
    assert (answer.status_code, answer.json()["code"]) == (502, 502)


async def test_a_call_wakes_a_sandbox_that_is_to_be_woken(http: httpx2.AsyncClient, fleet: Fleet, tokens: SandboxTokens) -> None:
    client = await opened(http, fleet, tokens, autoPause=True, autoResume={"enabled": True})
    await http.post(f"/sandboxes/{client.sandbox.id}/pause", json={})
    assert (await http.get("/health", headers=client.headers)).status_code == 204
    assert (await fleet.get(client.sandbox.id)).state == "ready"


async def test_its_variables_and_usage_are_told(client: Client, stub: StubSandbox) -> None:
    live = {"cgroup": {"cpu_usage_pct": 1.5, "mem_current_bytes": 5}, "disk": [{"used_bytes": 6, "total_bytes": 7}]}
    stub.on("GET /v1/sandbox/observe/live", lambda _: live)
    assert (await client.http.get("/envs", headers=client.headers)).json() == {"A": "1"}
    told = (await client.http.get("/metrics", headers=client.headers)).json()
    assert (told["cpu_used_pct"], told["mem_used"], told["disk_used"], told["disk_total"]) == (1.5, 5, 6, 7)
    assert (await client.http.get("/elsewhere", headers=client.headers)).status_code == 404
    assert (await client.http.get("/process.Process/List", headers=client.headers)).status_code == 405
    other_port = await client.http.get("/", headers=client.headers | {"E2b-Sandbox-Port": "3000"})
    assert (other_port.status_code, other_port.json()["message"]) == (502, "port is not open: 3000")


@pytest.fixture
async def client(http: httpx2.AsyncClient, fleet: Fleet, tokens: SandboxTokens) -> Client:
    """A caller of a sandbox with a variable."""
    return await opened(http, fleet, tokens, envVars={"A": "1"})
