"""All file operations in one tool for agents: `sandbox_file_operations`."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from sandbox_server.core import InvalidArgument, Model, Reply, operation
from sandbox_server.features.file.content import FileContent, FileReadRequest, FileReplaceRequest, FileWriteRequest
from sandbox_server.features.file.file_management import (
    FileChanges,
    FileCopyRequest,
    FileDeleteRequest,
    FileMkdirRequest,
    FileMoveRequest,
    FileStatRequest,
)
from sandbox_server.features.file.listing import FileFindRequest, FileGlobRequest, FileListing, FileListRequest, FileTreeRequest
from sandbox_server.features.file.search import FileGrepRequest, FileSearch, FileSearchRequest

type FileAction = Literal[
    "read", "write", "replace", "search", "find", "list", "grep", "glob", "tree", "stat", "mkdir", "move", "copy", "delete"
]


class FileOperationRequest(Model):
    """The action and its file. `action` decides which other fields apply."""

    action: FileAction
    """The action."""
    path: str
    """The file or directory: absolute, or beginning with `~/`."""
    content: str | None = None
    """`write`: the content. `replace`: the text to replace."""
    target: str | None = None
    """`replace`: the text to put in its place. `move`, `copy`: the new path."""
    pattern: str | None = None
    """`search`, `grep`: regular expression. `find`: pattern for names, such as `*.py`. `glob`: pattern for paths, such as `src/**/*.py`.
    """
    encoding: Literal["utf-8", "base64", "raw"] = "utf-8"
    """`read`, `write`: the encoding of the content."""
    start_line: int | None = Field(default=None, ge=0)
    """`read`: first line, counted from 0."""
    end_line: int | None = Field(default=None, ge=0)
    """`read`: line to stop before, counted from 0."""
    append: bool = False
    """`write`: add to the end of the file."""
    recursive: bool = False
    """`list`: all levels. `copy`, `delete`: a directory with its content."""
    show_hidden: bool = False
    """`list`, `tree`, `glob`, `grep`: include names that begin with a dot."""
    file_types: tuple[str, ...] | None = None
    """`list`: only files with these extensions, such as `.py`."""
    overwrite: bool = False
    """`move`, `copy`: replace an existing file."""
    sudo: bool = False
    """Act as root, if the action supports it."""


type Result = Model | Reply[Any]


class FileOperations:
    """Passes each action on to its operation."""

    tag = "file"

    def __init__(self, content: FileContent, search: FileSearch, listing: FileListing, changes: FileChanges) -> None:
        self._actions: dict[str, tuple[type[Model], Mapping[str, str], Callable[[Any], Awaitable[Result]]]] = {
            "read": (FileReadRequest, {"path": "file"}, content.read),
            "write": (FileWriteRequest, {"path": "file"}, content.write),
            "replace": (FileReplaceRequest, {"path": "file", "content": "old_str", "target": "new_str"}, content.replace),
            "search": (FileSearchRequest, {"path": "file", "pattern": "regex"}, search.search),
            "grep": (FileGrepRequest, {"show_hidden": "include_hidden"}, search.grep),
            "find": (FileFindRequest, {"pattern": "glob"}, listing.find),
            "glob": (FileGlobRequest, {"show_hidden": "include_hidden"}, listing.glob),
            "list": (FileListRequest, {}, listing.list),
            "tree": (FileTreeRequest, {}, listing.tree),
            "stat": (FileStatRequest, {}, changes.stat),
            "mkdir": (FileMkdirRequest, {}, changes.mkdir),
            "move": (FileMoveRequest, {"target": "destination"}, changes.move),
            "copy": (FileCopyRequest, {"target": "destination"}, changes.copy),
            "delete": (FileDeleteRequest, {}, changes.delete),
        }

    @operation(
        "POST /v1/file/operations",
        scope="files",
        tool="sandbox_file_operations",
        operation_id="file_operations",
        failures="file",
        destructive=True,
        risky=lambda request: request.action == "delete" and bool(request.recursive),
    )
    async def run(self, request: FileOperationRequest) -> Reply[dict[str, Any]]:
        """Read, write, find and manage files.

        `read` returns text, `write` replaces or makes a file, `replace` replaces a text in it. `search` finds a regular
        expression in one file, `grep` in many; `find` finds names, `glob` paths; `list` and `tree` show directories.
        Further actions are `stat`, `mkdir`, `move`, `copy` and `delete`.
        """
        kind, names, run = self._actions[request.action]
        given = {**request.model_dump(exclude_unset=True, exclude={"action"}), "show_hidden": request.show_hidden}
        renamed = {names.get(name, name): value for name, value in given.items() if value is not None}
        try:
            result = await run(kind.model_validate(renamed))
        except ValidationError as error:
            missing = [str(problem["loc"][0]) for problem in error.errors(include_url=False) if problem["type"] == "missing"]
            fields = {wire: name for name, wire in names.items()}
            needed = ", ".join(fields.get(name, name) for name in missing)
            raise InvalidArgument(f"{request.action} needs {needed}" if missing else str(error)) from None
        reply = result if isinstance(result, Reply) else Reply(result)
        return Reply(reply.data.model_dump(), message=reply.message, hint=reply.hint)
