"""Whether a stream gives the events that the API document describes."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from pydantic_core import to_jsonable_python

from sandbox_server.core import Event, EventTypes

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[1] / "sandbox_server/openapi.json").read_text("utf-8"))
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]


def assert_declared(types: EventTypes, events: Iterable[Event]) -> None:
    """Each event is one of the stream's, and its data has no field that is not described."""
    validator = Draft202012Validator({"$ref": f"#/components/schemas/{types.name}", "components": DOCUMENT["components"]})
    for event in events:
        sent = {"event": event.event, "data": to_jsonable_python(event.data), **({"id": event.id} if event.id else {})}
        validator.validate(sent)
        described = SCHEMAS[SCHEMAS[types.name]["discriminator"]["mapping"][event.event].rsplit("/", 1)[1]]["properties"]["data"]
        assert _undescribed(sent["data"], described) == set(), event


def _undescribed(value: Any, schema: dict[str, Any]) -> set[str]:
    """The fields of an object, or of a list's objects, that no schema describes."""
    if isinstance(value, list):
        return set().union(*(_undescribed(each, schema["items"]) for each in value))
    if "anyOf" in schema:
        return min((_undescribed(value, each) for each in schema["anyOf"]), key=len)
    found = SCHEMAS[schema["$ref"].rsplit("/", 1)[1]]
    return set() if found.get("additionalProperties") is True else set(value) - set(found["properties"])
