"""Finding files by path and name."""

import os
import stat
from datetime import UTC, datetime
from typing import Literal

from pydantic import Field

from sandbox_server.core import Model, Reply, operation
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.metadata import DirectoryEntry, DirectoryListing, FileStatus

MAX_FOUND = 10_000
"""Limit of paths of `find`."""
MAX_LISTED = 50_000
"""Limit of entries in one answer."""
MAX_IN_TREE = 5_000
"""Limit of lines of a tree."""
_FILE_TYPE = {"file": stat.S_IFREG, "directory": stat.S_IFDIR, "symlink": stat.S_IFLNK, "fifo": stat.S_IFIFO, "socket": stat.S_IFSOCK}


class FileFindRequest(Model):
    """Names to look for."""

    path: str
    """Directory, absolute or beginning with `~/`. The whole tree is searched."""
    glob: str
    """Pattern for the file's name, such as `*.py`; one with a slash applies to the path below the directory, such as `src/**/*.py`."""


class FileFindResult(Model):
    """Files with matching names."""

    path: str
    """The requested directory."""
    files: tuple[str, ...] = ()
    """Absolute paths, sorted."""
    truncated: bool = False
    """Whether there are more."""


class FileGlobRequest(Model):
    """A pattern for paths."""

    path: str
    """Directory, absolute or beginning with `~/`."""
    pattern: str
    """Glob for the path below the directory: `*`, `?`, `[..]`, and `**` for any number of directories."""
    exclude: tuple[str, ...] | None = None
    """Globs for names or paths to leave out. An excluded directory is not entered."""
    include_hidden: bool = False
    """Include names that begin with a dot."""
    files_only: bool = True
    """Leave out directories."""
    include_metadata: bool = True
    """Include size and modification time."""
    max_results: int = Field(default=5000, ge=1, le=MAX_LISTED)
    """Entries in the answer."""
    sort_by: Literal["path", "name", "size", "modified"] = "path"
    """What to sort by."""
    sort_desc: bool = False
    """In descending order."""


class GlobMatch(Model):
    """One matching path."""

    path: str
    """Absolute path."""
    name: str
    """Its last part."""
    is_directory: bool = False
    """Whether it is a directory, or a symlink to one."""
    size: int | None = None
    """Bytes."""
    modified_time: str | None = None
    """Last change of the content, ISO 8601 in UTC."""


class FileGlobResult(Model):
    """Matching paths."""

    path: str
    """The requested directory."""
    pattern: str
    """The requested pattern."""
    files: tuple[GlobMatch, ...] = ()
    """The sorted matches."""
    total_count: int = 0
    """Number of all matches."""
    truncated: bool = False
    """Whether there are more."""


class FileListRequest(Model):
    """What to list."""

    path: str
    """Directory, absolute or beginning with `~/`."""
    recursive: bool = False
    """Include all levels. Symlinks are listed and not followed."""
    show_hidden: bool = True
    """Include names that begin with a dot."""
    file_types: tuple[str, ...] | None = None
    """Only files with these extensions, such as `.py`."""
    max_depth: int | None = Field(default=None, ge=1)
    """Levels of a recursive listing; 1 is the directory itself."""
    include_size: bool = True
    """Include sizes."""
    include_permissions: bool = False
    """Include permissions, as `ls -l` shows them."""
    sort_by: Literal["name", "size", "modified", "type"] = "name"
    """With `type`, directories come first, then files by extension."""
    sort_desc: bool = False
    """In descending order."""
    limit: int = Field(default=10_000, ge=1, le=MAX_LISTED)
    """Entries in the answer."""
    offset: int = Field(default=0, ge=0)
    """Entries to skip, for the next page."""


class ListedFile(Model):
    """One entry."""

    name: str
    """Last part of the path."""
    path: str
    """Absolute path."""
    is_directory: bool
    """Whether it is a directory, or a symlink to one."""
    is_symlink: bool = False
    """Whether it is a symlink."""
    size: int | None = None
    """Bytes; of a symlink itself, not of its target."""
    modified_time: str | None = None
    """Last change of the content, ISO 8601 in UTC."""
    permissions: str | None = None
    """As `ls -l` shows them: `-rw-r--r--`."""
    extension: str | None = None
    """Extension of the name with its dot; null if there is none."""


class FileListResult(Model):
    """Entries of a directory."""

    path: str
    """The requested directory."""
    files: tuple[ListedFile, ...] = ()
    """This page of entries, sorted."""
    total_count: int = 0
    """Number of all entries."""
    directory_count: int = 0
    """Directories among them."""
    file_count: int = 0
    """Everything else."""
    truncated: bool = False
    """Whether there are more entries: continue with `offset`."""


class FileTreeRequest(Model):
    """The directory to draw."""

    path: str
    """Directory, absolute or beginning with `~/`."""
    max_depth: int = Field(default=3, ge=1, le=64)
    """Levels of directories to go down."""
    show_hidden: bool = False
    """Include names that begin with a dot."""
    exclude: tuple[str, ...] = (".git", "node_modules", "__pycache__", ".venv")
    """Globs for names to leave out."""


class FileTreeResult(Model):
    """A directory as a tree."""

    path: str
    """The requested directory."""
    tree: str
    """One line per entry, directories with a slash, symlinks with an at sign, as tree(1) draws them."""
    directory_count: int = 0
    """Directories in it."""
    file_count: int = 0
    """Everything else in it."""
    truncated: bool = False
    """Whether the directory has more entries."""


