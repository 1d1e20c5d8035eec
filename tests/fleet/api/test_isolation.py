"""One tenant tries every operation of the document on what is another's: it sees nothing of it, and changes nothing."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import select
from tandem_fleet.api.api_keys import ApiKeys
from tandem_fleet.api.app import build
from tandem_fleet.api.authorization import Scope, SharedKey
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Spec
from tandem_fleet.store.audit import AuditStore
from tandem_fleet.store.tables import metadata
from tandem_fleet.store.tenants import TenantStore
from tandem_fleet.templates import TemplateContent

from tests.fleet.engines import MemoryBackend
from tests.fleet.test_fleet import SECONDS

pytestmark = pytest.mark.anyio
STREAM_SECONDS = 1.0
"""How long more of an answer is waited for: some have no end."""
ALL = [scope for scope in Scope if scope != Scope.OPERATE]
REACHED = {
    "GET /v1/sandboxes/{name}",
    "GET /v1/sandboxes/{name}/logs",
    "PUT /v1/sandboxes/{name}/token",
    "POST /v1/sandboxes/{name}/{order}",
    "DELETE /v1/sandboxes/{name}",
    "DELETE /v1/keys/{key}",
    "GET /v1/templates/{template}",
    "PUT /v1/templates/{template}",
    "DELETE /v1/templates/{template}",
    "PUT /v1/sandboxes/{name}/idle",
    "GET /v1/sandboxes/{name}/schedules",
}
"""Operations on what is a tenant's own that are known to do something for their owner."""
MAKING = {"PUT /v1/templates/{template}"}
"""Operations that make something of the caller's own where the name is not taken."""


async def call(app: FastAPI, key: str, verb: str, path: str, body: Any = None) -> tuple[int, str]:
    """An answer's status and its beginning, also of one without end."""
    target, _, query = path.partition("?")
    headers = [(b"authorization", f"Bearer {key}".encode()), (b"content-type", b"application/json"), (b"host", b"fleet")]
    scope = {"type": "http", "method": verb, "path": target, "raw_path": target.encode(), "query_string": query.encode(), "root_path": ""}
    scope |= {"http_version": "1.1", "scheme": "http", "headers": headers, "client": ("10.0.0.1", 1), "server": ("fleet", 80)}
    sent: list[dict[str, Any]] = []
    pending = [{"type": "http.request", "body": json.dumps(body).encode() if body is not None else b"", "more_body": False}]

    async def receive() -> Any:
        if pending:
            return pending.pop()
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)
        limit.reschedule(asyncio.get_running_loop().time() + STREAM_SECONDS)

    with suppress(TimeoutError):
        async with asyncio.timeout(SECONDS) as limit:
            await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]).decode()


