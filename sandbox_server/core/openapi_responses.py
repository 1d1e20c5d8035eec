"""What the OpenAPI document says of answers: an operation's own result, and the failures that it may meet."""

from collections.abc import Callable
from typing import Any, get_args

from sandbox_server.core.errors import FileErrorType
from sandbox_server.core.openapi_events import SCHEMAS as EVENT_SCHEMAS
from sandbox_server.core.openapi_events import event_stream
from sandbox_server.core.operation import Operation, Spec
from sandbox_server.core.results import Blob, Content

_REF = "#/components/schemas/{model}"
_VALIDATION_ERROR: dict[str, Any] = {
    "type": "object",
    "title": "HTTPValidationError",
    "properties": {
        "detail": {
            "type": "array",
            "title": "Detail",
            "items": {
                "type": "object",
                "title": "ValidationError",
                "required": ["loc", "msg", "type"],
                "properties": {
                    "loc": {
                        "type": "array",
                        "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                    },
                    "msg": {"type": "string"},
                    "type": {"type": "string"},
                },
            },
        },
        "hint": {"type": "string", "description": "The fields that were sent and do not exist, if there are any."},
    },
}

_FILE_ERROR: dict[str, Any] = {
    "type": "object",
    "title": "FileOperationError",
    "description": "Why a file operation failed; it comes with `success: false`.",
    "required": ["path", "operation", "message", "error_type", "retryable"],
    "properties": {
        "path": {"type": "string"},
        "operation": {"type": "string"},
        "message": {"type": "string"},
        "error_type": {"type": "string", "enum": list(get_args(FileErrorType))},
        "retryable": {"type": "boolean"},
        "errno": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "errno_name": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "exception_type": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
}

_FAILURE: dict[str, Any] = {
    "type": "object",
    "title": "Failure",
    "description": "Why a call failed: the envelope with `success: false`.",
    "required": ["success", "message", "data", "hint"],
    "properties": {
        "success": {"type": "boolean", "const": False},
        "message": {"type": "string", "description": "One sentence for the caller."},
        "data": {"description": "The values in the message by name; null where there are none."},
        "hint": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "What to do about it."},
    },
}

_EVENTS: dict[str, Any] = {
    "type": "string",
    "title": "EventStream",
    "description": "Server-sent events: `event` names the kind, `data` is JSON on one line, and `id`, where there is one, is what "
    "`Last-Event-ID` resumes after. A failure comes as the event `error` with `kind`, `message` and `hint`. "
    "A comment comes after 15 s of silence.",
}

SCHEMAS: dict[str, dict[str, Any]] = {
    "HTTPValidationError": _VALIDATION_ERROR,
    "FileOperationError": _FILE_ERROR,
    "Failure": _FAILURE,
    "EventStream": _EVENTS,
    **EVENT_SCHEMAS,
}
"""The document's schemas that no operation's models hold."""


def _answer(description: str, schema: str = "Failure") -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": {"$ref": _REF.format(model=schema)}}}}


RESPONSES: dict[str, dict[str, Any]] = {
    "BadRequest": _answer("A value makes no sense here, or the body is not what its type says."),
    "Unauthenticated": _answer("No credential, or one that is not known or has ended."),
    "PermissionDenied": _answer("The caller is known and may not do this."),
    "NotFound": _answer("What was named does not exist."),
    "Conflict": _answer("What was named is in a state that does not allow this now."),
    "TooLarge": _answer("The body, or what it asks for, is over a stated limit."),
    "ValidationError": _answer("The fields that are wrong, and why.", "HTTPValidationError"),
    "HeldByHuman": _answer("A person holds control, or is private: `data` has `reason`, `epoch` and `holder`."),
    "Failure": _answer(
        "Any other failure. 429: a limit is reached; 503: a component starts, restarts or is not enabled; both with `Retry-After`. "
        "504: the work did not end within its bound. 500: a defect, with `error_id`."
    ),
}
"""The failures of the document, which operations name. What each status means is in `core.errors`."""


def success(operation: Operation, result: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Describe what an operation answers when it succeeds; `result` gives the schema of its data, where that is JSON."""
    spec = operation.spec
    content: dict[str, Any] = {}
    if not spec.streams and not is_bytes(spec):
        content["application/json"] = {"schema": _enveloped(spec, result())}
    for media_type in (spec.media_types or ("application/octet-stream",)) if is_bytes(spec) else ():
        content[media_type] = {"schema": {"type": "string"} if media_type.startswith("text/") else {"type": "string", "format": "binary"}}
    if spec.streams or operation.stream:
        content["text/event-stream"] = event_stream(operation.events)
    return {"description": "Successful Response", "content": content}


def is_bytes(spec: Spec) -> bool:
    """Whether an operation answers with something else than JSON or events."""
    return bool(spec.media_types) or spec.returns in (Blob, Content)


def _enveloped(spec: Spec, data: dict[str, Any]) -> dict[str, Any]:
    if not spec.envelope:
        return data
    if spec.failures == "file":
        data = {"anyOf": [data or {"type": "null"}, {"$ref": _REF.format(model="FileOperationError")}]}
    return {
        "type": "object",
        "properties": {
            "success": {"type": "boolean", "default": True},
            "message": {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "default": spec.message or "Operation successful",
            },
            "data": data,
            "hint": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
    }


def failures(spec: Spec) -> dict[str, Any]:
    """Describe how an operation may fail, by status; `default` is what any operation may meet."""
    has_input = spec.request is not None or spec.form is not None
    has_body = spec.form is not None or (has_input and spec.reads_json) or "body" in spec.parameters.values()
    acts = bool(spec.acts) or hasattr(spec.request, "acts")
    opens_files = spec.scope == "files" and spec.failures == "http"
    found = {
        "400": (has_input or has_body, "BadRequest"),
        "401": (spec.scope != "public", "Unauthenticated"),
        "403": (spec.scope not in ("any", "public"), "PermissionDenied"),
        "404": ("{" in spec.path or opens_files, "NotFound"),
        "409": (acts or opens_files, "Conflict"),
        "413": (has_body or opens_files, "TooLarge"),
        "422": (has_input, "ValidationError"),
        "423": (acts or spec.shows, "HeldByHuman"),
        "default": (True, "Failure"),
    }
    return {status: {"$ref": f"#/components/responses/{name}"} for status, (may, name) in found.items() if may}
