"""The folder where the agent lives. Workers open every file, with the agent's rights: a link leads to nothing that it may not read.

Regular files are kept. Links, devices, sockets, pipes, empty directories, and what the agent may not read are left out.
"""

import hashlib
import os
from dataclasses import dataclass, field

from sandbox_server.core.errors import Conflict, FileError, TooLarge
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.files.files import Files as FileWorkers
from sandbox_server.drivers.files.metadata import DirectoryEntry, FileStatus
from sandbox_server.drivers.files.operations import FileAccess
from sandbox_server.drivers.folders.places import FolderLimits
from sandbox_server.drivers.folders.version import FileRecord, is_kept

SECONDS = 60.0
"""Seconds that a worker may take for one operation."""
MAX_ENTRIES = 100_000
"""Limit of names in the folder, directories and what is left out included."""
EXECUTABLE = 0o100

type Stamp = tuple[int, int, int, int]
"""What changes with a file: inode, size, and the times of its content and of its inode, which no program can set."""


@dataclass(frozen=True, slots=True)
class TreeListing:
    """What is in the folder."""

    files: dict[str, FileRecord]
    etags: dict[str, str]
    """The tag of each file, for changes that must not hit a later content."""
    left_out: list[str]
    """What is not kept: links, devices, and what the agent may not read."""
    whole: bool
    """Whether what is missing is known to be missing: the folder is there and all of it could be read."""


@dataclass(slots=True)
class AgentTree:
    """Reads and writes the folder at `path`."""

    workers: FileWorkers
    path: str
    limits: FolderLimits
    _known: dict[str, tuple[Stamp, FileRecord]] = field(default_factory=dict)

    async def make(self) -> None:
        """Make the folder if it is missing. Raises FileError."""
        await self._access().mkdir(self.path)

    async def read(self) -> TreeListing:
        """List the folder and hash what changed since the last time. Raises FileError, and TooLarge above the limits."""
        try:
            found = await self._access().walk(self.path, limit=MAX_ENTRIES)
        except FileError as error:
            if error.error_type == "not_found":
                return TreeListing({}, {}, [], whole=False)
            raise
        if found.incomplete or found.total > MAX_ENTRIES:
            raise TooLarge(f"{self.path} has more than {MAX_ENTRIES} names, or takes too long to list")
        listing = TreeListing({}, {}, [], whole=not found.unreadable)
        regular = [each for each in found.entries if each.status and each.status.type == "file"]
        self._check(regular)
        known: dict[str, tuple[Stamp, FileRecord]] = {}
        for entry in found.entries:
            if entry.status is None or (entry.status.type != "file" and not _is_directory(entry)):
                listing.left_out.append(entry.path)
            elif entry.status.type == "file":
                await self._add(entry.path, entry.status, listing, known)
        self._known = known
        return TreeListing(listing.files, listing.etags, listing.left_out, listing.whole)

    def _check(self, regular: list[DirectoryEntry]) -> None:
        size = sum(each.status.size for each in regular if each.status)
        if len(regular) > self.limits.max_files:
            raise TooLarge(f"{self.path} has {len(regular)} files; FOLDERS_MAX_FILES is {self.limits.max_files}")
        if size > self.limits.max_bytes:
            raise TooLarge(f"{self.path} has {size} bytes; FOLDERS_MAX_BYTES is {self.limits.max_bytes}")

    async def _add(self, path: str, status: FileStatus, listing: TreeListing, known: dict[str, tuple[Stamp, FileRecord]]) -> None:
        stamp = (status.inode, status.size, status.modified, status.changed)
        before = self._known.get(path)
        try:
            record = before[1] if before and before[0] == stamp else await self.copy(path, None) if is_kept(path) else None
        except (FileError, Conflict):  # the agent may not read it, or changes it meanwhile
            record = before[1] if before else None
        if record is None:
            listing.left_out.append(path)
            return
        known[path] = stamp, record
        listing.files[path], listing.etags[path] = record, status.etag

    async def copy(self, path: str, target: str | None) -> FileRecord:
        """Read a file, into the file `target` if that is given, and return what was read. Raises FileError and Conflict."""
        digest = hashlib.sha256()
        with await self._access().open(self._absolute(path)) as source:
            size = source.status.size
            if size > self.limits.max_bytes:
                raise TooLarge(f"{path} has {size} bytes; FOLDERS_MAX_BYTES is {self.limits.max_bytes}")
            with await in_thread(open, target or os.devnull, "wb") as copy:
                async for piece in source.chunks(0, size):
                    digest.update(piece)
                    if target:
                        await in_thread(copy.write, piece)
            if source.changed():
                raise Conflict(f"{path} changed while it was read")
            return FileRecord(size, digest.hexdigest(), bool(source.status.mode & EXECUTABLE))

    async def write(self, path: str, source: str, record: FileRecord, etag: str | None) -> None:
        """Put a file in the place of the one with that tag, or where none is. Raises Conflict where another is, and FileError."""
        access, place = self._access(), self._absolute(path)
        if etag is None and await self._exists(place):
            raise Conflict(f"{path} is there by now")
        with await in_thread(open, source, "rb") as content, await access.stage(place, if_match=etag) as staged:
            while piece := await in_thread(content.read, 1 << 20):
                await staged.write(piece)
            status = await access.commit(staged, place, exclusive=etag is None, if_match=etag)
        if bool(status.mode & EXECUTABLE) != record.executable:
            await access.change(place, mode="u+x" if record.executable else "a-x")

    async def remove(self, path: str, etag: str) -> None:
        """Remove the file with that tag. Raises Conflict where another is, and FileError."""
        await self._access().delete(self._absolute(path), if_match=etag, missing_ok=True)

    async def _exists(self, place: str) -> bool:
        try:
            await self._access().stat(place, follow=False)
        except FileError as error:
            if error.error_type == "not_found":
                return False
            raise
        return True

    def _access(self) -> FileAccess:
        return self.workers.access("synchronise", timeout=SECONDS)

    def _absolute(self, path: str) -> str:
        return f"{self.path}/{path}"


def _is_directory(entry: DirectoryEntry) -> bool:
    return entry.status is not None and entry.status.type == "directory"
