"""The comparison with the last release finds each kind of breaking change, and nothing breaks since that release."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from sandbox_server import generate
from tests.contract.breaking import breaking_changes, breaking_tool_changes
from tests.contract.releases import last_release, reduced, written
from tests.tables import table_test

INTENDED: dict[str, str] = {}
"""Breaking changes since the last release that CONTRIBUTING.md allows: the change, and why."""

DOCUMENT: dict[str, Any] = {
    "paths": {
        "/v1/thing": {
            "post": {
                "x-name": "make",
                "x-scope": "code",
                "x-tool": "thing_make",
                "x-aliases": ["make_thing"],
                "x-read-only": False,
                "x-destructive": False,
                "summary": "Make a thing.",
                "parameters": [{"in": "query", "name": "dry", "required": False, "schema": {"type": "boolean", "default": False}}],
                "requestBody": {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewThing"}}}},
                "responses": {
                    "200": {
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Thing"}},
                            "text/event-stream": {
                                "schema": {"type": "string"},
                                "x-itemSchema": {"$ref": "#/components/schemas/ThingEvent"},
                            },
                        }
                    }
                },
            }
        }
    },
    "components": {
        "schemas": {
            "NewThing": {
                "type": "object",
                "properties": {
                    "size": {"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}], "default": None},
                    "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
                    "name": {"type": "string"},
                },
                "required": ["name"],
            },
            "Thing": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "state": {"type": "string", "enum": ["new"]},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}},
                },
                "required": ["size", "state"],
            },
            "ThingEvent": {"oneOf": [{"$ref": "#/components/schemas/ThingEventMade"}, {"$ref": "#/components/schemas/ThingEventGone"}]},
            "ThingEventMade": {
                "type": "object",
                "properties": {"event": {"type": "string", "const": "made"}, "data": {"$ref": "#/components/schemas/Thing"}},
                "required": ["event", "data"],
            },
            "ThingEventGone": {
                "type": "object",
                "properties": {"event": {"type": "string", "const": "gone"}, "data": {"type": "object", "properties": {}}},
                "required": ["event", "data"],
            },
        }
    },
}

type Change = Callable[[dict[str, Any], dict[str, Any], dict[str, Any]], object]


def changed(change: Change) -> dict[str, Any]:
    """The document after a change of its operation, its request or its response."""
    document = copy.deepcopy(DOCUMENT)
    schemas = document["components"]["schemas"]
    change(document["paths"]["/v1/thing"]["post"], schemas["NewThing"], schemas["Thing"])
    return document


@table_test(
    [
        (lambda post, new, thing: new["properties"].pop("name"), "POST /v1/thing body.name: removed"),
        (lambda post, new, thing: new["required"].append("kind"), "POST /v1/thing body.kind: is required"),
        (lambda post, new, thing: new["properties"]["kind"].update(enum=["a"]), "POST /v1/thing body.kind: no longer takes ['b']"),
        (lambda post, new, thing: new["properties"]["name"].update(enum=["x"]), "POST /v1/thing body.name: takes only ['x']"),
        (lambda post, new, thing: new["properties"]["name"].update(type="integer"), "POST /v1/thing body.name: no longer takes string"),
        (lambda post, new, thing: new["properties"]["size"]["anyOf"].pop(), "POST /v1/thing body.size: no longer takes null"),
        (
            lambda post, new, thing: new["properties"]["size"]["anyOf"][0].update(maximum=8),
            "POST /v1/thing body.size: maximum is 8, was 9",
        ),
        (lambda post, new, thing: new["properties"]["name"].update(pattern="^x"), "POST /v1/thing body.name: pattern is ^x, was None"),
        (lambda post, new, thing: new["properties"]["kind"].update(default="b"), "POST /v1/thing body.kind: defaults to 'b', was 'a'"),
        (lambda post, new, thing: post["parameters"].pop(), "POST /v1/thing parameter.query dry: removed"),
        (lambda post, new, thing: post["parameters"][0].update(required=True), "POST /v1/thing parameter.query dry: is required"),
        (lambda post, new, thing: post["requestBody"].update(content={}), "POST /v1/thing body: no longer takes application/json"),
        (lambda post, new, thing: thing["properties"].pop("size"), "POST /v1/thing response.size: removed"),
        (lambda post, new, thing: thing["required"].remove("size"), "POST /v1/thing response.size: may be missing"),
        (lambda post, new, thing: thing["properties"]["size"].update(type="number"), "POST /v1/thing response.size: may be number"),
        (
            lambda post, new, thing: thing["properties"].update(size={"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            "POST /v1/thing response.size: may be null",
        ),
        (
            lambda post, new, thing: thing["properties"]["state"].pop("enum"),
            "POST /v1/thing response.state: may be any value, was one of ['new']",
        ),
        (
            lambda post, new, thing: thing["properties"]["parts"].update(items={"type": "string"}),
            "POST /v1/thing response.parts[]: may be string",
        ),
        (lambda post, new, thing: post["responses"]["200"].update(content={}), "POST /v1/thing response 200: no longer application/json"),
        (lambda post, new, thing: post.update({"x-name": "create"}), "POST /v1/thing: x-name is 'create'"),
        (lambda post, new, thing: post.update({"x-scope": "admin"}), "POST /v1/thing: x-scope is 'admin'"),
    ]
)
def test_a_breaking_change_is_found(change: Change, found: str) -> None:
    assert found in breaking_changes(DOCUMENT, changed(change))


def test_an_event_that_goes_or_loses_a_field_is_found() -> None:
    gone, poorer, richer = copy.deepcopy(DOCUMENT), copy.deepcopy(DOCUMENT), copy.deepcopy(DOCUMENT)
    gone["components"]["schemas"]["ThingEvent"]["oneOf"].pop()
    poorer["components"]["schemas"]["ThingEventMade"]["properties"]["data"] = {
        "type": "object",
        "properties": {"size": {"type": "integer"}},
    }
    richer["components"]["schemas"]["ThingEventGone"]["properties"]["data"]["properties"]["why"] = {"type": "string"}

    assert breaking_changes(DOCUMENT, gone) == ["POST /v1/thing event gone: removed"]
    assert "POST /v1/thing event made.data.state: removed" in breaking_changes(DOCUMENT, poorer)
    assert breaking_changes(gone, DOCUMENT) == breaking_changes(DOCUMENT, richer) == []


def test_a_removed_operation_is_found() -> None:
    assert breaking_changes(DOCUMENT, {**DOCUMENT, "paths": {}}) == ["POST /v1/thing: removed"]


@pytest.mark.parametrize(
    "change",
    [
        lambda post, new, thing: None,
        lambda post, new, thing: new["properties"].update(more={"type": "string"}),
        lambda post, new, thing: new["properties"]["kind"].update(enum=["a", "b", "c"]),
        lambda post, new, thing: new["properties"]["size"]["anyOf"][0].update(type="number", maximum=10),
        lambda post, new, thing: new.update(required=[]),
        lambda post, new, thing: thing["properties"].update(more={"type": "string"}),
        lambda post, new, thing: thing["properties"]["state"].update(enum=["new", "old"]),
        lambda post, new, thing: thing["required"].append("parts"),
    ],
)
def test_a_compatible_change_breaks_nothing(change: Change) -> None:
    assert breaking_changes(DOCUMENT, changed(change)) == []
    assert breaking_tool_changes(DOCUMENT, changed(change)) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda post, new, thing: post.update({"x-tool": "thing_create"}), ["thing_make: removed"]),
        (lambda post, new, thing: post.update({"x-aliases": []}), ["make_thing: removed"]),
        (lambda post, new, thing: new["required"].append("kind"), ["make_thing.kind: is required", "thing_make.kind: is required"]),
        (lambda post, new, thing: new["properties"].pop("size"), ["make_thing.size: removed", "thing_make.size: removed"]),
    ],
)
def test_a_breaking_change_of_a_tool_is_found(change: Change, found: list[str]) -> None:
    assert breaking_tool_changes(DOCUMENT, changed(change)) == found


def test_a_snapshot_keeps_what_breaks_clients_and_reads_back() -> None:
    kept = reduced(DOCUMENT)

    assert json.loads(written(kept)) == kept
    assert "Make a thing." not in written(kept)
    assert breaking_changes(kept, DOCUMENT) == breaking_changes(DOCUMENT, kept) == []


def test_nothing_that_clients_of_the_last_release_use_is_broken() -> None:
    old, new = last_release(), json.loads(generate.openapi())

    assert sorted({*breaking_changes(old, new), *breaking_tool_changes(old, new)} ^ set(INTENDED)) == []
