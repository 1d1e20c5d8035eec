"""Uploads and downloads of files of any size, with constant memory."""

import os
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import Conflict, Content, FileError, Model, Part, TooLarge, Upload, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.files.descriptor_stream import OpenFile, StagedFile
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.operations import FileAccess

MAX_PSEUDO = 8 << 20
"""Limit in bytes of a file whose size is 0, such as those in /proc."""
BINARY = "application/octet-stream"


class FileUploadForm(Model):
    """A form with a file and its destination."""

    file: Annotated[str, Field(json_schema_extra={"format": "binary"})]
    """The file."""
    path: str | None = None
    """Destination: the file's absolute path, or a directory. Absent: the workspace."""


class FileUploadResult(Model):
    """The uploaded file."""

    file_path: str
    """Absolute path."""
    file_size: int
    """Bytes."""
    success: bool
    """True: the file is complete."""
    etag: str | None = None
    """Tag of this version, for `if_match`."""


class FileDownloadRequest(Model):
    """A file to download."""

    path: str
    """Absolute path, or one that begins with `~/`."""
    change_policy: Literal["ignore", "abort"] = "ignore"
    """What to do if the file is written meanwhile. `abort`: 409 before the first byte, a broken connection after it."""
    if_match: str | None = None
    """Download only the version with this etag; else 409."""
    sudo: bool = False
    """Read as root."""


class FileTransfer:
    """Uploads and downloads files."""

    tag = "file"

    def __init__(self, files: Files, *, workspace: str, max_bytes: int) -> None:
        self._files = files
        self._workspace = workspace
        self._max_bytes = max_bytes

    @operation(
        "POST /v1/file/upload",
        scope="files",
        operation_id="upload_file",
        message="File uploaded successfully",
        failures="file",
        form=FileUploadForm,
    )
    async def upload(self, upload: Upload) -> FileUploadResult:
        """Upload a file.

        It appears in one step, once it has arrived whole. An existing file is replaced, and its mode and owner are
        kept. Missing directories are made.
        """
        access = self._files.access("upload", timeout=300)
        received: tuple[StagedFile, str] | None = None
        try:
            async for part in upload:
                if part.name != "file":
                    await _pass_over(part)
                elif received is not None:
                    raise _problem("file", "One file at a time", "too_long")
                else:
                    received = await self._receive(access, part, upload), _name(part)
            if received is None:
                raise _problem("file", "Field required", "missing")
            return await self._place(access, *received, upload)
        finally:
            if received is not None:
                received[0].close()

    @operation("GET /v1/file/download", scope="files", operation_id="download_file")
    async def download(self, request: FileDownloadRequest) -> Content:
        """Download a file unchanged.

        Ranges, `If-None-Match`, `If-Range` and HEAD are supported, so that a download can be resumed.
        """
        access = self._files.access("download", sudo=request.sudo)
        file = await access.open(request.path)
        try:
            await _require_version(access, request, file)
            if file.status.size == 0 and (content := await _content_of_pseudo_file(access, request.path)):
                file.close()
                return content
        except BaseException:
            file.close()
            raise
        return Content(
            size=file.status.size,
            media_type=BINARY,
            read=partial(_chunks_unless_changed, file) if request.change_policy == "abort" else file.chunks,
            close=file.close,
            etag=file.status.etag,
            modified=file.status.modified / 1e9,
            filename=os.path.basename(request.path),
        )

    async def _receive(self, access: FileAccess, part: Part, upload: Upload) -> StagedFile:
        staged = await access.stage(await self._target(access, upload.field("path"), _name(part)))
        try:
            async for chunk in part.chunks():
                self._require_room(staged.size + len(chunk))
                await staged.write(chunk)
            await staged.flush()
        except BaseException:
            staged.close()
            raise
        return staged

    def _require_room(self, size: int) -> None:
        if self._max_bytes and size > self._max_bytes:
            raise TooLarge(f"an upload may have at most {self._max_bytes} bytes", limit=self._max_bytes)

    async def _place(self, access: FileAccess, staged: StagedFile, name: str, upload: Upload) -> FileUploadResult:
        """Move the file into place. If the path came after the file, it was staged in the workspace."""
        target = await self._target(access, upload.field("path"), name)
        status = await access.commit(staged, target)
        return FileUploadResult(file_path=target, file_size=status.size, success=True, etag=status.etag)

    async def _target(self, access: FileAccess, path: str | None, name: str) -> str:
        path = access.absolute(path or f"{self._workspace}/")
        if not path.endswith("/") and not await _is_directory(access, path):
            return path
        return os.path.join(path, name)


async def _pass_over(part: Part) -> None:
    async for _ in part.chunks():
        pass


def _name(part: Part) -> str:
    name = os.path.basename(part.filename.replace("\\", "/"))
    return name if name not in ("", ".", "..") else "upload"


def _problem(name: str, message: str, kind: str) -> InvalidFields:
    return InvalidFields([{"loc": ("body", name), "msg": message, "type": kind}])


async def _is_directory(access: FileAccess, path: str) -> bool:
    try:
        return (await access.stat(path)).status.type == "directory"
    except FileError as error:
        if error.error_type != "not_found":
            raise
        return False


async def _content_of_pseudo_file(access: FileAccess, path: str) -> Content | None:
    """Return the content of a file whose size is 0; None if it is empty."""
    data, status = await access.read(path, limit=MAX_PSEUDO)

    async def read(start: int, stop: int) -> AsyncIterator[bytes]:
        yield data[start:stop]

    return Content(len(data), BINARY, read, lambda: None, status.etag, filename=os.path.basename(path)) if data else None


async def _require_version(access: FileAccess, request: FileDownloadRequest, file: OpenFile) -> None:
    """Raise unless the file has the requested etag, and with `abort` is still at its path."""
    etag = file.status.etag
    if request.if_match not in (None, etag):
        raise Conflict(f"the file is not the one you asked for: its etag is now {etag}", path=request.path)
    if request.change_policy == "abort" and ((await access.stat(request.path)).status.etag != etag or file.changed()):
        raise Conflict("the file changed before its download began", path=request.path)


async def _chunks_unless_changed(file: OpenFile, start: int, stop: int) -> AsyncIterator[bytes]:
    async for chunk in file.chunks(start, stop):
        if file.changed():
            raise Conflict("the file changed while it was downloaded")
        yield chunk
