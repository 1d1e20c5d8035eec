"""Files of a sandbox as envd describes them."""

import asyncio
import posixpath
from typing import Any

from tandem_fleet.e2b.connect_protocol import RPCError
from tandem_fleet.e2b.filesystem_messages import EntryInfo
from tandem_fleet.e2b.sandbox_calls import SandboxCalls

TYPES = {"file": "FILE_TYPE_FILE", "directory": "FILE_TYPE_DIRECTORY", "symlink": "FILE_TYPE_SYMLINK"}
AT_ONCE = 16
"""Files that are looked at at the same time, for a directory."""
MAX_ENTRIES = 10_000


async def entry(calls: SandboxCalls, path: str, *, root: bool) -> EntryInfo:
    """A file, a directory or a link itself. Raises `RPCError`."""
    status = await calls.call("POST", "/v1/file/stat", {"path": path, "follow_symlinks": False, "sudo": root})
    return describe(path, status)


def describe(path: str, status: dict[str, Any]) -> EntryInfo:
    """A file by its status."""
    linked = status.get("type") == "symlink"
    return EntryInfo(
        name=posixpath.basename(path) or "/",
        type=TYPES.get(str(status.get("type")), "FILE_TYPE_UNSPECIFIED"),
        path=path,
        size=status.get("size") or 0,
        mode=int(status.get("mode") or "0", 8),
        permissions=status.get("permissions") or "",
        owner=status.get("owner") or "",
        group=status.get("group") or "",
        modified_time=status.get("modified_time"),
        symlink_target=status.get("real_path") if linked else None,
    )


async def listed(calls: SandboxCalls, path: str, depth: int, *, root: bool) -> list[EntryInfo]:
    """What is in a directory, down to a depth, sorted by path. What goes away meanwhile is left out."""
    fields = {"path": path, "recursive": depth > 1, "max_depth": depth, "limit": MAX_ENTRIES, "include_size": False}
    found = await calls.call("POST", "/v1/file/list", fields)
    if found.get("truncated"):
        raise RPCError("resource_exhausted", f"there are more than {MAX_ENTRIES} entries: list a part of them")
    room = asyncio.Semaphore(AT_ONCE)

    async def look(name: str) -> EntryInfo | None:
        async with room:
            try:
                return await entry(calls, name, root=root)
            except RPCError as error:
                if error.code != "not_found":
                    raise
                return None

    paths = sorted(str(one["path"]) for one in found.get("files") or ())
    return [one for one in await asyncio.gather(*map(look, paths)) if one]
