from typing import Any

from jsonschema import Draft202012Validator

from sandbox_server.core import EventTypes
from sandbox_server.core.openapi_events import SCHEMAS, event_schemas, event_stream

TYPES = EventTypes("ThingEvent", {"made": int, "gone_away": str})


def kind_of(kind: Any) -> dict[str, Any]:
    return {"type": {int: "integer", str: "string"}[kind]}


MADE = event_schemas(TYPES, kind_of)


def is_valid(event: dict[str, Any]) -> bool:
    components = {"schemas": {**MADE, **SCHEMAS}}
    return bool(Draft202012Validator({"$ref": "#/components/schemas/ThingEvent", "components": components}).is_valid(event))


def test_each_event_has_a_schema_and_any_of_them_one() -> None:
    assert set(MADE) == {"ThingEvent", "ThingEventMade", "ThingEventGoneAway"}
    assert MADE["ThingEvent"]["discriminator"] == {
        "propertyName": "event",
        "mapping": {
            "made": "#/components/schemas/ThingEventMade",
            "gone_away": "#/components/schemas/ThingEventGoneAway",
            "error": "#/components/schemas/ErrorEvent",
        },
    }


def test_an_event_is_valid_by_its_name_and_its_data() -> None:
    assert is_valid({"event": "made", "data": 1, "id": "x"})
    assert is_valid({"event": "gone_away", "data": "why"})
    assert is_valid({"event": "error", "data": {"kind": "internal", "message": "Internal error"}})
    assert not is_valid({"event": "made", "data": "one"})
    assert not is_valid({"event": "unknown", "data": 1})
    assert not is_valid({"event": "error", "data": {}})


def test_a_stream_names_its_events_where_it_says_what_they_are() -> None:
    assert event_stream(None) == {"schema": {"$ref": "#/components/schemas/EventStream"}}
    assert event_stream(TYPES)["x-itemSchema"] == {"$ref": "#/components/schemas/ThingEvent"}
