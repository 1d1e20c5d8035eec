"""JSON Schemas of the OpenAPI document for agents: references inlined, titles removed, an object at the top."""

from collections.abc import Mapping
from typing import Any

type Schema = dict[str, Any]

_NESTED_MAPS = ("properties", "patternProperties")
_NESTED_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NESTED = ("items", "additionalProperties", "not")
_DROPPED = frozenset({"$ref", "title", "discriminator"})


def inline_references(schema: Mapping[str, Any], components: Mapping[str, Any], inside: frozenset[str] = frozenset()) -> Schema:
    """Inline every `$ref`. A recursive model becomes any object inside itself."""
    name = schema.get("$ref", "").rsplit("/", 1)[-1]
    if name in inside:
        return {"type": "object"}
    if name:
        schema = {**components[name], **{key: value for key, value in schema.items() if key != "$ref"}}
        inside |= {name}
    return {key: _inlined_value(key, value, components, inside) for key, value in schema.items() if key not in _DROPPED}


def _inlined_value(key: str, value: Any, components: Mapping[str, Any], inside: frozenset[str]) -> Any:
    if key in _NESTED_MAPS:
        return {name: inline_references(inner, components, inside) for name, inner in value.items()}
    if key in _NESTED_LISTS:
        return [inline_references(inner, components, inside) for inner in value]
    if key in _NESTED and isinstance(value, dict):
        return inline_references(value, components, inside)
    return value


def object_of(properties: Mapping[str, Schema], required: list[str]) -> Schema:
    """An object schema with these properties and no others."""
    schema: Schema = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}
