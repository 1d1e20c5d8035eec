"""Folders: list them and synchronise one."""

from collections.abc import Mapping

from sandbox_server.core import Model, NotFound, operation
from sandbox_server.drivers.folders.synchronisation import Synchronised
from sandbox_server.features.folders.folder_sync import FolderState, FolderSync

SHOWN = 100
"""Names that are listed of conflicts and of what is left out."""


class FolderRef(Model):
    """Which folder."""

    name: str
    """Its name in `FOLDERS`."""


class FolderSynchronised(Model):
    """What a synchronisation did."""

    version: int
    """The version of the store that the folder is like now."""
    sent: int
    """Files whose content went to the store."""
    written: int
    """Files that were written in the folder."""
    removed: int
    """Files that were removed from the folder, because another computer removed them."""
    conflicts: list[str]
    """Names under which another computer's content was put beside a file that was changed here, too; at most 100."""
    left_out: list[str]
    """What is not kept: links, devices, what the agent may not read, and what was changing; at most 100."""


class SyncedFolder(Model):
    """A folder, and how its last synchronisation ended."""

    name: str
    path: str
    """Where it is for the agent."""
    store: str
    """`directory`, or the address of the bucket or of the archive."""
    state: FolderState
    """`new` until the first one has ended; `failed` is tried again by itself."""
    synchronised: float | None
    """When it last succeeded, in seconds since the epoch."""
    error: str | None
    """Why the last one failed."""
    waiting: bool
    """Files of an end without the store are kept beside the box, and wait for it."""
    last: FolderSynchronised | None
    """What the last one that succeeded did."""


class FolderList(Model):
    """The folders."""

    folders: list[SyncedFolder]


class Folders:
    """The folders of `FOLDERS`, by name."""

    tag = "folders"

    def __init__(self, folders: Mapping[str, FolderSync]) -> None:
        self._folders = folders

    @operation("GET /v1/folders", scope="view", tool="folder_list")
    async def list_folders(self) -> FolderList:
        """List the folders that are synchronised with a store, and how that went."""
        return FolderList(folders=[_shown(each) for each in self._folders.values()])

    @operation("POST /v1/folders/{name}/sync", scope="files", tool="folder_sync", open_world=True, destructive=True)
    async def sync_folder(self, request: FolderRef) -> FolderSynchronised:
        """Synchronise a folder with its store now.

        What changed in the folder goes to the store, and what other computers changed comes from it. Of a file that both changed, the
        store's content is put beside it as `NAME.conflict-VERSION`. Raises 503 where the store does not answer, and 409 where what it
        gave cannot be right: then the folder is as it was, or written in part, and a later call goes on.
        """
        folder = self._folders.get(request.name)
        if folder is None:
            raise NotFound(f"there is no folder {request.name!r}", name=request.name)
        return _told(await folder.synchronise())


def _shown(folder: FolderSync) -> SyncedFolder:
    last = folder.last
    return SyncedFolder(
        name=folder.folder.name,
        path=folder.folder.path,
        store=folder.folder.store,
        state=last.state,
        synchronised=last.at,
        error=last.error,
        waiting=folder.waiting,
        last=_told(last.done) if last.done else None,
    )


def _told(done: Synchronised) -> FolderSynchronised:
    return FolderSynchronised(
        version=done.version,
        sent=done.sent,
        written=done.written,
        removed=done.removed,
        conflicts=done.conflicts[:SHOWN],
        left_out=done.left_out[:SHOWN],
    )
