"""The service `filesystem.Filesystem` of envd, on a sandbox's file operations."""

import posixpath

from tandem_fleet.e2b.connect_protocol import Method, RPCError, Unary
from tandem_fleet.e2b.context import Context
from tandem_fleet.e2b.entries import entry, listed
from tandem_fleet.e2b.filesystem_messages import (
    EntryResponse,
    ListDirRequest,
    ListDirResponse,
    MoveRequest,
    PathRequest,
)
from tandem_fleet.e2b.messages import Empty


async def stat(context: Context, request: PathRequest) -> EntryResponse:
    """Describe a file."""
    path = await context.resolve(request.path)
    return EntryResponse(entry=await entry(context.calls, path, root=context.root))


async def list_dir(context: Context, request: ListDirRequest) -> ListDirResponse:
    """Describe what is in a directory."""
    path = await context.resolve(request.path)
    await require_directory(context, path)
    return ListDirResponse(entries=tuple(await listed(context.calls, path, request.depth or 1, root=context.root)))


async def make_dir(context: Context, request: PathRequest) -> EntryResponse:
    """Make a directory, and those above it. One that exists is an error."""
    path = await context.resolve(request.path)
    await context.calls.call("POST", "/v1/file/mkdir", {"path": path, "exist_ok": False, "sudo": context.root})
    return EntryResponse(entry=await entry(context.calls, path, root=context.root))


async def move(context: Context, request: MoveRequest) -> EntryResponse:
    """Give a file another path. A file that is there is replaced."""
    source, destination = await context.resolve(request.source), await context.resolve(request.destination)
    fields = {"path": source, "destination": destination, "overwrite": True, "sudo": context.root}
    await context.calls.call("POST", "/v1/file/move", fields)
    return EntryResponse(entry=await entry(context.calls, destination, root=context.root))


async def remove(context: Context, request: PathRequest) -> Empty:
    """Remove a file, or a directory with what is in it. What does not exist is removed."""
    path = await context.resolve(request.path)
    if path == "/":
        raise RPCError("invalid_argument", "the root directory is not removed")
    fields = {"path": path, "recursive": True, "missing_ok": True, "sudo": context.root}
    await context.calls.call("POST", "/v1/file/delete", fields)
    return Empty()


async def require_directory(context: Context, path: str) -> None:
    """Raise `RPCError` where there is no directory at a path."""
    status = await context.calls.call("POST", "/v1/file/stat", {"path": path, "sudo": context.root})
    if status.get("type") != "directory":
        raise RPCError("invalid_argument", f"path is not a directory: {posixpath.normpath(path)}")


METHODS: dict[str, Method] = {
    "Stat": Unary(PathRequest, stat),
    "ListDir": Unary(ListDirRequest, list_dir),
    "MakeDir": Unary(PathRequest, make_dir),
    "Move": Unary(MoveRequest, move),
    "Remove": Unary(PathRequest, remove),
}
"""The service."""
