"""Typed operations on files, for features."""

import errno
import os
import stat
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

from sandbox_server.core.errors import Conflict, FileError, FileErrorType, PermissionDenied
from sandbox_server.drivers.files.descriptor_stream import OpenFile, StagedFile
from sandbox_server.drivers.files.message_frames import MAX_PAYLOAD, WorkerFrame
from sandbox_server.drivers.files.metadata import Details, DirectoryEntry, DirectoryListing, FileStatus, Filesystem

MAX_READ = 64 << 20
"""Limit in bytes of a file that is read into memory. Larger files are read in parts or downloaded."""

type User = Literal["agent", "root"]
type SortKey = Literal["path", "name", "size", "modified", "type"]
type ArchiveFormat = Literal["tar", "tar.gz", "zip"]


class Pool(Protocol):
    """Sends requests to workers; `Files` implements it."""

    home: str
    threads: Executor

    async def call(self, user: User, request: WorkerFrame, timeout: float) -> WorkerFrame: ...


@dataclass(frozen=True, slots=True)
class FileAccess:
    """Operations as one user. Names are in the encoding of `name_encoding`.

    Paths are absolute or begin with `~/`. Raises FileError, or Conflict if the file does not match `if_match`.
    """

    files: Pool
    operation: str
    user: User
    timeout: float

    async def read(self, path: str, *, limit: int = MAX_READ) -> tuple[bytes, FileStatus]:
        """Read a file of at most `limit` bytes."""
        answer = await self._do({"op": "read", "path": path, "limit": limit})
        return answer.payload, _status(answer.header)

    async def read_lines(self, path: str, start: int, stop: int | None, *, limit: int = MAX_READ) -> tuple[bytes, FileStatus, bool]:
        """Read the lines from `start` up to but not including `stop`, counted from 0; at most `limit` bytes.

        The last value is true if the whole file was read, because its lines can only be told apart after decoding.
        """
        answer = await self._do({"op": "read_lines", "path": path, "limit": limit, "start": start, "stop": stop})
        return answer.payload, _status(answer.header), answer.header["whole"]

    async def write(
        self,
        path: str,
        content: bytes,
        *,
        append: bool = False,
        exclusive: bool = False,
        parents: bool = True,
        mode: int | None = None,
        if_match: str | None = None,
    ) -> FileStatus:
        """Replace a file whole, or `append` to it.

        `mode` is for a new file. `exclusive` refuses to replace an existing one.
        """
        if len(content) > MAX_PAYLOAD:
            raise self._error(errno.EFBIG, path)
        options = {"append": append, "exclusive": exclusive, "parents": parents, "mode": mode, "if_match": if_match}
        return _status((await self._do({"op": "write", "path": path, **options}, content)).header)

    async def open(self, path: str) -> OpenFile:
        """Open a regular file for reading. The caller closes it."""
        answer = await self._do({"op": "open", "path": path})
        return OpenFile(self._descriptor(answer, path), _status(answer.header), self.files.threads)

    async def begin(self, path: str) -> int:
        """Put an empty file at `path`, and return a descriptor to write it, which the caller closes."""
        return self._descriptor(await self._do({"op": "begin", "path": path, "parents": True}), path)

    async def stage(self, path: str, *, parents: bool = True, if_match: str | None = None) -> StagedFile:
        """Begin a file that replaces the one at `path` when it is committed."""
        answer = await self._do({"op": "stage", "path": path, "parents": parents, "if_match": if_match})
        return StagedFile(self._descriptor(answer, path), self.files.threads, lambda number: self._error(number, path))

    async def commit(self, made: StagedFile | OpenFile, path: str, *, exclusive: bool = False, if_match: str | None = None) -> FileStatus:
        """Move a staged file into place in one step. A file from another file system is copied and stays."""
        if isinstance(made, StagedFile):
            await made.flush()
        header = {"op": "commit", "path": path, "parents": True, "exclusive": exclusive, "if_match": if_match}
        return _status((await self._do(header, fds=[made.fd])).header)

    async def stat(self, path: str, *, follow: bool = True) -> Details:
        """Return the status of a path. Without `follow`, a symlink's own status."""
        header = (await self._do({"op": "stat", "path": path, "follow": follow})).header
        system = header.pop("filesystem", None)
        return Details(
            status=_status(header),
            owner=header["owner"],
            group=header["group"],
            real_path=header["real_path"],
            target=header.get("target"),
            leads_to=header.get("leads_to"),
            filesystem=Filesystem(**system) if system else None,
        )

    async def walk(
        self,
        path: str,
        *,
        depth: int | None = None,
        pattern: str | None = None,
        named: str | None = None,
        suffixes: Sequence[str] = (),
        exclude: Sequence[str] = (),
        hidden: bool = True,
        files_only: bool = False,
        status: bool = True,
        sort: SortKey = "path",
        descending: bool = False,
        offset: int = 0,
        limit: int,
    ) -> DirectoryListing:
        """List a tree, filtered by a glob for relative paths, by a glob for names, or by suffixes.

        Symlinks are not followed.
        """
        header = {
            "op": "walk",
            "path": path,
            "depth": depth,
            "pattern": pattern,
            "named": named,
            "suffixes": list(suffixes),
            "exclude": list(exclude),
            "hidden": hidden,
            "kinds": "files" if files_only else "all",
            "status": status,
            "sort": sort,
            "descending": descending,
            "offset": offset,
            "limit": limit,
            "seconds": self.timeout * 0.8,
        }
        found = (await self._do(header)).header
        entries = [_entry(entry) for entry in found.pop("entries")]
        return DirectoryListing(entries, **found)

    async def mkdir(self, path: str, *, parents: bool = True, exists_ok: bool = True, mode: int | None = None) -> bool:
        """Make a directory. Return False if it existed."""
        answer = await self._do({"op": "mkdir", "path": path, "parents": parents, "exists_ok": exists_ok, "mode": mode})
        return bool(answer.header["made"])

    async def move(self, path: str, destination: str, *, overwrite: bool = False, parents: bool = True) -> FileStatus:
        """Rename, or copy and delete across file systems. `destination` is the new path itself."""
        header = {"op": "move", "path": path, "destination": destination, "overwrite": overwrite, "parents": parents}
        return _status((await self._do(header)).header)

    async def copy(
        self, path: str, destination: str, *, recursive: bool = False, overwrite: bool = False, parents: bool = True
    ) -> tuple[FileStatus, list[str]]:
        """Copy a file or a tree. Return the paths that cannot be copied: sockets and devices."""
        options = {"recursive": recursive, "overwrite": overwrite, "parents": parents}
        header = (await self._do({"op": "copy", "path": path, "destination": destination, **options})).header
        return _status(header), header["left_out"]

    async def delete(self, path: str, *, recursive: bool = False, missing_ok: bool = False, if_match: str | None = None) -> bool:
        """Delete a file, or with `recursive` a tree. Return False if nothing existed."""
        options = {"recursive": recursive, "missing_ok": missing_ok, "if_match": if_match}
        return bool((await self._do({"op": "delete", "path": path, **options})).header["deleted"])

    async def change(
        self, path: str, *, mode: str | None = None, owner: str | None = None, group: str | None = None, recursive: bool = False
    ) -> tuple[FileStatus, int]:
        """Change mode, owner or group. Return also the number of changed entries."""
        options = {"mode": mode, "owner": owner, "group": group, "recursive": recursive}
        header = (await self._do({"op": "change", "path": path, **options})).header
        return _status(header), header["changed_entries"]

    async def archive(
        self, paths: Sequence[str], path: str, form: ArchiveFormat, *, exclude: Sequence[str] = (), overwrite: bool = False
    ) -> tuple[FileStatus, int]:
        """Pack files into an archive. Return also its number of members."""
        packed = [self.absolute(each) for each in paths]
        header = {"op": "archive", "path": path, "paths": packed, "format": form, "exclude": list(exclude), "overwrite": overwrite}
        answer = (await self._do({**header, "parents": True})).header
        return _status(answer), answer["members"]

    async def extract(self, path: str, destination: str, *, limit: int, overwrite: bool = False) -> tuple[int, int]:
        """Unpack an archive into a directory. Return the numbers of members and bytes."""
        answer = (
            await self._do({"op": "extract", "path": path, "destination": destination, "limit": limit, "overwrite": overwrite})
        ).header
        return answer["members"], answer["size"]

    async def _do(self, header: dict[str, Any], payload: bytes = b"", fds: Sequence[int] = ()) -> WorkerFrame:
        for key in ("path", "destination"):
            if key in header:
                header[key] = self.absolute(header[key])
        path = header["path"]
        try:
            answer = await self.files.call(self.user, WorkerFrame(header, payload, list(fds)), self.timeout)
        except PermissionDenied as denied:
            raise self._refusal("permission_denied", f"{denied.message} (sudo is not allowed here)", path) from None
        except TimeoutError:
            message = f"it did not end within {self.timeout:g} s and was stopped; some of it may be done"
            raise self._refusal("io_error", message, path, errno.ETIMEDOUT) from None
        except ConnectionError as error:
            raise self._refusal("io_error", f"{error}; it may be done in part", path, errno.EIO) from None
        self._check(answer, path)
        answer.header = _Told(answer.header, self._broken(path))
        return answer

    def _descriptor(self, answer: WorkerFrame, path: str) -> int:
        """Return the answer's only descriptor. It must be a regular file: reading anything else may block for ever."""
        if len(answer.fds) == 1 and stat.S_ISREG(os.fstat(answer.fds[0]).st_mode):
            return answer.fds[0]
        answer.close()
        raise self._broken(path)

    def _broken(self, path: str) -> FileError:
        return self._refusal("io_error", "the file worker's answer is none", path, errno.EIO)

    def absolute(self, path: str) -> str:
        """Return a path in the form that workers expect: with the agent's home for `~`."""
        if path == "~" or path.startswith("~/"):
            return self.files.home + path[1:]
        if not path.startswith("/"):
            raise self._refusal("invalid_path", f"the path must be absolute: {path!r}", path)
        return path

    def _check(self, answer: WorkerFrame, path: str) -> None:
        header = answer.header
        if "errno" in header:
            raise self._error(header["errno"], header["path"])
        if header.get("refused") == "conflict":
            raise Conflict(header["message"], path=path)
        if "refused" in header:
            raise self._refusal(cast("FileErrorType", header["refused"]), header["message"], header["path"])

    def _error(self, number: int, path: str) -> FileError:
        error = FileError.from_errno(number, path=path, operation=self.operation)
        error.hint = _HINTS.get(number)
        return error

    def _refusal(self, kind: FileErrorType, message: str, path: str, number: int | None = None) -> FileError:
        text = f"Failed to {self.operation} file: {message}"
        return FileError(text, path=path, operation=self.operation, error_type=kind, errno=number)


_HINTS = {
    errno.EFBIG: "It is too large for one answer: read it in parts with start_line and end_line, or download it.",
    errno.ENOSPC: "The disk is full; the file that was there is unchanged.",
}


class _Told(dict[str, Any]):
    """An answer's fields. A missing field raises FileError."""

    def __init__(self, said: dict[str, Any], broken: FileError) -> None:
        super().__init__(said)
        self._broken = broken

    def __missing__(self, _: str) -> object:
        raise self._broken


_FIELDS = tuple(FileStatus.__dataclass_fields__)


def _status(header: dict[str, Any]) -> FileStatus:
    return FileStatus(**{name: header[name] for name in _FIELDS})


def _entry(entry: dict[str, Any]) -> DirectoryEntry:
    return DirectoryEntry(entry["path"], entry["directory"], entry["link"], _status(entry) if "type" in entry else None)
