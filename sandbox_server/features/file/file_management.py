"""What the contract has no operation for: status, directories, moving, copying, deleting, modes."""

from pydantic import Field

from sandbox_server.core import InvalidArgument, Model, Reply, operation
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.metadata import Details, FileKind, FileStatus
from sandbox_server.features.file.listing import iso_time, permissions

SECONDS = 300.0
"""How long a tree may take to be copied, moved or deleted, unless the caller says otherwise."""
MAX_SECONDS = 3600.0


class FileStatRequest(Model):
    """A path to look at."""

    path: str
    """Absolute path, or one that begins with `~/`."""
    follow_symlinks: bool = True
    """Look at what a link leads to; false: at the link."""
    sudo: bool = False
    """Look as root."""


class FilesystemSpace(Model):
    """The file system that something is on."""

    total_bytes: int
    """Bytes in all."""
    free_bytes: int
    """Bytes that can still be written without being root."""
    read_only: bool
    """Nothing can be written."""


class FileStat(Model):
    """What is at a path."""

    path: str
    """Path as it was asked for."""
    real_path: str
    """The path with every link followed."""
    type: FileKind
    """What it is."""
    size: int
    """Bytes."""
    mode: str
    """Permission bits in octal, as in `0644`."""
    permissions: str
    """Mode as `ls -l` shows it."""
    owner: str
    """User, by name where it has one."""
    group: str
    """Group, by name where it has one."""
    uid: int
    """User id."""
    gid: int
    """Group id."""
    modified_time: str
    """Last change of the content, ISO 8601 in UTC."""
    accessed_time: str
    """Last time it was read, as far as the file system notes it."""
    changed_time: str
    """Last change of content, mode or owner."""
    inode: int
    """Number of the file in its file system."""
    links: int
    """Names that the file has."""
    etag: str
    """Tag of this version, for `if_match`."""
    link_target: str | None = None
    """What a symbolic link says; only when links are not followed."""
    link_leads_to: FileKind | None = None
    """What is at the end of the link; null when it leads nowhere."""
    filesystem: FilesystemSpace | None = None
    """Where it is kept."""


class FileMkdirRequest(Model):
    """A directory to make."""

    path: str
    """Absolute path, or one that begins with `~/`."""
    parents: bool = True
    """Make the directories above it as well."""
    exist_ok: bool = True
    """Be content with a directory that is there."""
    mode: str | None = Field(default=None, pattern=r"^[0-7]{3,4}$")
    """Permission bits in octal, as in `0700`."""
    sudo: bool = False
    """Make it as root."""


class FileMkdirResult(Model):
    """The directory."""

    path: str
    """Path as it was asked for."""
    created: bool
    """False when it was there."""


class FileMoveRequest(Model):
    """What to move, and to where."""

    path: str
    """What to move: absolute path, or one that begins with `~/`."""
    destination: str
    """The new path itself, not the directory to put it into. Missing directories above it are made."""
    overwrite: bool = False
    """Replace a file that is there. A directory that has entries is never replaced."""
    timeout: float = Field(default=SECONDS, gt=0, le=MAX_SECONDS)
    """Seconds after which it is stopped; only a move to another file system takes long."""
    sudo: bool = False
    """Move as root."""


class FileCopyRequest(Model):
    """What to copy, and to where."""

    path: str
    """What to copy: absolute path, or one that begins with `~/`."""
    destination: str
    """The new path itself, not the directory to put it into. Missing directories above it are made."""
    recursive: bool = False
    """Copy a directory with all that is in it."""
    overwrite: bool = False
    """Replace a file that is there. A directory that has entries is never replaced."""
    timeout: float = Field(default=SECONDS, gt=0, le=MAX_SECONDS)
    """Seconds after which it is stopped."""
    sudo: bool = False
    """Copy as root."""


class FilePlaced(Model):
    """Where something is now."""

    path: str
    """Where it was copied or moved from."""
    destination: str
    """Where it is."""
    type: FileKind
    """What it is."""
    size: int
    """Bytes, of the file itself."""
    etag: str
    """Tag of this version, for `if_match`."""


class FileDeleteRequest(Model):
    """What to delete."""

    path: str
    """Absolute path, or one that begins with `~/`. A symbolic link is deleted, not what it leads to."""
    recursive: bool = False
    """Delete a directory with all that is in it."""
    missing_ok: bool = False
    """Be content when there is nothing."""
    if_match: str | None = None
    """Delete only if the file still has this etag; else 409."""
    timeout: float = Field(default=SECONDS, gt=0, le=MAX_SECONDS)
    """Seconds after which it is stopped."""
    sudo: bool = False
    """Delete as root."""


class FileDeleteResult(Model):
    """What became of it."""

    path: str
    """Path as it was asked for."""
    deleted: bool
    """False when there was nothing."""


class FileChmodRequest(Model):
    """Whose file it is to be, and who may do what with it."""

    path: str
    """Absolute path, or one that begins with `~/`."""
    mode: str | None = None
    """Octal as in `0755`, or as chmod(1) takes it: `u+x`, `go-w`, `a=r`."""
    owner: str | None = None
    """User by name or id; needs `sudo`."""
    group: str | None = None
    """Group by name or id."""
    recursive: bool = False
    """Everything below as well; symbolic links are left alone."""
    timeout: float = Field(default=SECONDS, gt=0, le=MAX_SECONDS)
    """Seconds after which it is stopped."""
    sudo: bool = False
    """Change it as root."""


