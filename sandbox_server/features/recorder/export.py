"""Everything that was recorded as one zip: events, screen recordings, pictures, and how to check it without the sandbox."""

import asyncio
import os
import tempfile
import time
import zipfile
from pathlib import Path

from sandbox_server.core import Call, Content, Model, TooLarge, operation
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.recording_segments import RecordingSegments
from sandbox_server.drivers.recorder.thumbnails import Thumbnails
from sandbox_server.features.recorder.file_body import FileBody

MAX_BYTES = 2 << 30
"""What an export may hold."""
CHECK = '''"""Check that no event was changed, left out or put in: python3 verify.py"""
import hashlib, json, pathlib

prev, count = None, 0
for file in sorted(pathlib.Path(__file__).parent.glob("events/*.jsonl")):
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        prev = prev or json.loads(line)["prev"]
        digest = hashlib.sha256(prev.encode() + line[75:]).hexdigest()
        if digest.encode() != line[9:73]:
            raise SystemExit(f"{file.name}, line {number}: it is not what was written, or what came before it is not")
        prev, count = digest, count + 1
print(f"{count} events, whole; the hash of the last one is {prev}")
'''


class ExportRecord(Model):
    video: bool = True
    """Whether the screen recordings are in it."""
    since: float | None = None
    """Only recordings that end after this moment, in seconds since the epoch. Events are in it whole, for the chain's sake."""
    until: float | None = None
    """Only recordings that begin before this moment."""


class RecordExport:
    """Puts the zip together; `spool` is where it is while it is sent, without a name."""

    tag = "recorder"

    def __init__(self, journal: Journal, segments: RecordingSegments, thumbnails: Thumbnails, spool: str) -> None:
        self._journal = journal
        self._segments = segments
        self._thumbnails = thumbnails
        self._spool = spool

    @operation("GET /v1/recorder/export", scope="admin", media_type="application/zip")
    async def export_record(self, request: ExportRecord, call: Call) -> Content:
        """Get everything as a zip: `events/`, whose entries of the kind `receipt` are the receipts, `pictures/`, `video/`, `verify.py`.

        Raises 413 where it would be more than 2 GiB: leave the recordings out, or take less of them.
        """
        events = await self._journal.files()
        fd = await asyncio.to_thread(self._made, events, request)
        size = os.fstat(fd).st_size
        name = time.strftime("record-%Y%m%d-%H%M%S.zip", time.gmtime())
        file = FileBody(fd)
        return Content(size, "application/zip", file.read, file.close, f'"{call.request_id}"', filename=name)

    def _made(self, events: list[str], request: ExportRecord) -> int:
        recordings = [segment.path for segment in self._segments.all() if _wanted(segment.start, segment.end, request)]
        parts = [("events", path) for path in events] + [("pictures", path) for path in self._thumbnails.files()]
        parts += [("video", path) for path in recordings]
        if sum(os.path.getsize(path) for _, path in parts if os.path.exists(path)) > MAX_BYTES:
            raise TooLarge(f"an export holds at most {MAX_BYTES} bytes", hint="Leave the recordings out, or take less of them.")
        with tempfile.TemporaryFile(dir=self._spool) as target:
            with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr("verify.py", CHECK)
                for folder, path in parts:
                    if os.path.exists(path):  # it may have made room meanwhile
                        archive.write(path, f"{folder}/{Path(path).name}")
            return os.dup(target.fileno())


def _wanted(start: float, end: float, request: ExportRecord) -> bool:
    late = request.since is not None and end <= request.since
    return request.video and not late and (request.until is None or start < request.until)
