"""Prints answers of the API, for a person at a terminal or for a program."""

import http.client
import json
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any

from sandbox_server.cli.client import failure, sentence
from sandbox_server.cli.stop import FAILED, UNREACHABLE, USAGE, Stop
from sandbox_server.cli.table import rows_in, table
from sandbox_server.cli.times import with_times

CHUNK = 1 << 20
REPEATED = {"console": "output"}
"""Fields that a person does not need where the other one is there: `console` is `output` by commands, with their prompts."""


def write(response: http.client.HTTPResponse, output: str | None, *, human: bool) -> None:
    """Write an answer to standard output, or one that is a file to `output`. Raises the Stop that it amounts to."""
    kind = response.headers.get_content_type()
    if response.status >= 400:
        raise failure(response)
    try:
        if kind == "text/event-stream":
            _write_events(response, human=human)
        elif kind == "application/json":
            _write_answer(json.load(response), human=human)
        else:
            _write_bytes(response, output, kind)
    except (http.client.HTTPException, ConnectionResetError, TimeoutError) as error:
        raise Stop(UNREACHABLE, f"the answer broke off: {error or type(error).__name__}") from None


def line(text: str) -> None:
    """Write one line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def words(data: Any) -> str:
    """Text as it is; an object as `name: value` lines, its longer texts and tables below; objects in a list as a table."""
    if isinstance(data, str):
        return data
    if isinstance(data, list) and (tabled := _tabled(data)) is not None:
        return tabled
    if isinstance(data, list):
        apart = "\n\n" if any(isinstance(item, dict) for item in data) else "\n"
        return apart.join(words(item) for item in data)
    if not isinstance(data, dict):
        return json.dumps(data)
    texts = {name: value for name, value in data.items() if isinstance(value, str) and "\n" in value}
    tables = {name: tabled for name, value in data.items() if (tabled := _tabled(value)) is not None}
    lines = [f"{name}: {_short(value)}" for name, value in data.items() if name not in texts | tables and value is not None]
    if not lines and not texts and len(tables) == 1:
        return next(iter(tables.values()))
    return "\n".join([*lines, *(f"{name}:\n{value.rstrip()}" for name, value in (texts | tables).items())])


def _tabled(value: Any) -> str | None:
    """A table of what has rows; an object with a single field is no table of one row."""
    rows = rows_in(value)
    return table(rows) if rows and (isinstance(value, list) or len(rows[0]) > 2) else None


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _write_answer(body: Any, *, human: bool) -> None:
    """Write the data alone: a line of JSON for programs, words for people."""
    enveloped = isinstance(body, dict) and "success" in body and "data" in body
    if enveloped and not body["success"]:
        raise Stop(FAILED, sentence(body))
    data = body["data"] if enveloped else body
    if not human:
        line(json.dumps(data))
    elif enveloped and data is None:
        line(sentence(body))
    else:
        line(words(with_times(_without_repeated(data))))
        if enveloped and body.get("hint"):
            sys.stderr.write(f"{body['hint']}\n")


def _without_repeated(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    return {name: value for name, value in data.items() if not data.get(REPEATED.get(name, ""))}


def _write_events(response: http.client.HTTPResponse, *, human: bool) -> None:
    """Write events as they come. An event that is an error ends with a failure."""
    event: dict[str, Any] = {}
    for raw in response:
        text = raw.decode("utf-8").rstrip("\r\n")
        name, _, value = text.partition(": ")
        if name in ("event", "id", "data"):
            event[name] = json.loads(value) if name == "data" else value
        elif not text and event:
            if event.get("event") == "error":
                raise Stop(FAILED, sentence(event["data"]))
            _write_event(event, human=human)
            event = {}


def _write_event(event: Mapping[str, Any], *, human: bool) -> None:
    """Write an event's text for people, a line of JSON for programs."""
    data = event.get("data")
    if not human:
        line(json.dumps(event))
    elif isinstance(data, dict) and isinstance(data.get("data"), str):
        sys.stdout.write(data["data"])
        sys.stdout.flush()
    else:
        line(f"[{event.get('event')}] {_short(data)}")


def _write_bytes(response: http.client.HTTPResponse, output: str | None, kind: str) -> None:
    if output is None and sys.stdout.isatty() and not kind.startswith("text/"):
        raise Stop(USAGE, "the answer is not text: name a file with --output")
    with _destination(output) as file:
        while chunk := response.read(CHUNK):
            file.write(chunk)
        file.flush()
    if response.length:
        raise Stop(UNREACHABLE, f"the answer broke off {response.length} bytes before its end")


def _destination(output: str | None) -> AbstractContextManager[IO[bytes]]:
    if output is None:
        return nullcontext(sys.stdout.buffer)
    try:
        return open(output, "wb")
    except OSError as error:
        raise Stop(USAGE, str(error)) from None
