"""The OpenAPI 3.1 document, made from the operations when it is asked for."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from itertools import pairwise
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, RootModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from sandbox_server.core.openapi_events import event_schemas
from sandbox_server.core.openapi_responses import RESPONSES, SCHEMAS, failures, success
from sandbox_server.core.operation import Operation, Spec

_REF = "#/components/schemas/{model}"


def document(
    operations: Iterable[Operation], *, title: str, version: str, tags: Mapping[str, tuple[str, str]] | None = None
) -> dict[str, Any]:
    """Describe every HTTP operation. `tags` has a sentence and search words for each known tag, in the order in which they are listed.

    An `operationId` is unique in the document; `x-name` is the name within the tag, by which the command line calls the operation.
    `x-scope`, `x-tool`, `x-aliases` and a tag's `x-words` carry what the MCP surface, the command line and the reference page need beside
    the standard keys. `x-decides` is true for what no program may call, but for one that has the owner's key.
    """
    described = [operation for operation in operations if not operation.spec.socket]
    models = sorted(
        {model for operation in described for model in _inputs(operation.spec)},
        key=lambda model: model.__name__,
    )
    schemas, components = _schemas(models)
    paths: dict[str, dict[str, Any]] = {}
    for operation in described:
        entry = _entry(operation, schemas, components)
        paths.setdefault(operation.spec.path, {})[operation.spec.verb.lower()] = entry
    streams = {operation.events.name: operation.events for operation in described if operation.events}
    for name in sorted(streams):
        _add(event_schemas(streams[name], lambda kind: _data_schema(kind, components)), components)
    components |= SCHEMAS
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "tags": _tags({operation.tag for operation in described}, tags or {}),
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": dict(sorted(components.items())), "responses": RESPONSES},
    }


def _tags(used: set[str], known: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
    described = [{"name": name, "description": known[name][0], "x-words": known[name][1].split()} for name in known if name in used]
    return described + [{"name": name} for name in sorted(used - set(known))]


def _add(schemas: dict[str, Any], components: dict[str, Any]) -> None:
    if taken := sorted(set(schemas) & set(components)):
        raise ValueError(f"two schemas are named {taken[0]}")
    components.update(schemas)


def _inputs(spec: Spec) -> list[type[BaseModel]]:
    return [model for model in (spec.request, spec.form) if model is not None]


def _schemas(
    models: list[type[BaseModel]],
) -> tuple[dict[type[BaseModel], dict[str, Any]], dict[str, Any]]:
    keyed, document = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
    components = document.get("$defs", {})
    for model in models:
        _describe(model, components)
    return {model: schema for (model, _), schema in keyed.items()}, components  # type: ignore[misc]


def _entry(operation: Operation, schemas: dict[type[BaseModel], dict[str, Any]], components: dict[str, Any]) -> dict[str, Any]:
    spec = operation.spec
    entry: dict[str, Any] = {
        "operationId": f"{operation.tag.replace('-', '_')}_{spec.name}",
        "tags": [operation.tag],
        "summary": spec.summary,
        "parameters": _parameters(spec, schemas, components),
        "responses": {"200": success(operation, lambda: _data_schema(spec.returns, components)), **failures(spec)},
        "x-name": spec.name,
        "x-scope": spec.scope,
        "x-read-only": spec.read_only,
        "x-destructive": spec.destructive,
    }
    optional = {
        "description": _description(spec),
        "deprecated": spec.deprecated is not None,
        "x-tool": spec.tool,
        "x-idempotent": spec.tool and spec.idempotent,
        "x-open-world": spec.tool and spec.open_world,
        "x-decides": spec.decides,
        "x-page-text": spec.page_text,
        "x-aliases": list(spec.aliases),
        "x-body": spec.whole_body,
        "requestBody": _body(spec, schemas, components),
    }
    entry.update({key: value for key, value in optional.items() if value})
    return entry


def _description(spec: Spec) -> str:
    return "\n\n".join(filter(None, (spec.description, spec.deprecated.sentence if spec.deprecated else "")))


def _fields(spec: Spec, schemas: dict[type[BaseModel], dict[str, Any]], components: dict[str, Any]) -> dict[str, Any]:
    return {} if spec.request is None else _deref(schemas[spec.request], components)


def _deref(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    return components[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema


def _parameters(spec: Spec, schemas: dict[type[BaseModel], dict[str, Any]], components: dict[str, Any]) -> list[dict[str, Any]]:
    schema = _fields(spec, schemas, components)
    found = []
    for name, field in schema.get("properties", {}).items():
        place = _place(spec, name)
        if place == "body":
            continue
        required = place == "path" or name in schema.get("required", [])
        found.append(
            {
                "name": name,
                "in": place,
                "required": required,
                "schema": field,
                "description": field.get("description", ""),
            }
        )
    return found


def _place(spec: Spec, name: str) -> Literal["path", "query", "body"]:
    if f"{{{name}}}" in spec.path:
        return "path"
    return "body" if spec.reads_json and name not in spec.query else "query"


def _body(spec: Spec, schemas: dict[type[BaseModel], dict[str, Any]], components: dict[str, Any]) -> dict[str, Any] | None:
    if spec.form is not None:
        return {
            "required": True,
            "content": {"multipart/form-data": {"schema": schemas[spec.form]}},
        }
    if "body" in spec.parameters.values():
        return {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    schema = _fields(spec, schemas, components)
    if spec.request is not None and issubclass(spec.request, RootModel):
        return {"required": True, "content": {"application/json": {"schema": schemas[spec.request]}}}
    if not spec.reads_json or not any(_place(spec, name) == "body" for name in schema.get("properties", {})):
        return None
    return {
        "required": bool(schema.get("required")),
        "content": {"application/json": {"schema": _body_schema(spec, schemas, schema)}},
    }


def _body_schema(spec: Spec, schemas: dict[type[BaseModel], dict[str, Any]], schema: dict[str, Any]) -> dict[str, Any]:
    if spec.whole_body:
        return dict(schema["properties"][spec.whole_body])
    elsewhere = [name for name in schema.get("properties", {}) if _place(spec, name) != "body"]
    if not elsewhere or spec.request is None:
        return schemas[spec.request] if spec.request else {}
    properties = {name: value for name, value in schema["properties"].items() if name not in elsewhere}
    required = [name for name in schema.get("required", []) if name not in elsewhere]
    return {
        "type": "object",
        "title": schema.get("title", ""),
        "properties": properties,
        **({"required": required} if required else {}),
    }


def _data_schema(returns: Any, components: dict[str, Any]) -> dict[str, Any]:
    if returns in (None, type(None), object, Any):
        return {}
    schema = TypeAdapter(returns).json_schema(mode="serialization", ref_template=_REF)
    components.update(schema.pop("$defs", {}))
    for model in _models_in(returns):
        _describe(model, components)
    if isinstance(returns, type) and issubclass(returns, BaseModel) and "properties" in schema:
        components[returns.__name__] = schema
        _describe(returns, components)
        return {"$ref": _REF.format(model=returns.__name__)}
    return schema


def _models_in(annotation: Any) -> list[type]:
    if isinstance(annotation, type) and (issubclass(annotation, BaseModel) or is_dataclass(annotation)):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]


def _describe(
    model: type,
    components: dict[str, Any],
    seen: frozenset[type] = frozenset(),
) -> None:
    """Fill in the descriptions of a model and of those in its fields from the strings under the fields."""
    if model in seen:
        return
    properties = components.get(model.__name__, {}).get("properties", {})
    for name, text in field_docs(model).items():
        if name in properties:
            properties[name].setdefault("description", text)
    fields = [field.annotation for field in model.model_fields.values()] if issubclass(model, BaseModel) else get_type_hints(model).values()
    for annotation in fields:
        for inner in _models_in(annotation):
            _describe(inner, components, seen | {model})


def field_docs(model: type) -> dict[str, str]:
    """The string under each field of a model or dataclass, read from its source; own fields win over inherited ones."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if cls is not BaseModel and (issubclass(cls, BaseModel) or is_dataclass(cls)):
            found.update(_own_docs(cls))
    return found


def _own_docs(cls: type) -> dict[str, str]:
    try:
        source = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    except (OSError, TypeError):
        return {}
    body = source.body if isinstance(source, ast.ClassDef) else []
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }
