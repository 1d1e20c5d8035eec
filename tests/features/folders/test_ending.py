import asyncio
from pathlib import Path

import pytest

from sandbox_server.features.folders.ending import FoldersEnding
from tests.features.folders.test_folder_sync import Fake, made

pytestmark = pytest.mark.anyio


async def test_whoever_connects_is_answered_once_every_folder_has_ended(tmp_path: Path) -> None:
    fake, path = Fake(), str(tmp_path / "folders")
    folder = made(fake)
    await folder.synchronise()
    async with FoldersEnding(path, (folder,), timeout=5):
        reader, writer = await asyncio.open_unix_connection(path)
        assert await reader.readline() == b"ended\n"
        writer.close()
    assert fake.kept == 1
