"""Encodes an operation's result or failure as an HTTP response."""

import json
import logging
import secrets
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python
from starlette.responses import Response

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.errors import Failure, FileError
from sandbox_server.core.http.request_decoding import with_locations
from sandbox_server.core.operation import Spec
from sandbox_server.core.results import Blob, Reply

SUCCESS = "Operation successful"

_PATHS = {"file", "file_path"}
_NOTHING: dict[Any, object] = {str: "", int: 0, bool: False}

_log = logging.getLogger(__name__)


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON response."""
    return Response(json_bytes(value), status, headers, "application/json")


def json_bytes(value: object) -> bytes:
    """Encode as JSON with pydantic's serializer, models inside lists and maps included.

    Text that is not valid Unicode, such as a file name of arbitrary bytes, is escaped instead of failing.
    """
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        plain = to_jsonable_python(value)  # a model's numbers keep NaN here; as plain numbers they become null
        return json.dumps(to_jsonable_python(plain, inf_nan_mode="null"), separators=(",", ":")).encode()


def result_response(result: object, spec: Spec, hint: str | None = None) -> Response:
    """Return a method's result in the envelope, unless the operation has none. `hint` is added to the result's own."""
    if isinstance(result, Blob):
        return Response(result.body, headers=result.headers, media_type=result.media_type)
    reply: Reply[object] = result if isinstance(result, Reply) else Reply(result)
    if reply.status in (204, 304):
        return Response(status_code=reply.status, headers=reply.headers)
    body = envelope(reply, spec.message, hint) if spec.envelope else reply.data
    return json_response(body, reply.status, reply.headers)


def envelope(reply: Reply[object], message: str | None = None, hint: str | None = None) -> dict[str, object]:
    """Return the contract's `Response[T]`."""
    return {
        "success": reply.success,
        "message": reply.message or message or SUCCESS,
        "data": reply.data,
        "hint": _joined(reply.hint, hint),
        **reply.extra,
    }


def error_response(error: Exception, spec: Spec | None = None, hint: str | None = None) -> Response:
    """Return status and body for any exception. A bug is logged under the error id that the body names.

    `hint` is added to the failure's own.
    """
    if isinstance(error, InvalidFields):
        problems = with_locations(error.problems, spec) if spec else error.problems
        return json_response({"detail": problems, **({"hint": hint} if hint else {})}, 422)
    if isinstance(error, FileError):
        return _file_error(error, spec, hint)
    if isinstance(error, Failure):
        return failure_response(error, hint)
    error_id = secrets.token_hex(8)
    _log.error("error %s", error_id, exc_info=error)
    return json_response(
        _failure_envelope("Internal error", {"error_id": error_id}, _joined(f"the server's log has error {error_id}", hint)),
        500,
    )


def failure_response(failure: Failure, hint: str | None = None) -> Response:
    """Return the response for a `Failure`, with `Retry-After` if the caller should try again."""
    headers = {} if failure.retry_after is None else {"Retry-After": str(max(1, round(failure.retry_after)))}
    return json_response(_failure_envelope(failure.message, failure.details or None, _joined(failure.hint, hint)), failure.status, headers)


def _file_error(error: FileError, spec: Spec | None, hint: str | None) -> Response:
    told = _joined(error.hint, hint)
    if spec is None or spec.failures != "file":
        return json_response(_failure_envelope(error.message, error.data(), told), error.http_status)
    return json_response(_failure_envelope(error.message, {**_empty_result(spec.returns, error.path), **error.data()}, told))


def _empty_result(model: Any, path: str) -> dict[str, object]:
    """Return every required field of a result with an empty value, except the path.

    Published clients parse a failed answer as a result before they look at `success`.
    """
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return {}
    required = {name: field.annotation for name, field in model.model_fields.items() if field.is_required()}
    return {name: path if name in _PATHS else _NOTHING.get(kind) for name, kind in required.items()}


def _failure_envelope(message: str, data: Any, hint: str | None) -> dict[str, object]:
    return {"success": False, "message": message, "data": data, "hint": hint}


def _joined(own: str | None, hint: str | None) -> str | None:
    """A hint of the operation's, as it is, and one about the request."""
    if own is None or hint is None:
        return own or hint
    return f"{own} {hint}" if own.endswith((".", "!", "?")) else f"{own}. {hint}"
