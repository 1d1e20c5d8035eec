"""Everything as one zip."""

import io
import os
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.core import Call, Caller, TooLarge
from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.recording_segments import RecordingSegments
from sandbox_server.drivers.recorder.thumbnails import Thumbnails
from sandbox_server.features.recorder import export as module
from sandbox_server.features.recorder.export import ExportRecord, RecordExport

pytestmark = pytest.mark.anyio
START = 2_000_000_000.0


@pytest.fixture
async def export(tmp_path: Path) -> AsyncIterator[RecordExport]:
    segments, thumbnails = RecordingSegments(str(tmp_path / "video"), 1 << 20, 1e12), Thumbnails(str(tmp_path / "pictures"))
    for number in range(2):
        fd, path = segments.begin(START + 60 * number)
        os.write(fd, b"film")
        os.close(fd)
        segments.end(path, 60)
    thumbnails.write("0123456789abcdef-after", b"picture")
    async with Journal(EventLog(str(tmp_path / "events"), 1 << 20)) as journal:
        journal.record("call", "agent", "robot")
        yield RecordExport(journal, segments, thumbnails, str(tmp_path))


async def unpacked(export: RecordExport, folder: Path, **asked: object) -> list[str]:
    content = await export.export_record(ExportRecord.model_validate(asked), Call(Caller("x"), "r-1"))
    body = b"".join([piece async for piece in content.read(0, content.size)])
    content.close()
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        archive.extractall(folder)
        return sorted(archive.namelist())


async def test_it_has_everything_and_can_be_checked_without_us(export: RecordExport, tmp_path: Path) -> None:
    names = await unpacked(export, tmp_path / "out")
    assert names == [
        "events/000000000001.jsonl",
        "pictures/0123456789abcdef-after.jpg",
        "verify.py",
        "video/2000000000000-60000.mp4",
        "video/2000000060000-60000.mp4",
    ]
    check = [sys.executable, str(tmp_path / "out/verify.py")]
    assert "3 events, whole" in subprocess.run(check, capture_output=True, text=True, check=True).stdout
    events = tmp_path / "out" / names[0]
    events.write_bytes(events.read_bytes().replace(b"robot", b"human"))
    changed = subprocess.run(check, capture_output=True, text=True, check=False)
    assert (changed.returncode, "line 3" in changed.stderr) == (1, True)


async def test_films_can_be_left_out_or_chosen_by_time(export: RecordExport, tmp_path: Path) -> None:
    assert not [name for name in await unpacked(export, tmp_path / "a", video=False) if name.startswith("video")]
    late = await unpacked(export, tmp_path / "b", since=START + 70)
    assert [name for name in late if name.startswith("video")] == ["video/2000000060000-60000.mp4"]
    early = await unpacked(export, tmp_path / "c", until=START + 10)
    assert [name for name in early if name.startswith("video")] == ["video/2000000000000-60000.mp4"]


async def test_more_than_an_export_may_hold_is_refused(export: RecordExport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    with pytest.raises(TooLarge):
        await unpacked(export, tmp_path)
