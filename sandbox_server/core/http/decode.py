"""From an HTTP request to the fields of an operation."""

from collections.abc import AsyncIterator
from typing import Any, get_origin

import orjson
from starlette.requests import ClientDisconnect, HTTPConnection, Request

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.errors import InvalidArgument, TooLarge
from sandbox_server.core.operation import Spec

MAX_JSON_BYTES = 256 * 1024 * 1024
"""A file written as base64 in one call may be this large, with its encoding; larger ones are uploaded."""


async def fields_of(request: Request, spec: Spec) -> dict[str, object]:
    """Fields from the path, then from the body or the query."""
    if spec.reads_json and spec.whole_body:
        return {spec.whole_body: await _json(request), **query_of(request, spec, only=spec.query), **request.path_params}
    if spec.reads_json:
        return {
            **await _json(request),
            **query_of(request, spec, only=spec.query),
            **request.path_params,
        }
    return {**query_of(request, spec), **request.path_params}


def query_of(connection: HTTPConnection, spec: Spec, only: tuple[str, ...] | None = None) -> dict[str, object]:
    """Fields from the query; a field that holds a list takes every value given."""
    if spec.request is None:
        return {}
    found: dict[str, object] = {}
    for name, field in spec.request.model_fields.items():
        if name in connection.query_params and (only is None or name in only):
            many = _is_list(field.annotation)
            found[name] = connection.query_params.getlist(name) if many else connection.query_params[name]
    return found


def located(problems: list[dict[str, Any]], spec: Spec) -> list[dict[str, Any]]:
    """Prefix each problem's location with where the field comes from, as FastAPI does and the SDKs expect."""
    return [{**problem, "loc": _location(problem["loc"], spec)} for problem in problems]


def _location(loc: tuple[Any, ...], spec: Spec) -> list[Any]:
    if loc and loc[0] in ("body", "query", "path"):
        return list(loc)
    if loc and f"{{{loc[0]}}}" in spec.path:
        return ["path", *loc]
    return ["body" if spec.reads_json and not (loc and loc[0] in spec.query) else "query", *loc]


def _is_list(annotation: Any) -> bool:
    arguments = getattr(annotation, "__args__", ())
    return get_origin(annotation) is list or any(get_origin(argument) is list for argument in arguments)


async def _json(request: Request) -> dict[str, object]:
    body = await _read(request)
    if body.strip() in (b"", b"null"):
        return {}
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidFields(
            [
                {
                    "loc": ("body", error.pos),
                    "msg": f"JSON decode error: {error.msg}",
                    "type": "json_invalid",
                }
            ]
        ) from None
    if not isinstance(value, dict):
        raise InvalidFields(
            [
                {
                    "loc": ("body",),
                    "msg": "Input should be an object",
                    "type": "model_attributes_type",
                }
            ]
        )
    return value


async def body_of(request: Request) -> AsyncIterator[bytes]:
    """A body as it arrives; raises InvalidArgument if the client stops half way."""
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect:
        raise InvalidArgument("the body ended half way") from None


async def _read(request: Request) -> bytes:
    if int(request.headers.get("content-length") or 0) > MAX_JSON_BYTES:
        raise TooLarge(
            f"a JSON body may have {MAX_JSON_BYTES} bytes; upload larger files",
            limit=MAX_JSON_BYTES,
        )
    chunks: list[bytes] = []
    total = 0
    async for chunk in body_of(request):
        total += len(chunk)
        if total > MAX_JSON_BYTES:
            raise TooLarge(
                f"a JSON body may have {MAX_JSON_BYTES} bytes; upload larger files",
                limit=MAX_JSON_BYTES,
            )
        chunks.append(chunk)
    return b"".join(chunks)
