"""A small product for the tests of surfaces: one feature with operations of every shape, served for real."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from anyio import to_thread
from pydantic import Field
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox_server.core import Blob, Body, Call, Event, FileError, Model, NotFound, Reply, ResourceExhausted, Upload, operation, stream_of
from sandbox_server.core.dispatch import Dispatcher, require_scope
from sandbox_server.core.http import create_app
from sandbox_server.core.operation import operations
from sandbox_server.features.api_description import Description
from tests.patience import PATIENCE_SECONDS, until

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cfc0f01f0005000201a5f645400000000049454e44ae426082"
)


class AddRequest(Model):
    left: int
    """First number."""
    right: int = 1
    """Second number."""


class Sum(Model):
    total: int


class ShelfRequest(Model):
    shelf: str
    """Which shelf."""
    colours: list[str] | None = None
    """Only these."""
    shiny: bool = False


class UploadForm(Model):
    file: Annotated[str, Field(json_schema_extra={"format": "binary"})]
    """The file."""
    path: str | None = None
    mode: int | None = None


class Branch(Model):
    name: str
    branches: list["Branch"] = Field(default_factory=list)


class Sample:
    """Operations of every shape that a surface has to carry."""

    tag = "sample"

    def __init__(self) -> None:
        self.release = threading.Event()
        self.calls: list[Call] = []

    @operation("POST /v1/sample/add", scope="code", tool="sample_add", aliases=("plus",), read_only=True)
    async def add(self, request: AddRequest, call: Call) -> Sum:
        """Add two numbers.

        They may be negative.
        """
        self.calls.append(call)
        return Sum(total=request.left + request.right)

    @operation("DELETE /v1/sample/shelves/{shelf}", scope="files", tool="sample_clear", destructive=True)
    async def clear(self, request: ShelfRequest) -> None:
        """Clear a shelf."""
        if request.shelf != "top left?":
            raise NotFound(f"no shelf {request.shelf!r}", hint="list the shelves first", shelf=request.shelf)

    @operation("GET /v1/sample/shelves/{shelf}", scope="files", tool="sample_shelf")
    async def shelf(self, request: ShelfRequest) -> list[str]:
        """Say what was asked for."""
        return [request.shelf, *(request.colours or []), str(request.shiny)]

    @operation("GET /v1/sample/prose", scope="view", tool="sample_prose")
    async def prose(self) -> Reply[str]:
        """Give prose."""
        return Reply("It is a fine day.", hint="look outside")

    @operation("GET /v1/sample/picture", scope="view", tool="sample_picture", media_type="image/png")
    async def picture(self) -> Blob:
        """Give a picture."""
        return Blob(PIXEL, "image/png")

    @operation("GET /v1/sample/archive", scope="view", tool="sample_archive", media_type="application/gzip")
    async def archive(self) -> Blob:
        """Give an archive."""
        return Blob(b"\x1f\x8b", "application/gzip")

    @operation("GET /v1/sample/tree", scope="view", tool="sample_tree", envelope=False)
    async def tree(self) -> Branch:
        """Give a tree."""
        return Branch(name="root", branches=[Branch(name="leaf")])

    @operation("GET /v1/sample/missing", scope="files", tool="sample_missing", failures="file")
    async def missing(self) -> None:
        """Fail as files do."""
        raise FileError.from_errno(2, path="/nowhere", operation="read")

    @operation("GET /v1/sample/full", scope="view", tool="sample_full")
    async def full(self) -> None:
        """Fail for now."""
        raise ResourceExhausted("too many", retry_after=3)

    @operation("GET /v1/sample/broken", scope="view", tool="sample_broken")
    async def broken(self) -> None:
        """Fail by a defect."""
        raise RuntimeError("a secret of ours")

    @operation("POST /v1/sample/upload", scope="files", form=UploadForm)
    async def upload(self, upload: Upload) -> list[str]:
        """Take files."""
        files = [(part.filename, b"".join([chunk async for chunk in part.chunks()])) async for part in upload]
        return [f"{name} {content!r} to {upload.field('path')}, mode {upload.field('mode')}" for name, content in files]

    @operation("PUT /v1/sample/raw", scope="files")
    async def raw(self, request: ShelfRequest, body: Body) -> str:
        """Take bytes."""
        return f"{request.shelf} {b''.join([chunk async for chunk in body.chunks()])!r}"

    @operation("POST /v1/sample/slow", scope="code", tool="sample_slow")
    async def slow(self) -> str:
        """Wait until the test lets go."""
        await to_thread.run_sync(self.release.wait, 5)
        return "done"

    @operation("POST /v1/sample/count", scope="code")
    async def count(self, request: AddRequest) -> Sum:
        """Count."""
        return Sum(total=request.left)

    @stream_of(count)
    async def count_events(self, request: AddRequest, call: Call) -> AsyncIterator[Event]:
        """Count aloud."""
        start = int(call.last_event_id or 0)
        for number in range(start, request.left):
            yield Event("number", {"value": number}, str(number + 1))


def product(sample: Sample) -> ASGIApp:
    """The sample and its own description, behind the guards of the product."""
    features: list[Any] = [sample]
    features.append(Description(lambda: [op for feature in features for op in operations(feature)], "1.2.3"))
    return create_app((op for feature in features for op in operations(feature)), Dispatcher([require_scope]))


@contextmanager
def serving(app: ASGIApp, socket: Path | None = None) -> Iterator[str]:
    """Serve until the context ends, in a thread: on a Unix socket, whose path it gives, or on a free port, whose URL it gives."""
    place: dict[str, Any] = {"uds": str(socket)} if socket else {"port": 0}
    server = uvicorn.Server(uvicorn.Config(app, **place, loop="uvloop", ws="websockets-sansio", log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive())
    assert thread.is_alive(), "the server ended at once"
    try:
        yield str(socket) if socket else f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)


def gateway(app: ASGIApp, key: str) -> ASGIApp:
    """The application behind a gateway that knows one key."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            if headers.get(b"authorization") != f"Bearer {key}".encode():
                answer = {"success": False, "message": "sign in", "data": None, "hint": "give a token"}
                await JSONResponse(answer, 401)(scope, receive, send)
                return
            scope["headers"] = [*scope["headers"], (b"x-sandbox-caller", b"test"), (b"x-sandbox-scopes", b"view code files")]
        await app(scope, receive, send)

    return guarded