class FileChmodResult(Model):
    """What it is like now."""

    path: str
    """Path as it was asked for."""
    mode: str
    """Permission bits in octal."""
    permissions: str
    """Mode as `ls -l` shows it."""
    changed_count: int
    """Files and directories that were set."""


class FileChanges:
    """Rearranges the agent's files."""

    tag = "file"

    def __init__(self, files: Files) -> None:
        self._files = files

    @operation("POST /v1/file/stat", scope="files", operation_id="stat_file", failures="file", read_only=True)
    async def stat(self, request: FileStatRequest) -> FileStat:
        """Say what is at a path: kind, size, mode, owner, times, and how much room there is."""
        access = self._files.access("stat", sudo=request.sudo)
        return _stat(request.path, await access.stat(request.path, follow=request.follow_symlinks))

    @operation("POST /v1/file/mkdir", scope="files", operation_id="make_directory", message="Directory created", failures="file")
    async def mkdir(self, request: FileMkdirRequest) -> FileMkdirResult:
        """Make a directory."""
        access = self._files.access("mkdir", sudo=request.sudo)
        mode = int(request.mode, 8) if request.mode else None
        made = await access.mkdir(request.path, parents=request.parents, exists_ok=request.exist_ok, mode=mode)
        return FileMkdirResult(path=request.path, created=made)

    @operation("POST /v1/file/move", scope="files", operation_id="move_file", message="Moved", failures="file")
    async def move(self, request: FileMoveRequest) -> FilePlaced:
        """Move or rename a file or a directory.

        In one step, except to another file system, where it is copied whole and then deleted.
        """
        access = self._files.access("move", sudo=request.sudo, timeout=request.timeout)
        status = await access.move(request.path, request.destination, overwrite=request.overwrite)
        return _placed(request.path, request.destination, status)

    @operation("POST /v1/file/copy", scope="files", operation_id="copy_file", message="Copied", failures="file")
    async def copy(self, request: FileCopyRequest) -> Reply[FilePlaced]:
        """Copy a file, or a directory with all that is in it.

        Modes, times and links are kept. The copy is made out of sight, so that it is there whole or not at all.
        """
        access = self._files.access("copy", sudo=request.sudo, timeout=request.timeout)
        status, left_out = await access.copy(request.path, request.destination, recursive=request.recursive, overwrite=request.overwrite)
        hint = f"Sockets and devices were left out: {', '.join(left_out[:10])}" if left_out else None
        return Reply(_placed(request.path, request.destination, status), hint=hint)

    @operation(
        "POST /v1/file/delete",
        scope="files",
        operation_id="delete_file",
        message="Deleted",
        failures="file",
        destructive=True,
        risky=lambda request: request.recursive,
    )
    async def delete(self, request: FileDeleteRequest) -> FileDeleteResult:
        """Delete a file, or a directory with all that is in it."""
        access = self._files.access("delete", sudo=request.sudo, timeout=request.timeout)
        deleted = await access.delete(request.path, recursive=request.recursive, missing_ok=request.missing_ok, if_match=request.if_match)
        return FileDeleteResult(path=request.path, deleted=deleted)

    @operation("POST /v1/file/chmod", scope="files", operation_id="change_mode", message="Changed", failures="file")
    async def chmod(self, request: FileChmodRequest) -> FileChmodResult:
        """Change mode, owner or group of a file, or of everything in a directory."""
        if not (request.mode or request.owner or request.group):
            raise InvalidArgument("give at least one of mode, owner and group")
        access = self._files.access("chmod", sudo=request.sudo, timeout=request.timeout)
        status, changed = await access.change(
            request.path, mode=request.mode, owner=request.owner, group=request.group, recursive=request.recursive
        )
        return FileChmodResult(path=request.path, mode=_octal(status), permissions=permissions(status), changed_count=changed)


def _octal(status: FileStatus) -> str:
    return f"{status.mode:04o}"


def _placed(path: str, destination: str, status: FileStatus) -> FilePlaced:
    return FilePlaced(path=path, destination=destination, type=status.type, size=status.size, etag=status.etag)


def _stat(path: str, details: Details) -> FileStat:
    status, system = details.status, details.filesystem
    return FileStat(
        path=path,
        real_path=details.real_path,
        type=status.type,
        size=status.size,
        mode=_octal(status),
        permissions=permissions(status),
        owner=details.owner,
        group=details.group,
        uid=status.uid,
        gid=status.gid,
        modified_time=iso_time(status.modified),
        accessed_time=iso_time(status.accessed),
        changed_time=iso_time(status.changed),
        inode=status.inode,
        links=status.links,
        etag=status.etag,
        link_target=details.target,
        link_leads_to=details.leads_to,
        filesystem=FilesystemSpace(total_bytes=system.total, free_bytes=system.free, read_only=system.read_only) if system else None,
    )
