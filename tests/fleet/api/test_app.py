"""The service's API as a whole."""

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from tandem_fleet.api.app import build
from tandem_fleet.api.authorization import SharedKey
from tandem_fleet.fleet import Fleet

from tests.fleet.api.calling import client
from tests.fleet.engines import MemoryBackend
from tests.fleet.test_fleet import ready

pytestmark = pytest.mark.anyio
KEY = "the-key"


@pytest.mark.parametrize(
    ("verb", "path", "body", "status"),
    [
        ("POST", "/v1/sandboxes", {"name": "A"}, 422),
        ("POST", "/v1/sandboxes", {"privileged": True}, 422),
        ("POST", "/v1/sandboxes", {"environment": {"AUTH": "off"}}, 422),
        ("POST", "/v1/sandboxes", [], 422),
        ("GET", "/v1/sandboxes?limit=0", None, 422),
        ("GET", "/v1/sandboxes?state=lost", None, 422),
        ("GET", "/v1/sandboxes?cursor=x", None, 422),
        ("GET", "/v1/sandboxes/none", None, 404),
        ("DELETE", "/v1/sandboxes/none", None, 404),
        ("POST", "/v1/sandboxes/none/start", None, 404),
        ("GET", "/v1/sandboxes/none/logs", None, 404),
        ("POST", "/v1/sandboxes/work/explode", None, 404),
        ("PUT", "/v1/sandboxes/work/token", {"scopes": []}, 422),
        ("PUT", "/v1/sandboxes/work/token", {"scopes": ["everything"]}, 422),
        ("PUT", "/v1/sandboxes/work/token", {"scopes": ["view"], "subject": "a b"}, 422),
    ],
)
async def test_bad_input_is_answered_with_its_reason(
    http: httpx2.AsyncClient, fleet: Fleet, verb: str, path: str, body: Any, status: int
) -> None:
    await ready(fleet)
    answer = await http.request(verb, path, json=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"]


async def test_without_the_key_nothing_is_told_or_done(fleet: Fleet, engine: MemoryBackend) -> None:
    await ready(fleet)
    document = build(fleet, SharedKey(KEY)).openapi()
    before = list(engine.calls)
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Bearer {KEY}x"}, {"authorization": KEY}):
        async with client(fleet, SharedKey(KEY), **headers) as stranger:
            for path, verbs in document["paths"].items():
                for verb in verbs:
                    place = re.sub(r"\{\w+\}", "x", path.replace("{name}", "work").replace("{order}", "stop"))
                    answer = await stranger.request(verb, place, json={"scopes": ["view"]})
                    assert answer.status_code == (200 if path in ("/healthz", "/.well-known/jwks.json") else 401), path
    assert [call for call in engine.calls if not call.startswith(("find", "list"))] == [
        call for call in before if not call.startswith(("find", "list"))
    ]
    async with client(fleet, SharedKey(KEY), authorization=f"Bearer {KEY}") as owner:
        assert (await owner.get("/v1/sandboxes")).status_code == 200


async def test_a_body_has_an_end(fleet: Fleet) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(17):
            yield b"x" * (1 << 20)

    async with client(fleet, SharedKey(KEY)) as stranger:
        for path in ("/v1/sandboxes", "/v1/tickets"):
            answer = await stranger.post(path, content=endless(), headers={"Content-Type": "application/json"})
            assert answer.status_code == 413


@pytest.mark.parametrize("path", ["/v1/sandboxes", "/v1/templates", "/v1/snapshots"])
async def test_a_number_that_no_store_keeps_is_refused(http: httpx2.AsyncClient, path: str) -> None:
    assert (await http.get(path, params={"cursor": 10**30})).status_code == 422
