"""Archives: pack files, and unpack them safely."""

from pydantic import Field

from sandbox_server.core import Model, operation
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.operations import ArchiveFormat

SECONDS = 600.0
MAX_SECONDS = 3600.0
GIBIBYTE = 1 << 30


class FileArchiveRequest(Model):
    """What to pack."""

    paths: tuple[str, ...] = Field(min_length=1, max_length=1000)
    """Files and directories: absolute paths, or ones that begin with `~/`. Each is a member under its own name."""
    destination: str
    """The archive to write."""
    format: ArchiveFormat | None = None
    """Kind of archive. Absent: by the destination's extension, else `tar.gz`."""
    exclude: tuple[str, ...] = ()
    """Globs for names to leave out, such as `node_modules`."""
    overwrite: bool = False
    """Replace an existing archive."""
    timeout: float = Field(default=SECONDS, gt=0, le=MAX_SECONDS)
    """Seconds after which it is stopped, and no archive is left."""
    sudo: bool = False
    """Read and write as root."""


class FileArchiveResult(Model):
    """The archive."""

    path: str
    """Path of the archive."""
    format: ArchiveFormat
    """Kind of archive."""
    size: int
    """Bytes of the archive."""
    member_count: int
    """Files, directories and links in it."""


class FileExtractRequest(Model):
    """What to unpack."""

    path: str
    """The archive: tar, plain or compressed, or zip; detected by its content."""
    destination: str
    """Directory to unpack into, made if needed."""
    overwrite: bool = False
    """Replace existing files."""
    max_bytes: int = Field(default=10 * GIBIBYTE, ge=1)
    """Refuse an archive that unpacks to more bytes."""
    timeout: float = Field(default=SECONDS, gt=0, le=MAX_SECONDS)
    """Seconds after which it is stopped. Files unpacked until then stay."""
    sudo: bool = False
    """Read and write as root."""


class FileExtractResult(Model):
    """What was unpacked."""

    path: str
    """The archive."""
    destination: str
    """Directory of its members."""
    member_count: int
    """Files, directories and links that were made."""
    size: int
    """Bytes in them."""


class FileArchives:
    """Packs and unpacks the agent's files."""

    tag = "file"

    def __init__(self, files: Files) -> None:
        self._files = files

    @operation("POST /v1/file/archive", scope="files", operation_id="archive_files", message="Archive created", failures="file")
    async def archive(self, request: FileArchiveRequest) -> FileArchiveResult:
        """Pack files and directories into a tar, tar.gz or zip archive.

        Modes and symlinks are kept; sockets and devices are left out. The archive appears whole or not at all.
        """
        form = request.format or format_of(request.destination)
        access = self._files.access("archive", sudo=request.sudo, timeout=request.timeout)
        status, members = await access.archive(
            request.paths, request.destination, form, exclude=request.exclude, overwrite=request.overwrite
        )
        return FileArchiveResult(path=request.destination, format=form, size=status.size, member_count=members)

    @operation(
        "POST /v1/file/extract",
        scope="files",
        operation_id="extract_archive",
        message="Archive extracted",
        failures="file",
        risky=lambda _: True,
    )
    async def extract(self, request: FileExtractRequest) -> FileExtractResult:
        """Unpack an archive into a directory.

        Refuses a member outside of the directory, a link that leads out of it, and devices. Members before a refused
        one stay.
        """
        access = self._files.access("extract", sudo=request.sudo, timeout=request.timeout)
        members, size = await access.extract(request.path, request.destination, limit=request.max_bytes, overwrite=request.overwrite)
        return FileExtractResult(path=request.path, destination=request.destination, member_count=members, size=size)


def format_of(path: str) -> ArchiveFormat:
    """Return the kind of archive by the name's extension."""
    if path.endswith(".zip"):
        return "zip"
    return "tar" if path.endswith(".tar") else "tar.gz"
