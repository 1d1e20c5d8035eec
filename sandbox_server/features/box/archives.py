"""Checkpoints as files, from one box to another."""

import os
import tempfile
from collections.abc import AsyncIterator
from functools import partial
from typing import BinaryIO

from pydantic import Field

from sandbox_server.core import Body, Call, Content, Model, TooLarge, operation
from sandbox_server.drivers.box.client import LONG_SECONDS, BoxClient
from sandbox_server.features.box.checkpoints import MAX_LABEL, Checkpoint, CheckpointRef

CHUNK = 1 << 20


class CheckpointImportRequest(Model):
    """What to call what comes in."""

    label: str = Field(default="", max_length=MAX_LABEL)
    """A word for whoever reads the list; without it, the one that it had."""


class CheckpointArchives:
    """Gives checkpoints out and takes them in; files on the way have no name in `spool`."""

    tag = "checkpoints"

    def __init__(self, box: BoxClient, *, quota: int, spool: str) -> None:
        self._box = box
        self._quota = quota
        self._spool = spool

    @operation("GET /v1/checkpoints/{checkpoint_id}/archive", scope="files", media_type="application/gzip")
    async def export_checkpoint(self, request: CheckpointRef) -> Content:
        """Download a checkpoint, with all that it stands on down to the image, as a compressed tar archive."""
        file = tempfile.TemporaryFile(dir=self._spool)  # noqa: SIM115 # `Content` closes it
        try:
            await self._box.ask("export", timeout=LONG_SECONDS, checkpoint=request.checkpoint_id, fds=[file.fileno()])
        except BaseException:
            file.close()
            raise
        return Content(
            size=os.fstat(file.fileno()).st_size,
            media_type="application/gzip",
            read=partial(_read, file),
            close=file.close,
            etag=f'"{request.checkpoint_id}"',
            filename=f"checkpoint-{request.checkpoint_id}.tar.gz",
        )

    @operation("POST /v1/checkpoints/import", scope="files", query=("label",))
    async def import_checkpoint(self, request: CheckpointImportRequest, body: Body, call: Call) -> Checkpoint:
        """Take in an archive of another box, sent as the request's body. The box stays where it is; restore the checkpoint to go there."""
        with tempfile.TemporaryFile(dir=self._spool) as file:
            received = 0
            async for chunk in body.chunks():
                received += len(chunk)
                if received > self._quota:
                    raise TooLarge(f"the archive is over {self._quota} bytes", limit=self._quota)
                file.write(chunk)
            file.seek(0)
            label = request.label or None
            done = await self._box.ask("import", timeout=LONG_SECONDS, label=label, who=call.caller.name, fds=[file.fileno()])
        return Checkpoint.model_validate(done["checkpoint"])


async def _read(file: BinaryIO, start: int, stop: int) -> AsyncIterator[bytes]:
    while start < stop:
        chunk = os.pread(file.fileno(), min(CHUNK, stop - start), start)
        if not chunk:
            return
        yield chunk
        start += len(chunk)
