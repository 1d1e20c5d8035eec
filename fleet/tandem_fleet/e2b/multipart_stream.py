"""The files of a multipart body, one after the other as they arrive: nothing is kept but the piece that is passed on."""

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from tandem_fleet.e2b.connect_protocol import RPCError

MAX_HEADERS = 16 << 10
"""Bytes of the headers of one file."""
MAX_FILES = 1000


@dataclass
class _Event:
    kind: str
    data: bytes = b""


class MultipartFiles:
    """The files. Take one after the other with `next_file`, and its bytes with `chunks` before the next."""

    def __init__(self, request: Request) -> None:
        kind, options = parse_options_header(request.headers.get("content-type", ""))
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not 0 < len(boundary) <= 200:
            raise RPCError("invalid_argument", "the body is multipart/form-data with a boundary, or application/octet-stream")
        self._stream = request.stream()
        self._events: deque[_Event] = deque()
        self._name, self._value, self._disposition, self._size, self._files = b"", b"", b"", 0, 0
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": self._take_name,
                "on_header_value": self._take_value,
                "on_header_end": self._end_header,
                "on_headers_finished": lambda: self._events.append(_Event("file", self._disposition)),
                "on_part_data": lambda data, start, end: self._events.append(_Event("data", data[start:end])),
                "on_part_end": lambda: self._events.append(_Event("end")),
                "on_end": lambda: self._events.append(_Event("over")),
            },
        )

    async def next_file(self) -> str | None:
        """The name of the next file, as it was sent; None behind the last. Parts that are no files are passed over."""
        while (event := await self._next()).kind != "over":
            if event.kind != "file":
                continue
            _, options = parse_options_header(event.data)
            if options.get(b"name") == b"file":
                self._files += 1
                if self._files > MAX_FILES:
                    raise RPCError("invalid_argument", f"an upload has at most {MAX_FILES} files")
                return options.get(b"filename", b"").decode("utf-8", "replace")
        return None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes of the file."""
        while (event := await self._next()).kind == "data":
            yield event.data

    async def _next(self) -> _Event:
        while not self._events:
            chunk = await anext(self._stream, b"")
            if not chunk:
                raise RPCError("invalid_argument", "the body ended within a file")
            try:
                self._parser.write(chunk)
            except MultipartParseError as error:
                raise RPCError("invalid_argument", f"the body is no multipart/form-data: {error}") from error
        return self._events.popleft()

    def _begin(self) -> None:
        self._disposition, self._size = b"", 0

    def _take_name(self, data: bytes, start: int, end: int) -> None:
        self._grow(end - start)
        self._name += data[start:end]

    def _take_value(self, data: bytes, start: int, end: int) -> None:
        self._grow(end - start)
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._name.lower() == b"content-disposition":
            self._disposition = self._value
        self._name, self._value = b"", b""

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > MAX_HEADERS:
            raise RPCError("invalid_argument", "the headers of a file are too long")
