"""File operations beyond the contract: status, directories, moving, copying, deleting, modes."""

from pydantic import Field

from sandbox_server.core import InvalidArgument, Model, Reply, operation
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.metadata import Details, FileKind, FileStatus
from sandbox_server.features.file.listing import iso_time, permissions

SECONDS = 300.0
"""Default seconds for copying, moving or deleting a tree."""
MAX_SECONDS = 3600.0


class FileStatRequest(Model):
    """A path to look up."""

    path: str
    """Absolute path, or one that begins with `~/`."""
    follow_symlinks: bool = True
    """Return the status of a symlink's target; false: of the symlink itself."""
    sudo: bool = False
    """Read as root."""


class FilesystemSpace(Model):
    """The file system of a path."""

    total_bytes: int
    """Total bytes."""
    free_bytes: int
    """Bytes available to ordinary users."""
    read_only: bool
    """Whether it is mounted read-only."""


class FileStat(Model):
    """The status of a path."""

    path: str
    """The requested path."""
    real_path: str
    """The path with every symlink resolved."""
    type: FileKind
    """Kind of file."""
    size: int
    """Bytes."""
    mode: str
    """Permission bits in octal, such as `0644`."""
    permissions: str
    """Mode as `ls -l` shows it."""
    owner: str
    """User, by name if it has one."""
    group: str
    """Group, by name if it has one."""
    uid: int
    """User id."""
    gid: int
    """Group id."""
    modified_time: str
    """Last change of the content, ISO 8601 in UTC."""
    accessed_time: str
    """Last time it was read, as far as the file system records it."""
    changed_time: str
    """Last change of content, mode or owner."""
    inode: int
    """Inode number in its file system."""
    links: int
    """Number of hard links."""
    etag: str
    """Tag of this version, for `if_match`."""
    link_target: str | None = None
    """The target of a symlink; only when symlinks are not followed."""
    link_leads_to: FileKind | None = None
    """The kind of the symlink's target; null if it is dangling."""
    filesystem: FilesystemSpace | None = None
    """Its file system."""


class FileMkdirRequest(Model):
    """A directory to make."""

    path: str
    """Absolute path, or one that begins with `~/`."""
    parents: bool = True
    """Make missing parent directories."""
    exist_ok: bool = True
    """Succeed if the directory exists."""
    mode: str | None = Field(default=None, pattern=r"^[0-7]{3,4}$")
    """Permission bits in octal, such as `0700`."""
    sudo: bool = False
    """Make it as root."""


class FileMkdirResult(Model):
    """The directory."""

    path: str
    """The requested path."""
    created: bool
    """False if it existed."""


class FileMoveRequest(Model):
    """What to move, and to where."""

    path: str
    """What to move: absolute path, or one that begins with `~/`."""
    destination: str
    """The new path itself, not the directory to put it into. Missing directories above it are made."""
    overwrite: bool = False
    """Replace an existing file. A non-empty directory is never replaced."""
    timeout: float = Field(default=SECONDS, gt=0, le=MAX_SECONDS)
    """Seconds after which it is stopped. Only a move to another file system takes long."""
    sudo: bool = False
    """Move as root."""


class FileCopyRequest(Model):
    """What to copy, and to where."""

    path: str
    """What to copy: absolute path, or one that begins with `~/`."""
    destination: str
    """The new path itself, not the directory to put it into. Missing directories above it are made."""
    recursive: bool = False
    """Copy a directory with its content."""
    overwrite: bool = False
    """Replace an existing file. A non-empty directory is never replaced."""
    timeout: float = Field(default=SECONDS, gt=0, le=MAX_SECONDS)
    """Seconds after which it is stopped."""
    sudo: bool = False
    """Copy as root."""


class FilePlaced(Model):
    """The result of a copy or move."""

    path: str
    """The old path."""
    destination: str
    """The new path."""
    type: FileKind
    """Kind of file."""
    size: int
    """Bytes, of the file itself."""
    etag: str
    """Tag of this version, for `if_match`."""


class FileDeleteRequest(Model):
    """What to delete."""

    path: str
    """Absolute path, or one that begins with `~/`. Of a symlink, the link itself is deleted."""
    recursive: bool = False
    """Delete a directory with its content."""
    missing_ok: bool = False
    """Succeed if nothing exists."""
    if_match: str | None = None
    """Delete only if the file still has this etag; else 409."""
    timeout: float = Field(default=SECONDS, gt=0, le=MAX_SECONDS)
    """Seconds after which it is stopped."""
    sudo: bool = False
    """Delete as root."""


class FileDeleteResult(Model):
    """The result."""

    path: str
    """The requested path."""
    deleted: bool
    """False if nothing existed."""


class FileChmodRequest(Model):
    """New mode, owner or group of a file."""

    path: str
    """Absolute path, or one that begins with `~/`."""
    mode: str | None = None
    """Octal such as `0755`, or in chmod(1)'s syntax: `u+x`, `go-w`, `a=r`."""
    owner: str | None = None
    """User by name or id; needs `sudo`."""
    group: str | None = None
    """Group by name or id."""
    recursive: bool = False
    """Include everything below. Symlinks are left alone."""
    timeout: float = Field(default=SECONDS, gt=0, le=MAX_SECONDS)
    """Seconds after which it is stopped."""
    sudo: bool = False
    """Change it as root."""


class FileChmodResult(Model):
    """The result."""

    path: str
    """The requested path."""
    mode: str
    """Permission bits in octal."""
    permissions: str
    """Mode as `ls -l` shows it."""
    changed_count: int
    """Files and directories that were changed."""


class FileChanges:
    """Changes the tree of the agent's files."""

    tag = "file"

    def __init__(self, files: Files) -> None:
        self._files = files

    @operation("POST /v1/file/stat", scope="files", operation_id="stat_file", failures="file", read_only=True)
    async def stat(self, request: FileStatRequest) -> FileStat:
        """Return the status of a path: kind, size, mode, owner, times, and free space."""
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

        This is atomic, except to another file system, where it is copied whole and then deleted.
        """
        access = self._files.access("move", sudo=request.sudo, timeout=request.timeout)
        status = await access.move(request.path, request.destination, overwrite=request.overwrite)
        return _placed(request.path, request.destination, status)

    @operation("POST /v1/file/copy", scope="files", operation_id="copy_file", message="Copied", failures="file")
    async def copy(self, request: FileCopyRequest) -> Reply[FilePlaced]:
        """Copy a file, or a directory with its content.

        Modes, times and symlinks are kept. The copy appears whole or not at all.
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
        """Delete a file, or a directory with its content."""
        access = self._files.access("delete", sudo=request.sudo, timeout=request.timeout)
        deleted = await access.delete(request.path, recursive=request.recursive, missing_ok=request.missing_ok, if_match=request.if_match)
        return FileDeleteResult(path=request.path, deleted=deleted)

    @operation("POST /v1/file/chmod", scope="files", operation_id="change_mode", message="Changed", failures="file")
    async def chmod(self, request: FileChmodRequest) -> FileChmodResult:
        """Change mode, owner or group of a file, or of a whole tree."""
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
