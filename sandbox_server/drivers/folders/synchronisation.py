"""Synchronises a folder with its store: what changed here and there becomes one version, and is then in both.

A store holds each file's content by its digest and each version by its number. Neither is ever changed, so no version is lost. Of two
computers that make the same version at once, the store takes one, and the other merges anew.
"""

import os
import secrets
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from sandbox_server.core.errors import Conflict, FileError
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.folders.agent_tree import AgentTree, TreeListing
from sandbox_server.drivers.folders.merge import Merge, merge
from sandbox_server.drivers.folders.places import FolderPlaces, WaitingFiles, check_file
from sandbox_server.drivers.folders.version import (
    MAX_VERSION_BYTES,
    DamagedError,
    FileRecord,
    Files,
    Version,
    blob_key,
    decode,
    number_of,
    version_key,
)

ATTEMPTS = 8
"""How often a version is made anew because another computer made it first."""

type CopyFile = Callable[[str, str], Awaitable[FileRecord]]
"""Copies a file of the folder, by its path, to a file, and returns what it copied."""


class FolderStore(Protocol):
    """Objects by name, `/` between parts. Every method raises StoreAwayError."""

    async def first(self, prefix: str) -> list[str]:
        """Return the first names, at most 100, that begin with a prefix, in the order of names."""

    async def read(self, key: str, limit: int) -> bytes | None:
        """Return a small object; None if there is none. Raises DamagedError if it has more than `limit` bytes."""

    async def create(self, key: str, content: bytes) -> bool:
        """Make a small object; False, and nothing is changed, if there is one of that name."""

    async def upload(self, key: str, path: str, digest: str) -> None:
        """Make an object of a file whose SHA-256 is `digest`."""

    async def download(self, key: str, path: str, limit: int) -> None:
        """Write an object to a new file. Raises DamagedError if it is missing or has more than `limit` bytes."""


@dataclass(slots=True)
class Synchronised:
    """What a synchronisation did."""

    version: int
    sent: int = 0
    """Files whose content went to the store."""
    written: int = 0
    removed: int = 0
    conflicts: list[str] = field(default_factory=list)
    """Names under which the store's files are kept beside those here."""
    left_out: list[str] = field(default_factory=list)
    """What is not kept, or was changed meanwhile and is kept the next time."""


