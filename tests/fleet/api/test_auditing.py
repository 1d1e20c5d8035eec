"""What of a call is written down."""

import logging
from types import SimpleNamespace

import httpx2
import pytest
from tandem_fleet.api import auditing
from tandem_fleet.api.api_keys import ApiKeys
from tandem_fleet.api.authorization import SharedKey
from tandem_fleet.fleet import Fleet
from tandem_fleet.store.audit import AuditStore, Entry
from tandem_fleet.store.tenants import TenantStore

from tests.fleet.api.calling import client

pytestmark = pytest.mark.anyio


async def entries(fleet: Fleet, tenant: str = "default") -> list[Entry]:
    """What was written down, the oldest first."""
    return (await AuditStore(fleet.database).page(tenant))[::-1]


async def test_who_did_what_from_where_with_what_result_is_written_down(http: httpx2.AsyncClient, fleet: Fleet) -> None:
    answers = [
        await http.post("/v1/sandboxes", json={"name": "work"}),
        await http.get("/v1/sandboxes"),
        await http.delete("/v1/sandboxes/none", params={"token": "secret", "tenant": "x\n"}),
        await http.get("/v1/sandboxes/none"),
        await http.post("/v1/sandboxes", json={"name": "A"}),
    ]
    found = await entries(fleet)
    assert [(entry.call, entry.status) for entry in found] == [
        ("POST /v1/sandboxes", 201),
        (r"DELETE /v1/sandboxes/none?tenant=x\n", 404),
        ("GET /v1/sandboxes/none", 404),
        ("POST /v1/sandboxes", 422),
    ]
    assert {(entry.caller, entry.address) for entry in found} == {("operator", "127.0.0.1")}
    numbers = [answer.headers["x-request-id"] for answer in answers]
    assert len(set(numbers)) == 5
    assert [entry.request for entry in found] == [numbers[0], *numbers[2:]]


async def test_a_tenants_calls_are_in_its_own_record(fleet: Fleet) -> None:
    store = TenantStore(fleet.database)
    await store.create("one")
    made, secret = await store.create_key("one", "ci", ["sandboxes:read"], None)
    async with client(fleet, ApiKeys(store, SharedKey("k")), Authorization=f"Bearer {secret}") as http:
        assert (await http.post("/v1/sandboxes", json={})).status_code == 403
    assert [(entry.caller, entry.status) for entry in await entries(fleet, "one")] == [(f"ci ({made.id})", 403)]
    assert await entries(fleet) == []


async def test_who_is_not_known_fills_no_record(fleet: Fleet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(auditing, "REFUSED_PER_MINUTE", 3)
    monkeypatch.setattr(auditing, "time", SimpleNamespace(monotonic=lambda: 0.0))
    async with client(fleet, SharedKey("right")) as http:
        for _ in range(10):
            assert (await http.get("/v1/sandboxes")).status_code == 401
    assert [(entry.caller, entry.status) for entry in await entries(fleet, "")] == [("", 401)] * 3
    assert caplog.text.count("more calls of nobody known are refused") == 1


async def test_a_call_that_breaks_is_written_down(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(fleet, "order", broken)
    async with client(fleet) as http:
        with pytest.raises(ZeroDivisionError):
            await http.delete("/v1/sandboxes/work")
    assert [entry.status for entry in await entries(fleet)] == [500]


async def test_a_record_without_room_is_said_and_the_answer_goes_out(
    http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(AuditStore, "add", full)
    with caplog.at_level(logging.ERROR):
        assert (await http.post("/v1/sandboxes", json={"name": "work"})).status_code == 201
    assert "POST /v1/sandboxes 201" in caplog.text
