from collections.abc import AsyncIterator
from datetime import date
from typing import Any, Literal

import pytest
from pydantic import Field

from sandbox_server.core import (
    Blob,
    Body,
    Content,
    Deprecation,
    Event,
    EventTypes,
    Model,
    Reply,
    Socket,
    Upload,
    operation,
    socket,
    stream_of,
)
from sandbox_server.core.openapi import document, field_docs
from sandbox_server.core.operation import operations


class Inner(Model):
    size: int
    """How large, in bytes."""


class Outer(Inner):
    name: str
    """What it is called."""
    kind: Literal["a", "b"] = "a"
    inner: Inner | None = None
    """What is in it."""
    many: list[Inner] = Field(default_factory=list)


class Ask(Model):
    name: str
    """Which one."""
    limit: int = Field(default=10, ge=1, le=100)
    """How many."""


class Form(Model):
    file: bytes
    path: str | None = None
    """Where it goes."""


class Feature:
    tag = "things"

    @operation("GET /v1/things/{name}", scope="view", tool="thing", aliases=("old_thing",))
    async def read(self, request: Ask) -> Outer:
        """Read one.

        It must exist.
        """
        raise NotImplementedError

    @operation("POST /v1/things/{name}", scope="files", query=("limit",), destructive=True, message="Made")
    async def make(self, request: Ask) -> Reply[list[Inner]]:
        """Make one."""
        raise NotImplementedError

    @operation("PUT /v1/things", scope="files")
    async def change(self, request: Outer) -> None:
        """Change one."""

    @stream_of(change, events=EventTypes("ThingEvent", {"thing_changed": Outer, "all": list[Inner]}))
    async def change_events(self, request: Outer) -> AsyncIterator[Event]:
        """Tell of changes."""
        yield Event("x", None)

    @operation("GET /v1/things", scope="view", envelope=False)
    async def bare(self) -> list[Inner]:
        """List them."""
        return []

    @operation("GET /v1/events", scope="view")
    async def events(self) -> AsyncIterator[Event]:
        """Tell of everything."""
        yield Event("x", None)

    @operation("POST /v1/touch", scope="files", failures="file")
    async def touch(self) -> Inner:
        """Touch one."""
        raise NotImplementedError

    @operation("POST /v1/upload", scope="files", form=Form)
    async def upload(self, upload: Upload) -> None:
        """Take a file."""

    @operation("PATCH /v1/raw", scope="files")
    async def raw(self, request: Ask, body: Body) -> None:
        """Take bytes."""

    @operation("GET /v1/picture", scope="browser", media_type=("image/png", "image/webp"))
    async def picture(self) -> Blob:
        """Give a picture."""
        raise NotImplementedError

    @operation("GET /v1/download", scope="view")
    async def download(self) -> Content:
        """Give bytes."""
        raise NotImplementedError

    @socket("/v1/ws", scope="view")
    async def talk(self, socket: Socket) -> None:
        """Talk."""


DOCUMENT = document(operations(Feature()), title="Things", version="1.2.3")
SCHEMAS = DOCUMENT["components"]["schemas"]


def entry(verb: str, path: str) -> Any:
    return DOCUMENT["paths"][path][verb]


def content(verb: str, path: str) -> Any:
    return entry(verb, path)["responses"]["200"]["content"]


def test_the_document_says_what_it_describes() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"] == {"title": "Things", "version": "1.2.3"}


def test_sockets_are_not_part_of_it() -> None:
    assert "/v1/ws" not in DOCUMENT["paths"]


def test_an_operation_has_its_words_and_its_marks() -> None:
    found = entry("get", "/v1/things/{name}")

    assert found["operationId"] == "things_read"
    assert (found["x-name"], found["tags"], found["summary"], found["description"]) == (
        "read",
        ["things"],
        "Read one.",
        "It must exist.",
    )
    assert (found["x-scope"], found["x-tool"], found["x-aliases"]) == ("view", "thing", ["old_thing"])
    assert (found["x-read-only"], found["x-destructive"]) == (True, False)
    assert entry("post", "/v1/things/{name}")["x-destructive"] is True
    assert "x-tool" not in entry("get", "/v1/things")


def test_fields_without_a_body_are_parameters() -> None:
    name, limit = entry("get", "/v1/things/{name}")["parameters"]

    assert (name["name"], name["in"], name["required"], name["description"]) == ("name", "path", True, "Which one.")
    assert (limit["name"], limit["in"], limit["required"]) == ("limit", "query", False)
    assert (limit["schema"]["default"], limit["schema"]["minimum"], limit["schema"]["maximum"]) == (10, 1, 100)


def test_fields_declared_as_query_leave_the_body() -> None:
    made = entry("post", "/v1/things/{name}")

    assert [(found["name"], found["in"]) for found in made["parameters"]] == [("name", "path"), ("limit", "query")]
    assert "requestBody" not in made