class Synchronisation:
    """Synchronises one folder. Not more than one method runs at a time.

    They raise StoreAwayError where the store cannot be had, DamagedError where it gave what cannot be right, FileError and TooLarge
    where the folder cannot be read, and Conflict where other computers keep changing it. The folder is then as it was, or written in part.
    """

    def __init__(self, store: FolderStore, tree: AgentTree, places: FolderPlaces) -> None:
        self._store = store
        self._tree = tree
        self._places = places

    async def run(self, *, removals: bool = True) -> Synchronised:
        """Synchronise. Without `removals`, as at the start, what is missing here was not removed here: it comes back."""
        self._places.forget_drafts()
        await self._send_waiting()
        if not removals:
            await self._tree.make()
        with self._places.drafts() as drafts:
            listing, base = await self._tree.read(), self._places.read_base()
            done = Synchronised(0, left_out=list(listing.left_out))
            version, merged = await self._agree(base, listing.files, self._tree.copy, drafts, done, removals=removals and listing.whole)
            agreed = await self._write(version, merged, listing, base, drafts, done)
        self._places.write_base(agreed)
        return replace(done, version=version.number, conflicts=sorted(merged.conflicts.values()))

    async def keep(self, *, removals: bool) -> bool:
        """Copy what changed here since the last time to where it waits for the store. False if nothing did.

        Without `removals`, as where the store never answered since the start, what is missing here was not removed here.
        """
        listing, base = await self._tree.read(), self._places.read_base()
        kept = dict(listing.files) if removals else {**base.files, **listing.files}
        if not listing.whole or kept == base.files:
            return False
        root = self._places.begin_waiting()
        for path, record in listing.files.items():
            if base.files.get(path) != record:
                kept[path] = await self._copy_waiting(path, root)
        self._places.end_waiting(base, Version(0, kept))
        return True

    async def _copy_waiting(self, path: str, root: str) -> FileRecord:
        draft = f"{root}/.draft"
        record = await self._tree.copy(path, draft)
        os.rename(draft, f"{root}/{record.digest}")
        return record

    @property
    def waiting(self) -> bool:
        """Whether something waits for the store."""
        return self._places.read_waiting() is not None

    async def _send_waiting(self) -> None:
        if waiting := self._places.read_waiting():
            with self._places.drafts() as drafts:
                copy, done = _copier(waiting), Synchronised(0)
                await self._agree(waiting.base, waiting.kept.files, copy, drafts, done, removals=True)
            self._places.forget_waiting()

    async def _agree(
        self, base: Version, here: Files, copy: CopyFile, drafts: str, done: Synchronised, *, removals: bool
    ) -> tuple[Version, Merge]:
        """Make the store have what comes out of both, and return that."""
        sent: dict[str, FileRecord | None] = {}
        for _ in range(ATTEMPTS):
            newest = await self._newest()
            trusted = base if base.number <= newest.number and base.lineage == newest.lineage else Version()
            merged = merge(trusted.files, here, newest.files, newest.number, removals=removals)
            there = {record.digest for record in newest.files.values()}
            for path, record in list(merged.files.items()):
                if path in here and path not in merged.written and record.digest not in there:
                    if path not in sent:
                        sent[path] = await self._send(path, copy, drafts, done)
                    _settle(merged, path, sent[path], newest.files.get(path))
            if merged.files == newest.files:
                return newest, merged
            made = Version(newest.number + 1, merged.files, newest.lineage or secrets.token_hex(16))
            if await self._store.create(version_key(made.number), made.encode()):
                return made, merged
        raise Conflict("other computers keep changing the folder's store; it is tried again")

    async def _send(self, path: str, copy: CopyFile, drafts: str, done: Synchronised) -> FileRecord | None:
        """Upload a copy that nobody changes, and return what it holds; None where the file cannot be read as one."""
        draft = f"{drafts}/sent"
        try:
            record = await copy(path, draft)
        except (Conflict, FileError):  # it is changing, or has gone
            done.left_out.append(path)
            return None
        await self._store.upload(blob_key(record.digest), draft, record.digest)
        os.unlink(draft)
        done.sent += 1
        return record

    async def _newest(self) -> Version:
        limits = self._places.limits
        for key in await self._store.first("versions/"):
            if number := number_of(key):
                content = await self._store.read(key, MAX_VERSION_BYTES)
                if content is None:
                    raise DamagedError(f"the store lists {key} and does not have it")
                return decode(content, number, max_files=limits.max_files, max_bytes=limits.max_bytes)
        return Version()

    async def _write(
        self, version: Version, merged: Merge, listing: TreeListing, base: Version, drafts: str, done: Synchronised
    ) -> Version:
        """Write here what came out, and return what is here as far as it is in the store, too."""
        agreed = dict(version.files)
        for path in merged.unsettled:
            _disagree(agreed, path, base)
        for path, record in merged.written.items():
            try:
                await self._fetch(path, record, listing.etags.get(path), drafts)
                done.written += 1
            except (Conflict, FileError):  # it was changed meanwhile, or something that is not kept is there
                _disagree(agreed, path, base)
                done.left_out.append(path)
        for path in merged.removed:
            try:
                await self._tree.remove(path, listing.etags[path])
                done.removed += 1
            except (Conflict, FileError):
                _disagree(agreed, path, base)
                done.left_out.append(path)
        return Version(version.number, agreed, version.lineage)

    async def _fetch(self, path: str, record: FileRecord, etag: str | None, drafts: str) -> None:
        draft = f"{drafts}/fetched"
        await self._store.download(blob_key(record.digest), draft, record.size)
        await in_thread(check_file, draft, record)
        try:
            await self._tree.write(path, draft, record, etag)
        finally:
            os.unlink(draft)


def _settle(merged: Merge, path: str, sent: FileRecord | None, theirs: FileRecord | None) -> None:
    """Let the version have the copy of a file that was sent; where none could be, what the store had."""
    if sent is not None:
        merged.files[path] = sent
        return
    merged.unsettled.append(path)
    del merged.files[path]
    if theirs is not None:
        merged.files[path] = theirs


def _disagree(agreed: dict[str, FileRecord], path: str, base: Version) -> None:
    """Note that a file here is not as in the store: as far as known, it is still what it was."""
    agreed.pop(path, None)
    if path in base.files:
        agreed[path] = base.files[path]


def _copier(waiting: WaitingFiles) -> CopyFile:
    async def copy(path: str, target: str) -> FileRecord:
        record = waiting.kept.files[path]
        try:
            await in_thread(shutil.copyfile, f"{waiting.root}/{record.digest}", target)
        except FileNotFoundError:  # it was in the store, which has been emptied
            raise Conflict(f"{path} is not kept") from None
        await in_thread(check_file, target, record)
        return record

    return copy