class FileListing:
    """Searches and lists the agent's directories."""

    tag = "file"

    def __init__(self, files: Files) -> None:
        self._files = files

    @operation("POST /v1/file/find", scope="files", operation_id="find_files", message="Search completed", failures="file", read_only=True)
    async def find(self, request: FileFindRequest) -> FileFindResult:
        """Find files by name, at any depth.

        Symlinks to directories are not followed.
        """
        access = self._files.access("find")
        by_path = "/" in request.glob
        found = await access.walk(
            request.path,
            pattern=request.glob if by_path else None,
            named=None if by_path else request.glob,
            files_only=True,
            status=False,
            limit=MAX_FOUND,
        )
        base = access.absolute(request.path)
        paths = tuple(os.path.join(base, entry.path) for entry in found.entries)
        return FileFindResult(path=request.path, files=paths, truncated=_cut(found, 0))

    @operation("POST /v1/file/glob", scope="files", operation_id="glob_files", message="Glob completed", failures="file", read_only=True)
    async def glob(self, request: FileGlobRequest) -> FileGlobResult:
        """Find files by a pattern for their paths.

        Symlinks to directories are not followed.
        """
        access = self._files.access("glob")
        found = await access.walk(
            request.path,
            pattern=request.pattern,
            exclude=request.exclude or (),
            hidden=request.include_hidden,
            files_only=request.files_only,
            status=request.include_metadata or request.sort_by in ("size", "modified"),
            sort=request.sort_by,
            descending=request.sort_desc,
            limit=request.max_results,
        )
        base = access.absolute(request.path)
        matches = tuple(_glob_match(base, entry, metadata=request.include_metadata) for entry in found.entries)
        return FileGlobResult(path=request.path, pattern=request.pattern, files=matches, total_count=found.total, truncated=_cut(found, 0))

    @operation(
        "POST /v1/file/list", scope="files", operation_id="list_path", message="Path listed successfully", failures="file", read_only=True
    )
    async def list(self, request: FileListRequest) -> Reply[FileListResult]:
        """List a directory, or its whole tree."""
        access = self._files.access("list")
        found = await access.walk(
            request.path,
            depth=request.max_depth if request.recursive else 1,
            suffixes=request.file_types or (),
            hidden=request.show_hidden,
            sort=request.sort_by,
            descending=request.sort_desc,
            offset=request.offset,
            limit=request.limit,
        )
        base = access.absolute(request.path)
        result = FileListResult(
            path=request.path,
            files=tuple(_listed(base, entry, request) for entry in found.entries),
            total_count=found.total,
            directory_count=found.directories,
            file_count=found.total - found.directories,
            truncated=_cut(found, request.offset),
        )
        return Reply(result, hint=f"{found.unreadable} directories could not be read." if found.unreadable else None)

    @operation("POST /v1/file/tree", scope="files", operation_id="tree", message="Tree drawn", failures="file", read_only=True)
    async def tree(self, request: FileTreeRequest) -> FileTreeResult:
        """Draw a directory as a tree."""
        found = await self._files.access("list").walk(
            request.path,
            depth=request.max_depth,
            hidden=request.show_hidden,
            exclude=request.exclude,
            status=False,
            limit=MAX_IN_TREE,
        )
        return FileTreeResult(
            path=request.path,
            tree=draw(request.path, found.entries),
            directory_count=found.directories,
            file_count=found.total - found.directories,
            truncated=_cut(found, 0),
        )


def draw(top: str, entries: list[DirectoryEntry]) -> str:
    """Format entries, sorted by path, below `top`."""
    children: dict[str, list[DirectoryEntry]] = {}
    for entry in entries:
        children.setdefault(os.path.dirname(entry.path), []).append(entry)
    lines = [top]
    pending = [(child, "") for child in reversed(children.get("", []))]
    while pending:
        entry, indent = pending.pop()
        last = children[os.path.dirname(entry.path)][-1] is entry
        mark = "@" if entry.link else "/" if entry.directory else ""
        lines.append(f"{indent}{'└── ' if last else '├── '}{os.path.basename(entry.path)}{mark}")
        pending += [(child, indent + ("    " if last else "│   ")) for child in reversed(children.get(entry.path, []))]
    return "\n".join(lines)


def iso_time(nanoseconds: int) -> str:
    """Format nanoseconds since the epoch in ISO 8601, UTC."""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat()


def permissions(status: FileStatus) -> str:
    """Format a mode as `ls -l` does."""
    return stat.filemode(_FILE_TYPE.get(status.type, 0) | status.mode)


def _cut(found: DirectoryListing, offset: int) -> bool:
    return found.incomplete or found.total > offset + len(found.entries)


def _glob_match(base: str, entry: DirectoryEntry, *, metadata: bool) -> GlobMatch:
    status = entry.status if metadata else None
    return GlobMatch(
        path=os.path.join(base, entry.path),
        name=os.path.basename(entry.path),
        is_directory=entry.directory,
        size=status.size if status else None,
        modified_time=iso_time(status.modified) if status else None,
    )


def _listed(base: str, entry: DirectoryEntry, request: FileListRequest) -> ListedFile:
    status, name = entry.status, os.path.basename(entry.path)
    return ListedFile(
        name=name,
        path=os.path.join(base, entry.path),
        is_directory=entry.directory,
        is_symlink=entry.link,
        size=status.size if status and request.include_size else None,
        modified_time=iso_time(status.modified) if status else None,
        permissions=permissions(status) if status and request.include_permissions else None,
        extension=None if entry.directory else os.path.splitext(name)[1] or None,
    )
