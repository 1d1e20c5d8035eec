"""Breaking changes between two OpenAPI documents, by the table of versions in CONTRIBUTING.md.

A request of the old document must still be taken, and a response of the new one must still be understood. New fields, new
operations, wider requests and new values of a response's enum break nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_server.core.identity import ALL_SCOPES
from sandbox_server.mcp.tool_filter import ToolFilter, names_of
from sandbox_server.mcp.tools.catalog import ApiTool, read_catalog

type Schema = Mapping[str, Any]
type Document = Mapping[str, Any]
type Alternative = tuple[str, Schema]
"""What a value may be, with the name of its schema if it has one."""

UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
KINDS = {str: "string", int: "integer", bool: "boolean", float: "number", type(None): "null"}


@dataclass(frozen=True)
class Comparison:
    """The schemas of an old and a new document, from the side of a `request` or of a `response`."""

    old: Mapping[str, Schema]
    new: Mapping[str, Schema]
    is_response: bool = False

    def changes(self, old: Schema, new: Schema, at: str, inside: frozenset[tuple[str, str]] = frozenset()) -> Iterator[str]:
        """What breaks a client; `inside` names the pairs of schemas around this one, so that recursive ones end."""
        before, after = list(alternatives(old, self.old)), list(alternatives(new, self.new))
        given, taken = (after, before) if self.is_response else (before, after)
        for mine in given:
            pairs = [
                (other, mine) if self.is_response else (mine, other) for other in taken if _is_within(kind_of(mine[1]), kind_of(other[1]))
            ]
            tried = [list(self._pair(was, is_, at, inside)) for was, is_ in pairs]
            if not tried:
                yield f"{at}: {'may be' if self.is_response else 'no longer takes'} {kind_of(mine[1]) or 'any value'}"
            elif all(tried):
                yield from min(tried, key=len)

    def _pair(self, was: Alternative, is_: Alternative, at: str, inside: frozenset[tuple[str, str]]) -> Iterator[str]:
        (name, old), (new_name, new) = was, is_
        if (name, new_name) in inside:
            return
        if name and new_name:
            inside |= {(name, new_name)}
        yield from _enum_changes(old, new, at, is_response=self.is_response)
        if not self.is_response:
            yield from _limit_changes(old, new, at)
        yield from self._field_changes(old, new, at, inside)
        for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
            if isinstance(old.get(key), Mapping) and isinstance(new.get(key), Mapping):
                yield from self.changes(old[key], new[key], f"{at}{mark}", inside)

    def _field_changes(self, old: Schema, new: Schema, at: str, inside: frozenset[tuple[str, str]]) -> Iterator[str]:
        fields = new.get("properties", {})
        for name, schema in old.get("properties", {}).items():
            if name not in fields:
                yield f"{at}.{name}: removed"
                continue
            yield from self.changes(schema, fields[name], f"{at}.{name}", inside)
            if not self.is_response and schema.get("default") != fields[name].get("default"):
                yield f"{at}.{name}: defaults to {fields[name].get('default')!r}, was {schema.get('default')!r}"
        was, is_ = set(old.get("required", ())), set(new.get("required", ()))
        if self.is_response:
            yield from (f"{at}.{name}: may be missing" for name in sorted(was - is_) if name in fields)
        else:
            yield from (f"{at}.{name}: is required" for name in sorted(is_ - was))


def breaking_changes(old: Document, new: Document) -> list[str]:
    """Every breaking change of the operations."""
    before, after = _operations(old), _operations(new)
    found = [f"{name}: removed" for name in before if name not in after]
    schemas = old["components"]["schemas"], new["components"]["schemas"]
    for name in sorted(set(before) & set(after)):
        found += [f"{name} {change}" for change in _request_changes(before[name], after[name], Comparison(*schemas))]
        found += [f"{name} {change}" for change in _response_changes(before[name], after[name], Comparison(*schemas, is_response=True))]
        found += [
            f"{name}: {key} is {after[name].get(key)!r}" for key in ("x-name", "x-scope") if before[name].get(key) != after[name].get(key)
        ]
    return found


def breaking_tool_changes(old: Document, new: Document) -> list[str]:
    """Every breaking change of the MCP tools: names, aliases and arguments."""
    before, after = _tools(old), _tools(new)
    found = [f"{name}: removed" for name in before if name not in after]
    for name in sorted(set(before) & set(after)):
        found += Comparison({}, {}).changes(before[name].input_schema, after[name].input_schema, name)
    return found


def alternatives(schema: Schema, components: Mapping[str, Schema], name: str = "") -> Iterator[Alternative]:
    """The alternatives of a schema, without references."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        yield from alternatives(components[name], components, name)
    elif inner := schema.get("anyOf") or schema.get("oneOf"):
        for each in inner:
            yield from alternatives(each, components, name)
    elif isinstance(schema.get("type"), list):
        yield from ((name, {**schema, "type": kind}) for kind in schema["type"])
    else:
        yield name, schema