def operations(app: FastAPI) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every operation of the document: verb, path, description."""
    for path, item in app.openapi()["paths"].items():
        for verb, operation in item.items():
            if verb in ("get", "put", "post", "delete", "patch"):
                yield verb.upper(), path, operation


def sample(document: dict[str, Any], schema: dict[str, Any], word: str) -> Any:
    """A value that a schema allows, as far as it is simple; texts are the `word`."""
    if "$ref" in schema:
        return sample(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], word)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return sample(document, options[0], word)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        required = set(schema.get("required", ())) | ({"name", "sandbox", "tenant"} & set(schema.get("properties", ())))
        return {name: sample(document, one, word) for name, one in schema.get("properties", {}).items() if name in required}
    if kind == "array":
        return [sample(document, schema["items"], "view") for _ in range(schema.get("minItems", 0))]
    return {"integer": schema.get("minimum", 1), "number": schema.get("minimum", 1), "boolean": True, "null": None}.get(kind or "", word)


def requests(app: FastAPI, words: list[str], tenant: str) -> Iterator[tuple[str, str, str, str, Any]]:
    """Each operation with each word in the places of its path and its body: its name, the word, verb, path, body."""
    document = app.openapi()
    for verb, path, operation in sorted(operations(app), key=_turn):
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        parameters = operation.get("parameters", [])
        for word in words if "{" in path or content else words[:1]:
            filled = path.replace("{order}", "stop")
            for one in parameters:
                if one["in"] == "path":
                    filled = filled.replace(f"{{{one['name']}}}", word)
            query = f"?tenant={tenant}" if any(one["name"] == "tenant" and one["in"] == "query" for one in parameters) else ""
            body = sample(document, content["schema"], word) if content else None
            yield f"{verb} {path}", word, verb, filled, body
            if query:
                yield f"{verb} {path}", word, verb, filled + query, body


def _turn(operation: tuple[str, str, dict[str, Any]]) -> int:
    """Lists are asked for before anything is named, and what may make something of that name is the last."""
    verb, path, _ = operation
    if f"{verb} {path}" in MAKING:
        return 2
    return 1 if "{" in path else 2 if verb == "POST" else 0


async def rows(fleet: Fleet, tenant: str) -> dict[str, list[Any]]:
    """All that the store has of a tenant, without when its keys were used."""
    kept = {}
    async with fleet.database.reading() as connection:
        for name, table in metadata.tables.items():
            if "tenant" in table.c:
                columns = [column for column in table.columns if column.name != "used_at"]
                found = await connection.execute(select(*columns).where(table.c.tenant == tenant))
                kept[name] = sorted(map(repr, found.all()))
    return kept


@pytest.fixture
async def keys(fleet: Fleet) -> dict[str, str]:
    """A key with every scope of two tenants."""
    store = TenantStore(fleet.database)
    made = {}
    for tenant in ("alpha", "beta"):
        await store.create(tenant)
        made[tenant] = str((await store.create_key(tenant, f"{tenant}-made-this", ALL, None))[1])
    return made


async def owned(fleet: Fleet, tenant: str) -> list[str]:
    """Names and ids of what a tenant has."""
    spec = Spec(image="image", labels={"label": f"{tenant}-label"}, environment={"SECRET": f"{tenant}-secret"})
    made = await fleet.create(tenant, spec, name=f"{tenant}-work")
    await fleet.settle(made.id, SECONDS)
    await fleet.templates.put(tenant, made.name, TemplateContent(image="image", labels={"label": f"{tenant}-label"}))
    await AuditStore(fleet.database).add(tenant, f"{tenant}-caller", address="10.0.0.9", request="7", call=f"POST /{tenant}", status=201)
    [key] = await TenantStore(fleet.database).keys(tenant)
    return [made.name, made.id, key.id, tenant]


async def test_a_tenant_sees_and_changes_nothing_of_another(fleet: Fleet, keys: dict[str, str], engine: MemoryBackend) -> None:
    app = build(fleet, ApiKeys(TenantStore(fleet.database), SharedKey("right")))
    words = await owned(fleet, "alpha")
    marks = {*words[:3], "alpha-label", "alpha-secret", "alpha-caller", "alpha-made-this", "POST /alpha"}
    before, existing = await rows(fleet, "alpha"), dict(engine.sandboxes)
    assert before["sandboxes"]
    assert before["api_keys"]
    assert before["audit"]
    assert before["templates"]
    for name, word, verb, path, body in requests(app, words, "alpha"):
        if word in path or word in json.dumps(body):
            marks.discard(word)  # what it has sent may come back, as in its own record
        status, text = await call(app, keys["beta"], verb, path, body)
        assert status < 500, (name, path, text)
        assert status >= 400 or name in MAKING or ("{" not in name and "?" not in path), (name, path, text)
        assert not {mark for mark in marks if mark in text}, (name, path, text)
    assert await rows(fleet, "alpha") == before
    assert {number: engine.sandboxes.get(number) for number in existing} == existing


async def test_the_same_calls_do_something_for_the_owner(fleet: Fleet, keys: dict[str, str]) -> None:
    app = build(fleet, ApiKeys(TenantStore(fleet.database), SharedKey("right")))
    words = await owned(fleet, "alpha")
    made, _ = await TenantStore(fleet.database).create_key("alpha", "spare", [], None)
    done = set()
    deleting = []
    for name, _, verb, path, body in requests(app, [*words[:2], made.id], "alpha"):
        if verb == "DELETE":
            deleting.append((name, verb, path, body))
        elif (await call(app, keys["alpha"], verb, path, body))[0] < 300:
            done.add(name)
    for name, verb, path, body in deleting:
        if (await call(app, keys["alpha"], verb, path, body))[0] < 300:
            done.add(name)
    assert done >= REACHED


async def test_without_a_key_nothing_is_answered_but_what_everybody_may_know(fleet: Fleet) -> None:
    app = build(fleet, ApiKeys(TenantStore(fleet.database), SharedKey("right")))
    answered = {name for name, _, verb, path, body in requests(app, ["x"], "alpha") if (await call(app, "", verb, path, body))[0] < 400}
    assert answered <= {"GET /healthz", "GET /.well-known/jwks.json"}