def test_a_body_is_a_reference_to_its_model() -> None:
    body = entry("put", "/v1/things")["requestBody"]

    assert body == {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Outer"}}}}


def test_the_string_under_a_field_is_its_description_in_nested_and_inherited_models_too() -> None:
    assert SCHEMAS["Outer"]["properties"]["name"]["description"] == "What it is called."
    assert SCHEMAS["Outer"]["properties"]["size"]["description"] == "How large, in bytes."
    assert SCHEMAS["Inner"]["properties"]["size"]["description"] == "How large, in bytes."
    assert field_docs(Outer) == {"size": "How large, in bytes.", "name": "What it is called.", "inner": "What is in it."}


def test_a_form_and_raw_bytes_are_described_as_such() -> None:
    form = entry("post", "/v1/upload")["requestBody"]["content"]
    raw = entry("patch", "/v1/raw")

    assert list(form) == ["multipart/form-data"]
    assert SCHEMAS["Form"]["properties"]["path"]["description"] == "Where it goes."
    assert list(raw["requestBody"]["content"]) == ["application/octet-stream"]
    assert [(found["name"], found["in"]) for found in raw["parameters"]] == [("name", "query"), ("limit", "query")]


def test_a_result_stands_in_the_envelope() -> None:
    envelope = content("post", "/v1/things/{name}")["application/json"]["schema"]

    assert list(envelope["properties"]) == ["success", "message", "data", "hint"]
    assert envelope["properties"]["message"]["default"] == "Made"
    assert envelope["properties"]["data"] == {"type": "array", "items": {"$ref": "#/components/schemas/Inner"}}


def test_a_result_without_envelope_stands_alone() -> None:
    assert content("get", "/v1/things")["application/json"]["schema"]["type"] == "array"


def test_a_file_operation_may_answer_a_file_error() -> None:
    data = content("post", "/v1/touch")["application/json"]["schema"]["properties"]["data"]

    assert data == {"anyOf": [{"$ref": "#/components/schemas/Inner"}, {"$ref": "#/components/schemas/FileOperationError"}]}
    assert SCHEMAS["FileOperationError"]["properties"]["error_type"]["enum"][0] == "not_found"


def test_streams_and_bytes_have_their_media_types() -> None:
    assert list(content("put", "/v1/things")) == ["application/json", "text/event-stream"]
    assert list(content("get", "/v1/events")) == ["text/event-stream"]
    assert content("get", "/v1/picture") == {key: {"schema": {"type": "string", "format": "binary"}} for key in ("image/png", "image/webp")}
    assert list(content("get", "/v1/download")) == ["application/octet-stream"]


def test_a_stream_is_described_as_events() -> None:
    assert content("get", "/v1/events")["text/event-stream"] == {"schema": {"$ref": "#/components/schemas/EventStream"}}


def test_a_stream_that_says_what_its_events_are_names_their_schema() -> None:
    stream = content("put", "/v1/things")["text/event-stream"]

    assert stream["schema"] == {"$ref": "#/components/schemas/EventStream"}
    assert stream["x-itemSchema"] == {"$ref": "#/components/schemas/ThingEvent"}
    assert SCHEMAS["ThingEventThingChanged"]["properties"]["data"] == {"$ref": "#/components/schemas/Outer"}
    assert SCHEMAS["ThingEventAll"]["properties"]["data"] == {"type": "array", "items": {"$ref": "#/components/schemas/Inner"}}


def test_a_schema_of_an_event_takes_no_other_schemas_name() -> None:
    class Taken:
        tag = "taken"

        @operation("GET /v1/taken", scope="view", events=EventTypes("Outer", {"told": Outer}))
        async def events(self) -> AsyncIterator[Event]:
            """Tell of it."""
            yield Event("told", None)

    with pytest.raises(ValueError, match="two schemas are named Outer"):
        document(operations(Taken()), title="t", version="1")


def test_what_can_be_wrong_with_fields_is_described_where_there_are_any() -> None:
    assert "422" in entry("put", "/v1/things")["responses"]
    assert "422" not in entry("get", "/v1/events")["responses"]


def test_every_reference_leads_somewhere() -> None:
    def references(value: object) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if "$ref" in value else set()
            return own.union(*(references(inner) for inner in value.values()))
        return set().union(*(references(inner) for inner in value)) if isinstance(value, list) else set()

    there = {f"#/components/{kind}/{name}" for kind, named in DOCUMENT["components"].items() for name in named}
    assert references(DOCUMENT) <= there


class Retired:
    tag = "retired"

    @operation("GET /v1/retired", scope="view", deprecated=Deprecation(date(2027, 1, 1), replacement="GET /v1/things"))
    async def retired(self) -> None:
        """Do as before.

        As long as it is there.
        """


def test_a_deprecated_operation_is_marked_and_says_what_to_call_instead() -> None:
    entry = document(operations(Retired()), title="t", version="1")["paths"]["/v1/retired"]["get"]

    assert entry["deprecated"] is True
    assert entry["description"] == "As long as it is there.\n\nDeprecated since 2027-01-01. Use `GET /v1/things` instead."


def test_other_operations_are_not_marked() -> None:
    paths = document(operations(Feature()), title="t", version="1")["paths"]

    assert not [entry for entries in paths.values() for entry in entries.values() if "deprecated" in entry]
