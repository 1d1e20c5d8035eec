"""Reading and writing files whole or by lines."""

import base64
from typing import Literal

from pydantic import Field

from sandbox_server.core import InvalidArgument, Model, Reply, operation
from sandbox_server.core.operation import MAX_FILE_BODY
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.metadata import FileStatus
from sandbox_server.features.file.text_encoding import DecodedText, Encoding, content_of, decode, split_lines


class FileReadRequest(Model):
    """A file to read."""

    file: str
    """Absolute path, or one that begins with `~/`."""
    start_line: int | None = Field(default=None, ge=0)
    """First line, counted from 0."""
    end_line: int | None = Field(default=None, ge=0)
    """Line to stop before, counted from 0."""
    encoding: Encoding = "auto"
    """`auto` is UTF-8, or UTF-16 if the file has its byte order mark; `raw` returns one character per byte, `base64` any bytes."""
    sudo: bool = False
    """Read as root."""


class FileReadResult(Model):
    """The content of a file."""

    content: str
    """Text exactly as in the file, line endings included."""
    file: str
    """The requested path."""
    line_count: int = 0
    """Lines in `content`; the last one may lack a newline. 0 for Base64."""
    size: int = 0
    """Bytes in the whole file."""
    encoding: str = "utf-8"
    """The encoding of the text: `utf-8`, `utf-16`, `raw` or `base64`."""
    etag: str | None = None
    """Tag of this version, for `if_match`."""


class FileWriteRequest(Model):
    """What to write."""

    file: str
    """Absolute path, or one that begins with `~/`. Missing directories are made."""
    content: str
    """Text or Base64."""
    encoding: Literal["utf-8", "base64", "raw"] = "utf-8"
    """Encoding of `content`: text, Base64, or one character per byte."""
    append: bool = False
    """Append instead of replacing the file."""
    leading_newline: bool = False
    """Put a newline before the content; text only."""
    trailing_newline: bool = False
    """Put a newline after the content; text only."""
    sudo: bool = False
    """Write as root."""
    if_match: str | None = None
    """Write only if the file still has this etag, or exists at all with `*`; else 409."""


class FileWriteResult(Model):
    """What was written."""

    file: str
    """The requested path."""
    bytes_written: int | None = None
    """Bytes of the content."""
    size: int = 0
    """Bytes in the file now."""
    etag: str | None = None
    """Tag of this version, for `if_match`."""


class FileReplaceRequest(Model):
    """What to replace."""

    file: str
    """Absolute path, or one that begins with `~/`."""
    old_str: str
    """Text to find, exactly."""
    new_str: str
    """The replacement."""
    sudo: bool = False
    """Read and write as root."""
    if_match: str | None = None
    """Replace only if the file still has this etag; else 409."""


class FileReplaceResult(Model):
    """The result."""

    file: str
    """The requested path."""
    replaced_count: int = 0
    """Replaced occurrences. With 0 the file was not written."""
    etag: str | None = None
    """The file's current etag."""


class FileContent:
    """Reads and writes the agent's files. A write is atomic: readers see the old content or the new."""

    tag = "file"

    def __init__(self, files: Files) -> None:
        self._files = files

    @operation(
        "POST /v1/file/read", scope="files", operation_id="read_file", message="File read successfully", failures="file", read_only=True
    )
    async def read(self, request: FileReadRequest) -> FileReadResult:
        """Read a text file, whole or by lines.

        Without `encoding`, bytes that are not text cause a `decode_error`.
        """
        access = self._files.access("read", sudo=request.sudo)
        start, stop = request.start_line or 0, request.end_line
        if (start or stop is not None) and request.encoding != "utf-16":
            data, status, whole = await access.read_lines(request.file, start, stop)
        else:
            (data, status), whole = await access.read(request.file), True
        if request.encoding == "base64":
            return _read_result(request, DecodedText(base64.b64encode(data).decode(), "base64"), status)
        text = decode(data, path=request.file, operation="read", encoding=request.encoding)
        if whole:
            text = text.with_content("".join(split_lines(text.content)[start:stop]))
        return _read_result(request, text, status)

    @operation(
        "POST /v1/file/write",
        scope="files",
        operation_id="write_file",
        message="File written successfully",
        failures="file",
        max_body=MAX_FILE_BODY,
    )
    async def write(self, request: FileWriteRequest) -> FileWriteResult:
        """Write a file: make it, replace it or append to it.

        An existing file keeps its mode, owner and attributes. A symlink is kept, and its target is written. For binary
        content set `encoding` to `base64`.
        """
        text = request.content
        if request.encoding != "base64":
            text = "\n" * request.leading_newline + text + "\n" * request.trailing_newline
        content = content_of(text, request.encoding, path=request.file)
        access = self._files.access("write", sudo=request.sudo)
        status = await access.write(request.file, content, append=request.append, if_match=request.if_match)
        return FileWriteResult(file=request.file, bytes_written=len(content), size=status.size, etag=status.etag)

    @operation(
        "POST /v1/file/replace",
        scope="files",
        operation_id="replace_in_file",
        message="Replacement completed",
        failures="file",
        max_body=MAX_FILE_BODY,
    )
    async def replace(self, request: FileReplaceRequest) -> Reply[FileReplaceResult]:
        """Replace every occurrence of a text in a file.

        The file's encoding, line endings and all other bytes stay unchanged.
        """
        if not request.old_str:
            raise InvalidArgument("old_str is empty: there is nothing to look for")
        access = self._files.access("replace", sudo=request.sudo)
        data, before = await access.read(request.file)
        text = decode(data, path=request.file, operation="replace", lossless=True)
        count = text.content.count(request.old_str)
        if not count:
            unchanged = FileReplaceResult(file=request.file, replaced_count=0, etag=before.etag)
            return Reply(unchanged, hint="old_str does not occur in the file, so nothing was changed; line ends and spaces count.")
        content = _replace_all(text, request.old_str, request.new_str)
        status = await access.write(request.file, content, if_match=request.if_match or before.etag)
        return Reply(FileReplaceResult(file=request.file, replaced_count=count, etag=status.etag))


def _read_result(request: FileReadRequest, text: DecodedText, status: FileStatus) -> FileReadResult:
    return FileReadResult(
        content=text.content,
        file=request.file,
        line_count=0 if text.codec == "base64" else len(split_lines(text.content)),
        size=status.size,
        encoding=text.encoding,
        etag=status.etag,
    )


def _replace_all(text: DecodedText, old: str, new: str) -> bytes:
    try:
        return text.with_content(text.content.replace(old, new)).encode(lossless=True)
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"new_str is not text that can be written: {error.reason}") from None
