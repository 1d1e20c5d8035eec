"""File operations behind one name, as agents know them: `sandbox_file_operations`."""

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
    """What to do with which file. Which of the other fields count depends on `action`."""

    action: FileAction
    """What to do."""
    path: str
    """The file or directory: absolute, or beginning with `~/`."""
    content: str | None = None
    """`write`: the content. `replace`: the text to replace."""
    target: str | None = None
    """`replace`: the text to put in its place. `move`, `copy`: the new path."""
    pattern: str | None = None
    """`search`, `grep`: regular expression. `find`: pattern for names, as in `*.py`. `glob`: pattern for paths, as in `src/**/*.py`."""
    encoding: Literal["utf-8", "base64", "raw"] = "utf-8"
    """`read`, `write`: what the content is."""
    start_line: int | None = Field(default=None, ge=0)
    """`read`: first line, counted from 0."""
    end_line: int | None = Field(default=None, ge=0)
    """`read`: line to stop before, counted from 0."""
    append: bool = False
    """`write`: add to the end of the file."""
    recursive: bool = False
    """`list`: everything below. `copy`, `delete`: a directory with all that is in it."""
    show_hidden: bool = False
    """`list`, `tree`, `glob`, `grep`: also names that begin with a dot."""
    file_types: tuple[str, ...] | None = None
    """`list`: only files with these endings, as in `.py`."""
    overwrite: bool = False
    """`move`, `copy`: replace a file that is there."""
    sudo: bool = False
    """Do it as root, where the action can."""


type Result = Model | Reply[Any]


class FileOperations:
    """Passes each action on to the operation that carries it out."""

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

        `read` gives text, `write` replaces or makes a file, `replace` exchanges a text in it. `search` looks for a regular expression in
        one file, `grep` in many; `find` looks for names, `glob` for paths; `list` and `tree` show directories; `stat`, `mkdir`, `move`,
        `copy` and `delete` do what they say.
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
