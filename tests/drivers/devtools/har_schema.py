"""HTTP Archive 1.2 as a JSON schema, written from its specification (http://www.softwareishard.com/blog/har-12-spec/)."""

from typing import Any

_TEXT, _WHOLE, _AMOUNT = {"type": "string"}, {"type": "integer", "minimum": -1}, {"type": "number", "minimum": -1}
_TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object of these fields; others must begin with an underscore, and any may have a comment."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {}), "comment": _TEXT},
        "patternProperties": {"^_": {}},
        "additionalProperties": False,
    }


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_PAIRS = _list(_object({"name": _TEXT, "value": _TEXT}))
_COOKIES = _list(
    _object(
        {"name": _TEXT, "value": _TEXT},
        {"path": _TEXT, "domain": _TEXT, "expires": _TIME, "httpOnly": {"type": "boolean"}, "secure": {"type": "boolean"}},
    )
)
_MESSAGE = {"httpVersion": _TEXT, "cookies": _COOKIES, "headers": _PAIRS, "headersSize": _WHOLE, "bodySize": _WHOLE}
_REQUEST = _object(
    {"method": _TEXT, "url": {"type": "string", "format": "uri"}, "queryString": _PAIRS, **_MESSAGE},
    {"postData": _object({"mimeType": _TEXT, "params": _list(_object({"name": _TEXT})), "text": _TEXT})},
)
_CONTENT = _object({"size": _WHOLE, "mimeType": _TEXT}, {"compression": _WHOLE, "text": _TEXT, "encoding": _TEXT})
_RESPONSE = _object({"status": _WHOLE, "statusText": _TEXT, "content": _CONTENT, "redirectURL": _TEXT, **_MESSAGE})
_NEEDED = {name: {"type": "number", "minimum": 0} for name in ("send", "wait", "receive")}
_TIMINGS = _object(_NEEDED, dict.fromkeys(("blocked", "dns", "connect", "ssl"), _AMOUNT))
_ENTRY = _object(
    {
        "startedDateTime": _TIME,
        "time": {"type": "number", "minimum": 0},
        "request": _REQUEST,
        "response": _RESPONSE,
        "cache": {"type": "object"},
        "timings": _TIMINGS,
    },
    {"pageref": _TEXT, "serverIPAddress": _TEXT, "connection": _TEXT},
)
_PAGE = _object(
    {"startedDateTime": _TIME, "id": _TEXT, "title": _TEXT, "pageTimings": _object({}, {"onContentLoad": _AMOUNT, "onLoad": _AMOUNT})}
)
_PROGRAM = _object({"name": _TEXT, "version": _TEXT})
SCHEMA = _object(
    {
        "log": _object(
            {"version": {"const": "1.2"}, "creator": _PROGRAM, "entries": _list(_ENTRY)}, {"browser": _PROGRAM, "pages": _list(_PAGE)}
        )
    }
)
