"""Files of the sandbox."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tandem import wire
from tandem.api import AsyncApi

if TYPE_CHECKING:
    from tandem.api.file import ListedFile

MOST_LISTED = 50_000


class AsyncFiles:
    """Files, by absolute paths or such that begin with `~/`. What does not exist raises NotFound."""

    def __init__(self, api: AsyncApi) -> None:
        self._file = api.file

    async def read(self, path: str) -> bytes:
        """What a file holds."""
        return await self._file.download_file(path=path)

    async def read_text(self, path: str) -> str:
        """What a file holds, as UTF-8. Raises UnicodeDecodeError."""
        return (await self.read(path)).decode()

    async def write(self, path: str, data: bytes | str) -> None:
        """Make a file, or replace it in one step. Missing directories are made."""
        content = data.encode() if isinstance(data, str) else data
        await self._file.upload_file(file=(path.rpartition("/")[2] or "file", content), path=path)

    async def entries(self, path: str) -> "list[ListedFile]":
        """What a directory holds, at most 50,000 entries: `name`, `path`, `is_directory`, `size` and more of each."""
        return (await self._file.list_path(path=path, limit=MOST_LISTED)).files

    async def upload(self, local: str | Path, path: str) -> None:
        """Copy a file of this machine into the sandbox."""
        await self.write(path, await asyncio.to_thread(wire.read_file, local))

    async def download(self, path: str, local: str | Path) -> None:
        """Copy a file of the sandbox to this machine."""
        await asyncio.to_thread(wire.write_file, local, await self.read(path))
