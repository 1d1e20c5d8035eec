"""Multipart bodies as they arrive: a file's bytes are passed on in pieces, never collected."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from sandbox_server.core.errors import InvalidArgument, TooLarge

MAX_FIELD_BYTES = 1024 * 1024
"""Limit in bytes of a plain form field."""
MAX_FIELDS = 100
MAX_FORM_BYTES = 4 * 1024 * 1024
"""Limit in bytes of all plain fields of a form together."""
MAX_HEADER_BYTES = 16 * 1024
"""Limit in bytes of the headers of a part."""
_EXTENDED_NAME = re.compile(r";\s*filename\*=utf-8'[^';]*'([^;\s]+)", re.IGNORECASE)


@dataclass(slots=True)
class _Event:
    kind: str
    data: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class MultipartPart:
    """One file of the body."""

    def __init__(self, name: str, filename: str, media_type: str, source: "MultipartUpload") -> None:
        self.name = name
        self.filename = filename
        self.media_type = media_type
        self._source = source

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the file's bytes; raises `InvalidArgument` if the client stops half way."""
        while (event := await self._source.next_event()).kind == "data":
            yield event.data


class MultipartUpload:
    """The multipart body of one request. Iterate over its files once."""

    def __init__(self, request: Request) -> None:
        kind, options = parse_options_header(request.headers.get("content-type", ""))
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise InvalidArgument("the body must be multipart/form-data with a boundary")
        self._stream = request.stream()
        self._events: list[_Event] = []
        self._fields: dict[str, str] = {}
        self._header = (bytearray(), bytearray())
        self._headers: dict[str, str] = {}
        self._header_bytes = 0
        self._form_bytes = 0
        self._ended = False
        self._parser = MultipartParser(options[b"boundary"], self._callbacks())  # type: ignore[arg-type]

    def field(self, name: str) -> str | None:
        """Return the value of a plain field that has arrived so far."""
        return self._fields.get(name)

    async def __aiter__(self) -> AsyncIterator[MultipartPart]:
        while (event := await self.next_event()).kind != "end":
            if event.kind != "part":
                continue
            name, filename = _names(event.headers.get("content-disposition", ""))
            if filename is not None:
                yield MultipartPart(name, filename, event.headers.get("content-type", "application/octet-stream"), self)
            elif len(self._fields) >= MAX_FIELDS:
                raise TooLarge(f"a form may have at most {MAX_FIELDS} fields", limit=MAX_FIELDS)
            else:
                self._fields[name] = await self._text(name)

    async def next_event(self) -> _Event:
        """Return the parser's next event, and read from the connection if needed."""
        while not self._events:
            try:
                chunk = await anext(self._stream)
            except (StopAsyncIteration, ClientDisconnect):
                if self._ended:
                    return _Event("end")
                raise InvalidArgument("the multipart body ended before its last boundary") from None
            try:
                self._parser.write(chunk)
            except MultipartParseError as error:
                raise InvalidArgument(f"the multipart body is malformed: {error}") from None
            await asyncio.sleep(0)
        return self._events.pop(0)

    async def _text(self, name: str) -> str:
        value = bytearray()
        while (event := await self.next_event()).kind == "data":
            value += event.data
            self._form_bytes += len(event.data)
            if len(value) > MAX_FIELD_BYTES:
                raise TooLarge(f"the form field {name!r} may have at most {MAX_FIELD_BYTES} bytes", limit=MAX_FIELD_BYTES)
            if self._form_bytes > MAX_FORM_BYTES:
                raise TooLarge(f"the fields of a form may have at most {MAX_FORM_BYTES} bytes together", limit=MAX_FORM_BYTES)
        return value.decode("utf-8", "replace")

    def _callbacks(self) -> dict[str, Any]:
        return {
            "on_part_begin": self._part_began,
            "on_header_field": lambda data, start, end: self._header_part(0, data[start:end]),
            "on_header_value": lambda data, start, end: self._header_part(1, data[start:end]),
            "on_header_end": self._header_ended,
            "on_headers_finished": lambda: self._events.append(_Event("part", headers=dict(self._headers))),
            "on_part_data": lambda data, start, end: self._events.append(_Event("data", bytes(data[start:end]))),
            "on_part_end": lambda: self._events.append(_Event("part_end")),
            "on_end": self._finished,
        }

    def _part_began(self) -> None:
        self._headers.clear()
        self._header_bytes = 0

    def _header_part(self, which: int, data: bytes) -> None:
        self._header_bytes += len(data)
        if self._header_bytes > MAX_HEADER_BYTES:
            raise TooLarge(f"the headers of a part may have at most {MAX_HEADER_BYTES} bytes", limit=MAX_HEADER_BYTES)
        self._header[which].extend(data)

    def _header_ended(self) -> None:
        name, value = self._header
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")  # one character per byte, for the options parser
        name.clear()
        value.clear()

    def _finished(self) -> None:
        self._ended = True
        self._events.append(_Event("end"))


def _names(disposition: str) -> tuple[str, str | None]:
    """Return the part's name, and the file's name if it is a file: in UTF-8, or from RFC 5987's `filename*`."""
    _, options = parse_options_header(disposition)
    name = options.get(b"name", b"").decode("utf-8", "replace")
    if extended := _EXTENDED_NAME.search(disposition):
        return name, unquote(extended.group(1))
    return name, options[b"filename"].decode("utf-8", "replace") if b"filename" in options else None
