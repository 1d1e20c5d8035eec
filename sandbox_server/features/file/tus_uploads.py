"""Resumable uploads by the tus protocol 1.0.0 (tus.io): core, creation, creation-with-upload, expiration, termination.

An upload is stored in the agent's files: a record in its state directory, and the received part beside the target. So
it can be resumed after a restart of this process or a lost connection.
"""

import asyncio
import base64
import binascii
import email.utils
import os
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from pydantic import Field, ValidationError

from sandbox_server.core import (
    Body,
    Call,
    Conflict,
    FileError,
    InvalidArgument,
    Model,
    NotFound,
    Reply,
    ResourceExhausted,
    TooLarge,
    operation,
)
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.operations import FileAccess
from sandbox_server.drivers.files.staged_writes import STAGING_PREFIX

VERSION = "1.0.0"
EXTENSIONS = "creation,creation-with-upload,expiration,termination"
CONTENT_TYPE = "application/offset+octet-stream"
STATE = "~/.local/state/tandem/uploads"
LIFETIME = 24 * 3600.0
"""Seconds after its last byte until an unfinished upload is dropped."""
MAX_UPLOADS = 1000
PIECE = 1 << 20
"""Bytes that are written at once."""
LOCK_SECONDS = 5.0
"""Seconds that a request waits for another one on the same upload, whose connection may be gone."""
_ID = r"^[0-9a-f]{32}$"


class UploadRef(Model):
    """An upload by its id."""

    upload_id: str = Field(pattern=_ID)
    """Last part of the `Location` from its creation."""


class UploadRecord(Model):
    """The stored record of an upload."""

    path: str
    part: str
    length: int
    metadata: str
    done: bool = False


