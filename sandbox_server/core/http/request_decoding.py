"""Decodes an HTTP request into the fields of an operation."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, get_origin

import orjson
from starlette.requests import ClientDisconnect, HTTPConnection, Request

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.errors import InvalidArgument, TooLarge
from sandbox_server.core.http.concurrency_limits import BODY_WAIT_SECONDS, COPIES
from sandbox_server.core.operation import Spec
from sandbox_server.core.quota import Reservation

MAX_PUBLIC_BYTES = 64 << 10
"""Limit in bytes of a body from a caller who is not signed in."""
MAX_DEPTH = 128
"""Limit of nested lists and objects in a body."""
MAX_VALUES = 500_000
"""Limit of values in a body. Each takes about 100 bytes of memory."""
LARGE = 16 << 20
LARGE_COST = 300 << 20
MAX_PAUSE_SECONDS = 1.0
"""After decoding a large body, other requests are served for as long as that took, but at most so many seconds."""
_BLANK = 1 << 10
"""Bytes of a body that need no reservation."""
_PIECE = 1 << 20
"""Bytes that are reserved at a time for a body of unknown length."""


async def fields_of(request: Request, spec: Spec, place: Reservation | None = None) -> dict[str, object]:
    """Return the fields from the path, then from the body or the query.

    Their memory is reserved in `place`. Raises InvalidFields, TooLarge, InvalidArgument and ResourceExhausted.
    """
    if spec.reads_json and spec.whole_body:
        return {spec.whole_body: await _json(request, spec, place), **query_of(request, spec, only=spec.query), **request.path_params}
    if spec.reads_json:
        return {
            **await _json(request, spec, place),
            **query_of(request, spec, only=spec.query),
            **request.path_params,
        }
    return {**query_of(request, spec), **request.path_params}


def query_of(connection: HTTPConnection, spec: Spec, only: tuple[str, ...] | None = None) -> dict[str, object]:
    """Return the fields from the query. A list field takes all values of its name."""
    if spec.request is None:
        return {}
    found: dict[str, object] = {}
    for name, field in spec.request.model_fields.items():
        if name in connection.query_params and (only is None or name in only):
            many = _is_list(field.annotation)
            found[name] = connection.query_params.getlist(name) if many else connection.query_params[name]
    return found


def with_locations(problems: list[dict[str, Any]], spec: Spec) -> list[dict[str, Any]]:
    """Prefix each problem's location with the source of the field, as FastAPI does and the SDKs expect."""
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


async def _json(request: Request, spec: Spec, place: Reservation | None) -> dict[str, object]:
    body = await _read(request, MAX_PUBLIC_BYTES if spec.scope == "public" else spec.max_body, place)
    began = time.monotonic()
    value = _parse_json(body)
    if len(body) > LARGE:  # decoding blocked everything else: let other requests run first
        await asyncio.sleep(min(MAX_PAUSE_SECONDS, time.monotonic() - began))
    if place:
        place.shrink(len(body))
    if not isinstance(value, dict):
        raise _json_error("Input should be an object", "model_attributes_type")
    return value


def _parse_json(body: bytes | bytearray) -> object:
    """Parse a JSON body.

    Raises InvalidFields if it is malformed or too deep, and TooLarge if it has too many values.
    """
    if len(body) <= _BLANK and body.strip() in (b"", b"null"):
        return {}
    openings = body.count(b"[") + body.count(b"{")
    if openings + body.count(b",") > MAX_VALUES and values_in(body) > MAX_VALUES:
        raise TooLarge(f"a body may have at most {MAX_VALUES} values", limit=MAX_VALUES)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _json_error(f"JSON decode error: {error.msg}", "json_invalid", error.pos) from None
    if openings > MAX_DEPTH and depth_of(value) > MAX_DEPTH:
        raise _json_error(f"JSON decode error: nested more than {MAX_DEPTH} levels deep", "json_invalid")
    return value


def _json_error(message: str, kind: str, *place: int) -> InvalidFields:
    return InvalidFields([{"loc": ("body", *place), "msg": message, "type": kind}])


def values_in(body: bytes | bytearray) -> int:
    """Return an upper bound of the number of values in JSON text, in linear time and memory, before it is parsed."""
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # every quote that is left delimits a string
    if plain.count(b'"') > 2 * MAX_VALUES:
        return MAX_VALUES + 1
    between = plain.split(b'"')[::2]
    return 1 + sum(piece.count(b",") + piece.count(b"[") + piece.count(b"{") for piece in between)


def depth_of(value: object) -> int:
    """Return how deep lists and objects are nested in a value."""
    depth, level = 0, [value]
    while level := [
        inner for each in level if isinstance(each, dict | list) for inner in (each.values() if isinstance(each, dict) else each)
    ]:
        depth += 1
    return depth


async def body_of(request: Request) -> AsyncIterator[bytes]:
    """Yield a body as it arrives; raises InvalidArgument if the client stops half way."""
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect:
        raise InvalidArgument("the body is incomplete: the client closed the connection") from None


async def _read(request: Request, limit: int, place: Reservation | None) -> bytearray:
    """Read a whole body. Its memory is reserved before it arrives."""
    body, reserved = bytearray(), 0
    declared = int(request.headers.get("content-length") or 0)
    if declared > limit:
        raise _too_large(limit)
    if place and declared:
        reserved = declared
        await place.grow(_cost(declared), BODY_WAIT_SECONDS)
    async for chunk in body_of(request):
        if len(body) + len(chunk) > limit:
            raise _too_large(limit)
        while place and len(body) + len(chunk) > reserved:
            await place.grow(COPIES * _PIECE, BODY_WAIT_SECONDS)
            reserved += _PIECE
        body += chunk
    return body


def _cost(declared: int) -> int:
    """Return the memory to reserve for a body. For a large one it is so much that the same program's next one waits."""
    return COPIES * declared if declared <= LARGE else max(COPIES * declared, LARGE_COST)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"a JSON body may have {limit} bytes here; upload larger files", limit=limit)
