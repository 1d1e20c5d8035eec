"""E2B's REST API: paths, the key, errors, pages."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from tandem_fleet.api.app import build
from tandem_fleet.api.authorization import Caller, Scope
from tandem_fleet.e2b import control_plane
from tandem_fleet.e2b.access import SandboxTokens
from tandem_fleet.e2b.service import E2B
from tandem_fleet.fleet import Fleet

from tests.fleet.e2b.stub_sandbox import StubSandbox
from tests.fleet.engines import MemoryBackend
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


async def made(http: httpx2.AsyncClient, **fields: Any) -> str:
    """The id of a sandbox that was made."""
    answer = await http.post("/v2/sandboxes", json={"templateID": "base"} | fields)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["sandboxID"])


async def test_a_sandbox_is_made_with_what_opens_it(http: httpx2.AsyncClient, tokens: SandboxTokens, stub: StubSandbox) -> None:
    answer = await http.post("/v2/sandboxes", json={"templateID": "base", "timeout": 60, "metadata": {"a": "b"}, "secure": True})
    number = answer.json()["sandboxID"]
    assert answer.json() == {
        "templateID": "base",
        "sandboxID": number,
        "clientID": "tandem",
        "envdVersion": "0.6.4",
        "envdAccessToken": tokens.access(number),
        "trafficAccessToken": tokens.traffic(number),
    }
    assert any("ln -s /home/gem /home/user" in one["command"] for one in stub.calls("POST /v1/bash/exec"))
    detail = (await http.get(f"/sandboxes/{number}")).json()
    assert (detail["state"], detail["metadata"], detail["lifecycle"]) == ("running", {"a": "b"}, {"autoResume": False, "onTimeout": "kill"})
    left = datetime.fromisoformat(detail["endAt"]) - datetime.now(UTC)
    assert timedelta(seconds=30) < left <= timedelta(seconds=60)
    assert (await http.delete(f"/sandboxes/{number}")).status_code == 204
    gone = await http.delete(f"/sandboxes/{number}")
    assert (gone.status_code, gone.json()["code"]) == (404, 404)


async def test_a_repeated_request_makes_one(http: httpx2.AsyncClient, engine: MemoryBackend) -> None:
    headers = {"Idempotency-Key": "k"}
    ids = {(await http.post("/v2/sandboxes", json={"templateID": "base"}, headers=headers)).json()["sandboxID"] for _ in range(2)}
    assert (len(ids), len(engine.sandboxes)) == (1, 1)
    other = await http.post("/v2/sandboxes", json={"templateID": "other"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, 409)


async def test_one_that_does_not_start_is_removed(http: httpx2.AsyncClient, engine: MemoryBackend, fleet: Fleet) -> None:
    engine.refuses.add("start")
    answer = await http.post("/v2/sandboxes", json={"templateID": "mine:1"})
    assert (answer.status_code, answer.json()["code"]) == (500, 500)
    assert "mine:1" in answer.json()["message"]
    assert (await http.get("/v2/sandboxes")).json() == []


async def test_a_sandbox_sleeps_and_wakes(http: httpx2.AsyncClient) -> None:
    number = await made(http)
    assert (await http.post(f"/sandboxes/{number}/connect", json={"timeout": 60})).status_code == 200
    assert (await http.post(f"/sandboxes/{number}/pause", json={"memory": True})).status_code == 204
    assert (await http.post(f"/sandboxes/{number}/pause", json={})).status_code == 409
    assert (await http.get(f"/sandboxes/{number}")).json()["state"] == "paused"
    assert (await http.get(f"/sandboxes/{number}/metrics")).json() == []
    woken = await http.post(f"/v2/sandboxes/{number}/connect", json={"timeout": 60})
    assert (woken.status_code, woken.json()["sandboxID"]) == (201, number)
    assert (await http.post(f"/sandboxes/{number}/resume", json={})).status_code == 409
    assert (await http.post(f"/sandboxes/{number}/pause", json={"memory": False})).status_code == 204
    assert (await http.post(f"/sandboxes/{number}/resume", json={})).status_code == 201


async def test_an_end_is_moved_and_extended(http: httpx2.AsyncClient) -> None:
    number = await made(http, timeout=3600)

    async def left() -> float:
        detail = (await http.get(f"/sandboxes/{number}")).json()
        return (datetime.fromisoformat(detail["endAt"]) - datetime.now(UTC)).total_seconds()

    assert (await http.post(f"/sandboxes/{number}/refreshes", json={"duration": 60})).status_code == 204
    assert await left() > 3000
    assert (await http.post(f"/sandboxes/{number}/timeout", json={"timeout": 600})).status_code == 204
    assert await left() < 601
    assert (await http.post(f"/sandboxes/{number}/refreshes", json={"duration": 7200})).status_code == 204
    assert await left() > 7000


async def test_a_list_is_filtered_and_has_pages(http: httpx2.AsyncClient) -> None:
    numbers = [await made(http, metadata={"n": f"a {n}"}, templateID="base" if n else "other") for n in range(3)]
    await http.post(f"/sandboxes/{numbers[1]}/pause", json={})

    async def listed(**query: Any) -> list[int]:
        answer = await http.get("/v2/sandboxes", params=query)
        assert answer.status_code == 200, answer.text
        return [numbers.index(one["sandboxID"]) for one in answer.json()]

    assert await listed() == [2, 1, 0]
    assert await listed(order="asc") == [0, 1, 2]
    assert await listed(state="paused") == [1]
    assert await listed(state="running,paused", order="asc") == [0, 1, 2]
    assert await listed(template="other") == [0]
    assert await listed(metadata="n=a%25202") == [2]
    assert await listed(startedAfter="2999-01-01T00:00:00+00:00") == []
    for order in ("asc", "desc"):
        first = await http.get("/v2/sandboxes", params={"limit": 2, "order": order})
        token = first.headers["x-next-token"]
        second = await http.get("/v2/sandboxes", params={"limit": 2, "order": order, "nextToken": token})
        assert "x-next-token" not in second.headers
        found = [one["sandboxID"] for one in first.json() + second.json()]
        assert found == (numbers if order == "asc" else numbers[::-1])


WRONG: tuple[tuple[str, str, Any, int], ...] = (
    ("POST", "/v2/sandboxes", {}, 400),
    ("POST", "/v2/sandboxes", [], 400),
    ("POST", "/v2/sandboxes", {"templateID": "a", "timeout": "soon"}, 400),
    ("POST", "/v2/sandboxes", {"templateID": "a", "network": {"denyOut": ["a.example"]}}, 400),
    ("POST", "/v2/sandboxes", {"templateID": "a", "network": {"dnsServers": ["1.1.1.1"]}}, 501),
    ("POST", "/v2/sandboxes", {"templateID": "a", "mcp": {"a": {}}}, 501),
    ("GET", "/v2/sandboxes?limit=0", None, 400),
    ("GET", "/v2/sandboxes?nextToken=x", None, 400),
    ("GET", "/sandboxes/none", None, 404),
    ("POST", "/sandboxes/none/connect", {"timeout": 1}, 404),
    ("POST", "/sandboxes/none/pause", {}, 404),
    ("POST", "/sandboxes/none/timeout", {"timeout": 1}, 404),
    ("POST", "/sandboxes/none/timeout", {"timeout": -1}, 400),
    ("GET", "/sandboxes/none/metrics", None, 404),
    ("POST", "/sandboxes/none/snapshots", {}, 404),
    ("POST", "/sandboxes/none/fork", {"count": 1}, 404),
    ("POST", "/sandboxes/none/fork", {"count": 0}, 400),
    ("POST", "/sandboxes/none/fork", {"count": 101}, 400),
    ("PUT", "/sandboxes/none/network", {}, 404),
    ("PUT", "/sandboxes/none/network", {"rules": {"a.example": []}}, 501),
    ("PUT", "/sandboxes/none/network", {"allowOut": ["no destination"]}, 400),
    ("GET", "/snapshots?limit=0", None, 400),
    ("DELETE", "/templates/none", None, 404),
    ("POST", "/v3/templates", {}, 501),
    ("GET", "/volumes", None, 501),
    ("PATCH", "/sandboxes/none", {}, 501),
)


async def test_bad_input_is_answered_in_e2bs_form(http: httpx2.AsyncClient) -> None:
    for verb, path, body, status in WRONG:
        answer = await http.request(verb, path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (status, status), (path, answer.text)
        assert answer.json()["message"]


async def test_a_network_is_denied_at_the_start_and_changed_later(http: httpx2.AsyncClient, stub: StubSandbox, fleet: Fleet) -> None:
    stub.on("GET /v1/egress/status", lambda _: {"enforcement": "namespace"})
    stub.on("PUT /v1/egress/policy", lambda _: {})
    number = await made(http, allow_internet_access=False)
    assert (await fleet.get(number)).spec.environment["EGRESS_POLICY"] == '{"default": "deny", "rules": []}'
    answer = await http.put(f"/sandboxes/{number}/network", json={"denyOut": ["10.0.0.0/8"]})
    assert answer.status_code == 204
    denied = {"name": "denied networks", "action": "deny", "cidrs": ["10.0.0.0/8"]}
    assert stub.calls("PUT /v1/egress/policy") == [{"if_match": "*", "default": "allow", "rules": [denied]}]
    assert json.loads((await fleet.get(number)).spec.environment["EGRESS_POLICY"])["rules"] == [denied]


@pytest.mark.parametrize("enforcement", ["proxy", None])
async def test_one_whose_network_is_not_enforced_is_removed(
    http: httpx2.AsyncClient, stub: StubSandbox, engine: MemoryBackend, enforcement: str | None
) -> None:
    if enforcement:
        stub.on("GET /v1/egress/status", lambda _: {"enforcement": enforcement})
    answer = await http.post("/v2/sandboxes", json={"templateID": "base", "allow_internet_access": False})
    assert (answer.status_code, answer.json()["code"]) == (500, 500)
    await eventually(lambda: not engine.sandboxes)


async def test_calls_of_sandboxes_are_of_the_callers_trace(http: httpx2.AsyncClient, stub: StubSandbox, tokens: SandboxTokens) -> None:
    parent = f"00-{'a' * 32}-{'b' * 16}-01"
    number = await made(http)
    stub.headers.clear()
    http.headers["traceparent"] = parent
    await http.get(f"/sandboxes/{number}/metrics")
    opens = {"E2b-Sandbox-Id": number, "X-Access-Token": tokens.access(number)}
    await http.get("/files", params={"path": "/a"}, headers=opens)
    assert [headers.get("traceparent") for headers in stub.headers] == [parent] * len(stub.headers)
    assert len(stub.headers) > 1


class Chosen:
    """An authorization whose keys are tenants with scopes."""

    async def caller(self, bearer: str) -> Caller:
        tenant, _, scopes = bearer.partition(":")
        return Caller(tenant, "test", frozenset(Scope(scope) for scope in scopes.split(",") if scope))


async def test_a_tenant_sees_its_own_and_a_key_does_what_it_may(fleet: Fleet, e2b: E2B) -> None:
    transport = httpx2.ASGITransport(app=e2b.over(build(fleet, Chosen())))
    async with httpx2.AsyncClient(transport=transport, base_url="http://fleet") as http:

        async def ask(verb: str, path: str, key: str, body: Any = None) -> httpx2.Response:
            return await http.request(verb, path, json=body, headers={"X-API-KEY": key})

        every = ",".join(Scope)
        number = (await ask("POST", "/v2/sandboxes", f"one:{every}", {"templateID": "base"})).json()["sandboxID"]
        assert (await ask("GET", "/v2/sandboxes", f"two:{every}")).json() == []
        paths = [
            ("GET", ""),
            ("DELETE", ""),
            ("GET", "/metrics"),
            *(("POST", f"/{verb}") for verb in ("connect", "pause", "resume", "refreshes")),
        ]
        for verb, path in paths:
            assert (await ask(verb, f"/sandboxes/{number}{path}", f"two:{every}", {})).status_code == 404, path
            assert (await ask(verb, f"/sandboxes/{number}{path}", "one:", {})).status_code == 403, path
        assert (await ask("POST", "/v2/sandboxes", f"one:{Scope.WRITE}", {"templateID": "base"})).status_code == 403
        assert "envdAccessToken" not in (await ask("GET", f"/sandboxes/{number}", f"one:{Scope.READ}")).json()
        assert (await ask("GET", "/templates", "one:")).status_code == 501


async def test_without_the_key_nothing_is_told(http: httpx2.AsyncClient, engine: MemoryBackend) -> None:
    for headers in ({"X-API-KEY": ""}, {"X-API-KEY": "wrong"}, {"X-API-KEY": "the-keyx"}):
        for prefix in control_plane.PREFIXES:
            answer = await http.get(prefix, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, 401), prefix
        assert (await http.post("/v2/sandboxes", json={"templateID": "base"}, headers=headers)).status_code == 401
    assert engine.sandboxes == {}


async def test_the_fleets_own_paths_are_not_e2bs(fleet: Fleet) -> None:
    ours = build(fleet).openapi()["paths"]
    assert ours
    assert not [path for path in ours if control_plane.is_ours(path)]
    assert control_plane.is_ours("/sandboxes/a")
    assert not control_plane.is_ours("/sandboxes-of-mine")
