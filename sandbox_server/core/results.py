"""Inputs and outputs of operations, independent of the surface."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from sandbox_server.core.identity import Caller

ABOUT = "x-about"
"""Header of a body that is not JSON: a JSON object in ASCII that describes it. Agents get it beside the body."""


class Model(BaseModel):
    """Base of every request and result: frozen, and built on first use so that start-up stays short.

    The string under a field is its documentation; `core.openapi` reads it when a document is requested.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)


@dataclass(frozen=True, slots=True)
class NullCounts:
    """Marks a field, by `Annotated`, for which null differs from leaving it out."""


@dataclass(frozen=True, slots=True)
class Slashes:
    """Marks a path field, by `Annotated`, that may contain slashes."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation: its caller, its surface, and the request's headers and query.

    A method receives it by declaring a parameter of this type.
    """

    caller: Caller
    request_id: str
    surface: Literal["http", "mcp", "cli"] = "http"
    base_url: str = ""
    """Scheme and authority that the caller used, without a trailing slash; empty if unknown."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Request headers, with names in lower case."""
    last_event_id: str | None = None
    """The event after which a stream resumes, from `Last-Event-ID`."""
    query: Mapping[str, str] = field(default_factory=dict)
    """The query parameters, for rules that hold for every operation."""
    disconnected: Callable[[], Awaitable[None]] | None = None
    """Waits until the caller has gone; None where that is not known, or somebody else waits for it. One may wait at a time."""
    ends_with_caller: bool = False
    """Whether the caller asked that what the call began ends when the caller disconnects."""


@dataclass(frozen=True, slots=True)
class Reply[T]:
    """A result that sets more of the envelope than its data. `T` is the type of `data` in the API document."""

    data: T
    message: str | None = None
    hint: str | None = None
    success: bool = True
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)
    """Top-level keys beside `data`, where the contract has them."""


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event. `data` is sent as JSON; a client sends `id` back to resume after it."""

    event: str
    data: object
    id: str | None = None


@dataclass(frozen=True, slots=True)
class EventTypes:
    """The events of a stream, for the API document: of what type `data` is, by the event's name."""

    name: str
    """Of the schema of any of them, such as `ControlEvent`; an event's own has its name behind it."""
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Blob:
    """A small body that is not JSON, held in memory."""

    body: bytes
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Content:
    """A large body that is read in pieces and supports ranges.

    `read(start, stop)` yields the bytes from `start` up to but not including `stop`. `close` is called once in every
    case.
    """

    size: int
    media_type: str
    read: Callable[[int, int], AsyncIterator[bytes]]
    close: Callable[[], None]
    etag: str
    """Quoted, as in the header."""
    modified: float | None = None
    """Seconds since the epoch."""
    filename: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Part(Protocol):
    """One file of a multipart body, which can be read once, in order."""

    name: str
    filename: str
    media_type: str

    def chunks(self) -> AsyncIterator[bytes]: ...


class Upload(Protocol):
    """A multipart body as it arrives.

    Iterate over the files, then read the fields; some fields may come after a file.
    """

    def __aiter__(self) -> AsyncIterator[Part]: ...

    def field(self, name: str) -> str | None:
        """Return the value of a plain field that has arrived so far."""


class Body(Protocol):
    """A raw request body, which can be read once."""

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; raises `InvalidArgument` if the client stops half way."""


class Socket(Protocol):
    """An accepted WebSocket."""

    async def receive(self) -> str | bytes | None:
        """Wait for one message; None once the other side has closed."""

    async def send(self, message: str | bytes) -> None:
        """Send one message; raises `ConnectionError` once the other side has closed."""

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close the socket. Later messages are dropped."""