class FileUploads:
    """Receives files over any number of requests."""

    tag = "file"

    def __init__(self, files: Files, *, workspace: str, max_bytes: int) -> None:
        self._files = files
        self._workspace = workspace
        self._max_bytes = max_bytes
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @operation("OPTIONS /v1/file/uploads", scope="files", operation_id="describe_uploads", read_only=True)
    async def describe(self) -> Reply[None]:
        """Return the supported parts of the tus protocol."""
        limit = {"Tus-Max-Size": str(self._max_bytes)} if self._max_bytes else {}
        return Reply(None, status=204, headers={**_HEADERS, "Tus-Version": VERSION, "Tus-Extension": EXTENSIONS, **limit})

    @operation("POST /v1/file/uploads", scope="files", operation_id="create_upload")
    async def create(self, body: Body, call: Call) -> Reply[None]:
        """Begin a resumable upload (tus).

        `Upload-Length` is the size in bytes. `Upload-Metadata` holds `path`, the absolute path of the file, or
        `filename` for one in the workspace. The file appears, whole, after its last byte. A body of
        `application/offset+octet-stream` is its first part.
        """
        if (refusal := _refusal(call.headers)) is not None:
            return refusal
        length = self._length(call.headers)
        metadata = call.headers.get("upload-metadata", "")
        path = _path(read_metadata(metadata), self._workspace)
        access = self._files.access("upload", timeout=300)
        await self._sweep(access)
        upload_id = secrets.token_hex(16)
        folder, name = os.path.split(access.absolute(path))
        record = UploadRecord(path=f"{folder}/{name}", part=f"{folder}/{STAGING_PREFIX}{upload_id}", length=length, metadata=metadata)
        await access.write(record.part, b"", exclusive=True, mode=0o600)
        await _save(access, upload_id, record)
        async with self._open(access, upload_id) as record:
            sent = body if call.headers.get("content-type") == CONTENT_TYPE else None
            offset = await self._receive(access, upload_id, record, 0, sent)
        location = f"{call.base_url}/v1/file/uploads/{upload_id}"
        return Reply(None, status=201, headers={**_HEADERS, "Location": location, "Upload-Offset": str(offset), **_expiry()})

    @operation("HEAD /v1/file/uploads/{upload_id}", scope="files", operation_id="get_upload_offset", read_only=True)
    async def offset(self, request: UploadRef, call: Call) -> Reply[None]:
        """Return how many bytes of an upload have arrived (tus)."""
        if (refusal := _refusal(call.headers)) is not None:
            return refusal
        access = self._files.access("upload")
        async with self._open(access, request.upload_id) as record:
            size = await _received_bytes(access, record)
        headers = {"Upload-Offset": str(size), "Upload-Length": str(record.length), "Cache-Control": "no-store"}
        return Reply(None, headers={**_HEADERS, **headers, **({"Upload-Metadata": record.metadata} if record.metadata else {})})

    @operation("PATCH /v1/file/uploads/{upload_id}", scope="files", operation_id="resume_upload")
    async def patch(self, request: UploadRef, body: Body, call: Call) -> Reply[None]:
        """Send more of an upload (tus).

        `Upload-Offset` must equal the number of received bytes; else 409. The received part of an interrupted body is
        kept.
        """
        if (refusal := _refusal(call.headers)) is not None:
            return refusal
        if call.headers.get("content-type") != CONTENT_TYPE:
            return Reply(None, f"Content-Type must be {CONTENT_TYPE}", success=False, status=415, headers=_HEADERS)
        access = self._files.access("upload", timeout=300)
        async with self._open(access, request.upload_id) as record:
            offset = _number(call.headers, "upload-offset")
            if offset != (arrived := await _received_bytes(access, record)):
                raise Conflict(f"the upload is at {arrived}, not at {offset}", offset=arrived)
            offset = await self._receive(access, request.upload_id, record, offset, body)
        return Reply(None, status=204, headers={**_HEADERS, "Upload-Offset": str(offset), **_expiry()})

    @operation("DELETE /v1/file/uploads/{upload_id}", scope="files", operation_id="terminate_upload")
    async def terminate(self, request: UploadRef, call: Call) -> Reply[None]:
        """Cancel an upload (tus). A finished one leaves its file."""
        if (refusal := _refusal(call.headers)) is not None:
            return refusal
        access = self._files.access("upload")
        async with self._open(access, request.upload_id) as record:
            await _forget(access, request.upload_id, record)
        return Reply(None, status=204, headers=_HEADERS)

    @asynccontextmanager
    async def _open(self, access: FileAccess, upload_id: str) -> AsyncIterator[UploadRecord]:
        """Lock an upload."""
        lock = self._locks.setdefault(upload_id, asyncio.Lock())
        try:
            async with asyncio.timeout(LOCK_SECONDS):
                await lock.acquire()
        except TimeoutError:
            raise Conflict("another request is sending to this upload", upload_id=upload_id) from None
        try:
            yield await _load(access, upload_id)
        finally:
            lock.release()

    async def _receive(self, access: FileAccess, upload_id: str, record: UploadRecord, offset: int, body: Body | None) -> int:
        """Write a body, even if it is interrupted, and finish the upload after its last byte. Return the new offset."""
        pending = bytearray()
        try:
            async for chunk in body.chunks() if body else _nothing():
                pending += chunk
                if offset + len(pending) > record.length:
                    raise TooLarge(f"the upload exceeds its length of {record.length} bytes", limit=record.length)
                if len(pending) >= PIECE:
                    offset += await _flush(access, record, pending)
        except InvalidArgument:
            await _flush(access, record, pending)
            raise
        offset += await _flush(access, record, pending)
        if offset == record.length and not record.done:
            await _finish(access, upload_id, record)
        return offset

    def _length(self, headers: Mapping[str, str]) -> int:
        length = _number(headers, "upload-length")
        if self._max_bytes and length > self._max_bytes:
            raise TooLarge(f"an upload may have at most {self._max_bytes} bytes", limit=self._max_bytes)
        return length

    async def _sweep(self, access: FileAccess) -> None:
        """Drop uploads that were not continued."""
        await access.mkdir(STATE, mode=0o700)
        records = await access.walk(STATE, depth=1, suffixes=[".json"], sort="modified", limit=MAX_UPLOADS)
        oldest = (time.time() - LIFETIME) * 1e9
        stale = [entry for entry in records.entries if entry.status and entry.status.modified < oldest]
        for entry in stale:
            upload_id = entry.path.removesuffix(".json")
            try:
                await _forget(access, upload_id, await _load(access, upload_id))
            except NotFound:  # not a record of ours
                await access.delete(f"{STATE}/{entry.path}", missing_ok=True)
        if records.total - len(stale) >= MAX_UPLOADS:
            raise ResourceExhausted(f"at most {MAX_UPLOADS} unfinished uploads are allowed: finish or terminate some", limit=MAX_UPLOADS)


