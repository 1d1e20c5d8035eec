"""Profiles as files: exported and imported, encrypted with a passphrase."""

import os
import tempfile
from collections.abc import AsyncIterator
from functools import partial
from typing import IO, Annotated, BinaryIO

from pydantic import Field, SecretStr

from sandbox_server.core import Call, Content, InvalidArgument, Model, Part, TooLarge, Upload, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.profiles.names import is_name
from sandbox_server.drivers.profiles.store import MAX_SEALED
from sandbox_server.features.profiles.profiles import HeldProfiles, ProfileRef, require_named

CHUNK = 1 << 20
MIN_PASSPHRASE, MAX_PASSPHRASE = 12, 1024


class ExportRequest(ProfileRef):
    """Which profile, and what it is encrypted with."""

    passphrase: Annotated[SecretStr, Field(min_length=MIN_PASSPHRASE, max_length=MAX_PASSPHRASE)]
    """At least 12 characters. Without it nobody can read the file."""


class ImportForm(Model):
    """A form with an exported profile."""

    file: Annotated[str, Field(json_schema_extra={"format": "binary"})]
    """The file that `export` gave."""
    name: str
    """Name of the new profile."""
    passphrase: SecretStr
    """What it was exported with."""


class ProfileArchives:
    """Exports and imports profiles; files on the way have no name in `spool`."""

    tag = "profiles"

    def __init__(self, held: HeldProfiles, spool: str) -> None:
        self._held = held
        self._spool = spool

    @operation("POST /v1/profiles/{name}/export", scope="admin", acts="cdp", media_type="application/octet-stream")
    async def export_profile(self, request: ExportRequest, call: Call) -> Content:
        """Download a profile with its logins as one encrypted file. Of the one in use, the browser is restarted with its tabs."""
        require_named(call, request.name)
        file = tempfile.TemporaryFile(dir=self._spool)  # noqa: SIM115 # `Content` closes it
        try:
            async with self._held.still(request.name):
                await self._held.store.pack(request.name, request.passphrase.get_secret_value(), file)
        except BaseException:
            file.close()
            raise
        return Content(
            size=os.fstat(file.fileno()).st_size,
            media_type="application/octet-stream",
            read=partial(_read, file),
            close=file.close,
            etag=f'"{os.urandom(8).hex()}"',
            filename=f"{request.name}.profile",
        )

    @operation("POST /v1/profiles/import", scope="admin", form=ImportForm)
    async def import_profile(self, upload: Upload, call: Call) -> ProfileRef:
        """Make a profile of an exported file.

        Raises 400 with the `reason` `passphrase` or `malformed`, 409 with `exists`, `damaged` or `newer_chromium`, and 413. Then there is
        no new profile.
        """
        with tempfile.TemporaryFile(dir=self._spool) as file:
            await receive(upload, file, MAX_SEALED)
            name, passphrase = upload.field("name") or "", upload.field("passphrase") or ""
            if not is_name(name):
                raise InvalidArgument("a profile's name is small letters, digits, '-' and '_', at most 63", field="name")
            if not MIN_PASSPHRASE <= len(passphrase) <= MAX_PASSPHRASE:
                raise InvalidArgument(f"a passphrase has {MIN_PASSPHRASE} to {MAX_PASSPHRASE} characters", field="passphrase")
            require_named(call, name)
            await self._held.store.unpack(name, passphrase, file)
        return ProfileRef(name=name)


async def receive(upload: Upload, file: BinaryIO | IO[bytes], limit: int) -> None:
    """Write the one file of a form to `file`, and go back to its start. Raises InvalidFields without one, and TooLarge."""
    received = False
    async for part in upload:
        if part.name == "file" and not received:
            received = True
            await _write(part, file, limit)
        else:
            raise InvalidFields([{"loc": ("body", part.name), "msg": "one file is expected, as 'file'", "type": "too_long"}])
    if not received:
        raise InvalidFields([{"loc": ("body", "file"), "msg": "Field required", "type": "missing"}])
    file.seek(0)


async def _write(part: Part, file: BinaryIO | IO[bytes], limit: int) -> None:
    size = 0
    async for chunk in part.chunks():
        size += len(chunk)
        if size > limit:
            raise TooLarge(f"the file is over {limit} bytes", limit=limit)
        await in_thread(file.write, chunk)
    await in_thread(file.flush)


async def _read(file: IO[bytes], start: int, stop: int) -> AsyncIterator[bytes]:
    while start < stop:
        chunk = os.pread(file.fileno(), min(CHUNK, stop - start), start)
        if not chunk:
            return
        yield chunk
        start += len(chunk)
