"""Messages of the service `filesystem.Filesystem` of envd."""

from datetime import datetime

from pydantic import Field

from tandem_fleet.e2b.messages import Int64, Message, Path

MAX_DEPTH = 64


class PathRequest(Message):
    """A path."""

    path: Path = ""


class MoveRequest(Message):
    """What to move, and to where."""

    source: Path = ""
    destination: Path = ""


class ListDirRequest(PathRequest):
    """What to list."""

    depth: int = Field(default=1, ge=0, le=MAX_DEPTH)


class WatchRequest(PathRequest):
    """What to watch."""

    recursive: bool = False
    include_entry: bool = False


class WatcherRequest(Message):
    """A watcher."""

    watcher_id: str = Field(default="", max_length=512)


class EntryInfo(Message):
    """A file, a directory or a link."""

    name: str
    type: str = "FILE_TYPE_UNSPECIFIED"
    path: str
    size: Int64 = 0
    mode: int = 0
    permissions: str = ""
    owner: str = ""
    group: str = ""
    modified_time: datetime | None = None
    symlink_target: str | None = None


class EntryResponse(Message):
    """One of them."""

    entry: EntryInfo


class ListDirResponse(Message):
    """What is in a directory."""

    entries: tuple[EntryInfo, ...] = ()


class FilesystemEvent(Message):
    """What happened to a file."""

    name: str
    type: str
    entry: EntryInfo | None = None


class WatchDirResponse(Message):
    """One of these."""

    start: dict[str, str] | None = None
    filesystem: FilesystemEvent | None = None
    keepalive: dict[str, str] | None = None


class CreateWatcherResponse(Message):
    """A watcher that was made."""

    watcher_id: str


class WatcherEventsResponse(Message):
    """What happened since it was asked last."""

    events: tuple[FilesystemEvent, ...] = ()