def kind_of(schema: Schema) -> str | None:
    """The JSON type of a schema; None for any."""
    values = values_of(schema)
    return schema.get("type") or (KINDS[type(values[0])] if values else None)


def values_of(schema: Schema) -> list[Any]:
    """The only values of a schema; empty for any."""
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def _is_within(kind: str | None, other: str | None) -> bool:
    return other is None or kind == other or (kind, other) == ("integer", "number")


def _enum_changes(old: Schema, new: Schema, at: str, *, is_response: bool) -> Iterator[str]:
    was, is_ = values_of(old), values_of(new)
    if is_response:
        if was and not is_:
            yield f"{at}: may be any value, was one of {was}"
    elif is_ and not was:
        yield f"{at}: takes only {is_}"
    elif is_ and (lost := [value for value in was if value not in is_]):
        yield f"{at}: no longer takes {lost}"


def _limit_changes(old: Schema, new: Schema, at: str) -> Iterator[str]:
    for name in (*UPPER, *LOWER):
        was, is_ = old.get(name), new.get(name)
        if is_ is not None and (was is None or (is_ < was if name in UPPER else is_ > was)):
            yield f"{at}: {name} is {is_}, was {was}"
    if "pattern" in new and new["pattern"] != old.get("pattern"):
        yield f"{at}: pattern is {new['pattern']}, was {old.get('pattern')}"


def _request_changes(old: Schema, new: Schema, compare: Comparison) -> Iterator[str]:
    yield from compare.changes(_as_object(old), _as_object(new), "parameter")
    body, taken = old.get("requestBody", {}), new.get("requestBody", {})
    if taken.get("required") and not body.get("required"):
        yield "body: is required"
    for media_type, content in body.get("content", {}).items():
        if media_type not in taken.get("content", {}):
            yield f"body: no longer takes {media_type}"
        else:
            yield from compare.changes(content["schema"], taken["content"][media_type]["schema"], "body")


def _response_changes(old: Schema, new: Schema, compare: Comparison) -> Iterator[str]:
    for status, response in old["responses"].items():
        if status not in new["responses"]:
            yield f"response {status}: removed"
            continue
        contents = new["responses"][status].get("content", {})
        for media_type, content in response.get("content", {}).items():
            if media_type not in contents:
                yield f"response {status}: no longer {media_type}"
            else:
                yield from compare.changes(content.get("schema", {}), contents[media_type].get("schema", {}), "response")
                yield from _event_changes(content, contents[media_type], compare)


def _event_changes(old: Schema, new: Schema, compare: Comparison) -> Iterator[str]:
    """Events may be added, and none may go."""
    before, after = _events(old, compare.old), _events(new, compare.new)
    for name, schema in before.items():
        if name not in after:
            yield f"event {name}: removed"
        else:
            yield from compare.changes(schema, after[name], f"event {name}")


def _events(content: Schema, components: Mapping[str, Schema]) -> dict[str, Schema]:
    """The schemas of a stream's events by name."""
    found = [schema for _, schema in alternatives(content["x-itemSchema"], components)] if "x-itemSchema" in content else []
    return {schema["properties"]["event"]["const"]: schema for schema in found}


def _as_object(entry: Schema) -> Schema:
    """The parameters of an operation as the fields of an object."""
    found = {f"{each['in']} {each['name']}": each for each in entry.get("parameters", ())}
    required = [name for name, each in found.items() if each.get("required")]
    return {"type": "object", "properties": {name: each["schema"] for name, each in found.items()}, "required": required}


def _operations(document: Document) -> dict[str, Schema]:
    return {f"{verb.upper()} {path}": entry for path, verbs in document["paths"].items() for verb, entry in verbs.items()}


def _tools(document: Document) -> dict[str, ApiTool]:
    texts = {path: {verb: {"summary": "", **entry} for verb, entry in verbs.items()} for path, verbs in document["paths"].items()}
    listed = read_catalog({**document, "paths": texts}).listed(ToolFilter(ALL_SCOPES))
    return {name: tool for tool in listed for name in names_of(tool)}
