"""From the fields of a command line to a request."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlencode

from sandbox_server.cli.document import DocumentedOperation
from sandbox_server.cli.stop import USAGE, Stop

CHUNK = 1 << 20
_BOUNDARY = "tandem-command-line-boundary"


def target(operation: DocumentedOperation, given: Mapping[str, Any]) -> str:
    """Path and query."""
    places = {name: place for place, name, _, _ in operation.fields()}
    path = operation.path
    for name, value in given.items():
        if places[name] == "path":
            path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
    query = {name: _query_value(value) for name, value in given.items() if places[name] == "query"}
    return f"{path}?{urlencode(query, doseq=True)}" if query else path


def _query_value(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def body_of(operation: DocumentedOperation, given: Mapping[str, Any], raw: str | None) -> tuple[Any, dict[str, str]]:
    """The body and its headers; `raw` names the file that a raw body comes from."""
    media_type, _ = operation.body()
    places = {name: place for place, name, _, _ in operation.fields()}
    fields = {name: value for name, value in given.items() if places[name] == "body"}
    fields |= next((value for name, value in given.items() if places[name] == "whole"), {})
    if media_type == "application/json":
        return json.dumps(fields).encode(), {"Content-Type": media_type}
    if media_type == "multipart/form-data":
        return _form(fields), {"Content-Type": f"{media_type}; boundary={_BOUNDARY}"}
    if media_type:
        return _chunks(opened(raw or "-")), {"Content-Type": media_type}
    return None, {}


def _form(fields: Mapping[str, Any]) -> Iterator[bytes]:
    """A form whose files are sent as they are read; plain fields come first, so that the server knows them in time."""
    for name, value in sorted(fields.items(), key=lambda item: isinstance(item[1], Path)):
        head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"'
        if isinstance(value, Path):
            named = value.name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
            yield f'{head}; filename="{named}"\r\nContent-Type: application/octet-stream\r\n\r\n'.encode("utf-8", "surrogateescape")
            yield from _chunks(opened(str(value)))
        else:
            yield f"{head}\r\n\r\n{value}".encode()
        yield b"\r\n"
    yield f"--{_BOUNDARY}--\r\n".encode()


def opened(path: str) -> IO[bytes]:
    """A file to read; `-` is standard input."""
    try:
        return sys.stdin.buffer if path == "-" else open(path, "rb")
    except OSError as error:
        raise Stop(USAGE, str(error)) from None


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    with stream:
        while chunk := stream.read(CHUNK):
            yield chunk
