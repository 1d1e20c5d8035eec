"""What goes over the wire, however it is waited for: requests, answers, server-sent events, and when to ask again."""

import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Final

import httpx

from tandem.errors import ApiError, HeldByPerson, LimitReached, TandemError, Unavailable, failure

DEFAULT_URL = "http://127.0.0.1:8080"
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 3700.0
"""Calls that wait for a person answer within an hour."""
SILENCE_SECONDS = 60.0
"""A stream of events that says nothing for so long is opened again: the server sends a comment more often."""
AWAY_SECONDS = 120.0
"""How long a stream with an end, or a question to a person, may be without an answer."""
LONGEST_WAIT = 50.0
"""How long one call waits; then it is sent again."""
PAUSE_SECONDS = (0.5, 10.0)
"""Between attempts: the first pause and the longest."""
_FILE_FAILURES = {"not_found": 404, "permission_denied": 403, "already_exists": 409}
FileContent = bytes | BinaryIO | tuple[str, bytes | BinaryIO]
"""What a file holds that is sent, with or without its name."""


class Unset:
    """A value that is not sent, so that the server's own counts."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset()


@dataclass(frozen=True)
class Event:
    """A server-sent event: its name, its data, and the id after which a stream goes on."""

    name: str
    data: Any
    id: str = ""


@dataclass(frozen=True)
class Place:
    """Where a sandbox is, and what opens it."""

    url: str
    key: str = field(repr=False)

    @staticmethod
    def of(url: str | None, key: str | None) -> "Place":
        """The given ones, else `SANDBOX_URL` and `SANDBOX_API_KEY`."""
        found = (url or os.environ.get("SANDBOX_URL") or DEFAULT_URL).rstrip("/")
        if not found.startswith(("http://", "https://")):
            raise TandemError(f"{found!r} is no URL: it begins with http:// or https://")
        return Place(found, key if key is not None else os.environ.get("SANDBOX_API_KEY", ""))

    @property
    def headers(self) -> dict[str, str]:
        """What opens it."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}


def timeouts(read: float = ANSWER_SECONDS) -> httpx.Timeout:
    """Limits of a call in seconds."""
    return httpx.Timeout(read, connect=CONNECT_SECONDS)


def sent(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Values as JSON has them, without those that are not sent."""
    return {name: plain(value) for name, value in (values or {}).items() if value is not UNSET}


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def query_of(values: Mapping[str, Any] | None) -> dict[str, str]:
    """Values of a query string."""
    given = {name: value for name, value in sent(values).items() if value is not None}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}


def arguments(query: Mapping[str, Any] | None, body: Mapping[str, Any] | None, content: bytes | None, *, form: bool) -> dict[str, Any]:
    """The arguments of a request of httpx."""
    given: dict[str, Any] = {"params": query_of(query)}
    if form:
        files = {name: value for name, value in (body or {}).items() if name == "file"}
        given |= {"files": files, "data": {name: value for name, value in sent(body).items() if name != "file" and value is not None}}
    elif content is not None:
        given["content"] = content
    elif body is not None:
        given["json"] = sent(body)
    return given


def checked(response: httpx.Response) -> httpx.Response:
    """An answer that was read whole, or its failure."""
    if response.is_success:
        return response
    raise failure(response.status_code, body_of(response), response.headers)


def body_of(response: httpx.Response) -> Any:
    """The JSON of an answer, or its text."""
    try:
        return response.json()
    except ValueError:
        return response.text


def data_of(response: httpx.Response) -> Any:
    """The data of an answer. Raises ApiError where a file's operation failed, which HTTP calls a success."""
    body = body_of(response)
    data = body.get("data") if isinstance(body, dict) else None
    if isinstance(data, dict) and body.get("success") is False and "error_type" in data:
        raise failure(_FILE_FAILURES.get(data["error_type"], 400), body, response.headers)
    return data


def parsed(value: Any, kind: Any) -> Any:
    """A value of JSON as its type. Raises TandemError where the server's version answers something else."""
    try:
        return _adapter(kind).validate_python(value)
    except ValueError as error:
        raise TandemError(f"the sandbox's version answers otherwise than this client's: {str(error)[:2000]}") from error


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


class Events:
    """Puts server-sent events together from their lines."""

    def __init__(self) -> None:
        self.last = ""
        self.begin()

    def begin(self) -> None:
        """Drop an event whose end did not come: it comes again, whole."""
        self._id, self._name, self._data = self.last, "", list[str]()

    def take(self, line: str) -> "Event | None":
        """The event that a line ends."""
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id":
            self._id = value
        if line:
            return None
        self.last, named, data = self._id, self._name or "message", self._data
        self.begin()
        if not data:
            return None
        text = "\n".join(data)
        try:
            return Event(named, json.loads(text), self.last)
        except ValueError:
            return Event(named, text, self.last)


class Patience:
    """How long what is refused for now is asked again. Only what the server says was not done is."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    def wait_for_control(self, error: ApiError) -> float | None:
        """How long the server shall wait for control in place of refusing; None: the failure stays."""
        if isinstance(error, HeldByPerson) and error.outcome is None and error.reason == "held_by_human" and self._left > 0:
            seconds = min(self._left, LONGEST_WAIT)
            self._left -= seconds
            return seconds
        return None

    def pause(self, error: ApiError) -> float | None:
        """How long to pause before the next attempt; None: the failure stays."""
        if isinstance(error, HeldByPerson) and error.reason == "private" and error.outcome is None:
            seconds = 1.0
        elif isinstance(error, (LimitReached, Unavailable)) and error.retry_after is not None:
            seconds = max(error.retry_after, 0.1)
        else:
            return None
        if seconds > self._left:
            return None
        self._left -= seconds
        return seconds


def pauses(attempt: int) -> float:
    """How long to pause before an attempt to connect, which is more each time."""
    first, longest = PAUSE_SECONDS
    return float(min(longest, first * 2 ** min(attempt, 10)) * random.uniform(0.5, 1))


def read_file(path: str | Path) -> bytes:
    """What a file of this machine holds."""
    return Path(path).read_bytes()


def write_file(path: str | Path, data: bytes) -> None:
    """Make a file of this machine, or replace it."""
    Path(path).write_bytes(data)