_HEADERS = {"Tus-Resumable": VERSION}


def read_metadata(header: str) -> dict[str, str]:
    """Parse `Upload-Metadata`: comma-separated pairs of a key and a value in Base64."""
    found = {}
    for pair in filter(None, (pair.strip() for pair in header.split(","))):
        key, _, value = pair.partition(" ")
        try:
            found[key] = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise InvalidArgument(f"Upload-Metadata: the value of {key!r} is not UTF-8 text in base64") from None
    return found


def _path(metadata: Mapping[str, str], workspace: str) -> str:
    if path := metadata.get("path"):
        return os.path.join(path, os.path.basename(metadata.get("filename", ""))) if path.endswith("/") else path
    if name := os.path.basename(metadata.get("filename", "")):
        return os.path.join(workspace, name)
    raise InvalidArgument("Upload-Metadata must hold path, the absolute path of the file, or filename")


def _refusal(headers: Mapping[str, str]) -> Reply[None] | None:
    if headers.get("tus-resumable") == VERSION:
        return None
    message = f"Tus-Resumable must be {VERSION}"
    return Reply(None, message, success=False, status=412, headers={**_HEADERS, "Tus-Version": VERSION})


def _number(headers: Mapping[str, str], name: str) -> int:
    value = headers.get(name, "")
    if not (value.isascii() and value.isdecimal() and len(value) < 19):
        raise InvalidArgument(f"the header {name.title()} must be a number of bytes")
    return int(value)


def _expiry() -> dict[str, str]:
    return {"Upload-Expires": email.utils.formatdate(time.time() + LIFETIME, usegmt=True)}


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


async def _load(access: FileAccess, upload_id: str) -> UploadRecord:
    try:
        data, _ = await access.read(f"{STATE}/{upload_id}.json", limit=64 << 10)
        return UploadRecord.model_validate_json(data)
    except (FileError, ValidationError):
        raise NotFound(f"there is no upload {upload_id!r}", upload_id=upload_id) from None


async def _save(access: FileAccess, upload_id: str, record: UploadRecord) -> None:
    await access.write(f"{STATE}/{upload_id}.json", record.model_dump_json().encode(), mode=0o600)


async def _received_bytes(access: FileAccess, record: UploadRecord) -> int:
    if record.done:
        return record.length
    return (await access.stat(record.part)).status.size


async def _flush(access: FileAccess, record: UploadRecord, pending: bytearray) -> int:
    content = bytes(pending)
    pending.clear()
    if content:
        await access.write(record.part, content, append=True)
    return len(content)


async def _finish(access: FileAccess, upload_id: str, record: UploadRecord) -> None:
    with await access.open(record.part) as part:
        await access.commit(part, record.path)
    await _save(access, upload_id, record.model_copy(update={"done": True}))
    await access.delete(record.part, missing_ok=True)


async def _forget(access: FileAccess, upload_id: str, record: UploadRecord) -> None:
    if not record.done:
        await access.delete(record.part, missing_ok=True)
    await access.delete(f"{STATE}/{upload_id}.json", missing_ok=True)
