"""What the OpenAPI document says of server-sent events: a schema for each event, and one for any event of a stream.

A stream's media type names the latter in `x-itemSchema`: OpenAPI 3.2 calls it `itemSchema`, and generators of 3.1 make types of it like
of any schema. `data` is described as what its JSON says.
"""

from collections.abc import Callable
from typing import Any

from sandbox_server.core.results import EventTypes

ERROR = "ErrorEvent"
ITEM_SCHEMA = "x-itemSchema"
_REF = "#/components/schemas/{model}"

_FAILURE: dict[str, Any] = {
    "type": "object",
    "title": "ErrorEventData",
    "description": "Why a stream ended before its last event.",
    "required": ["kind", "message"],
    "properties": {
        "kind": {"type": "string", "description": "The kind of the failure, such as `not_found`; `internal` is a defect."},
        "message": {"type": "string", "description": "One sentence for the caller."},
        "hint": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "What to do about it."},
    },
}


def _event(title: str, name: str, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "title": title,
        "required": ["event", "data"],
        "properties": {
            "event": {"type": "string", "const": name},
            "data": data,
            "id": {"type": "string", "description": "What `Last-Event-ID` resumes after."},
        },
    }


SCHEMAS: dict[str, dict[str, Any]] = {
    "ErrorEventData": _FAILURE,
    ERROR: _event(ERROR, "error", {"$ref": _REF.format(model="ErrorEventData")}),
}
"""Of the event with which any stream may end."""


def event_schemas(types: EventTypes, data_schema: Callable[[Any], dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The schemas of a stream's events by name; `data_schema` gives that of a type of data."""
    titles = {name: types.name + "".join(word.capitalize() for word in name.split("_")) for name in types.data}
    schemas = {titles[name]: _event(titles[name], name, data_schema(kind)) for name, kind in types.data.items()}
    mapping = {name: _REF.format(model=title) for name, title in {**titles, "error": ERROR}.items()}
    schemas[types.name] = {
        "title": types.name,
        "description": "One event of the stream. On the wire, `data` is JSON on one line.",
        "oneOf": [{"$ref": reference} for reference in mapping.values()],
        "discriminator": {"propertyName": "event", "mapping": mapping},
    }
    return schemas


def event_stream(types: EventTypes | None) -> dict[str, Any]:
    """The media type of a stream."""
    text = {"schema": {"$ref": _REF.format(model="EventStream")}}
    return text | ({ITEM_SCHEMA: {"$ref": _REF.format(model=types.name)}} if types else {})
