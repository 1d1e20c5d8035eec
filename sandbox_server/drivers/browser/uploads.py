"""Files of the agent on their way into a page: copied to where Chromium, which is another user, can read them.

Chromium reads a file when the page does, which may be long after it was chosen. So a copy stays until newer ones need its place.
"""

import asyncio
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from types import TracebackType
from typing import Self

from sandbox_server.core.errors import TooLarge
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.files.files import Files

MAX_BYTES = 1 << 30
"""Of all files of one upload."""
MAX_KEPT = 2 << 30
"""Of all copies; the oldest go first, and never those of the newest upload."""

_PREFIX = "tandem-upload-"


@dataclass(frozen=True, slots=True)
class _Kept:
    folder: str
    size: int


class PageUploads:
    """Copies of files, in folders whose names nobody can guess."""

    def __init__(self, files: Files, place: str) -> None:
        self._files = files
        self._place = place
        self._kept: deque[_Kept] = deque()

    async def __aenter__(self) -> Self:
        for left in glob(f"{self._place}/{_PREFIX}*"):  # by a process that was killed
            if os.lstat(left).st_uid == os.geteuid():
                await asyncio.to_thread(shutil.rmtree, left, ignore_errors=True)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._shrink(0)

    async def copy(self, paths: Sequence[str]) -> list[str]:
        """Copy files of the agent, under their own names, and return where they are.

        Raises FileError for one that the agent cannot read, TooLarge for more than MAX_BYTES together.
        """
        folder = tempfile.mkdtemp(prefix=_PREFIX, dir=self._place)
        os.chmod(folder, 0o711)
        copied: list[str] = []
        size = 0
        try:
            for number, path in enumerate(paths):
                os.mkdir(f"{folder}/{number}", 0o711)
                copied.append(f"{folder}/{number}/{os.path.basename(path)}")
                size += await self._copy(path, copied[-1], MAX_BYTES - size)
        except BaseException:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            raise
        await self._shrink(MAX_KEPT - size)
        self._kept.append(_Kept(folder, size))
        return copied

    async def _copy(self, path: str, copy: str, room: int) -> int:
        with await self._files.access("upload").open(path) as file:
            size = file.status.size
            if size > room:
                raise TooLarge(f"the files have more than {MAX_BYTES} bytes together", path=path)
            with os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as written:
                async for chunk in file.chunks(0, size):
                    await in_thread(written.write, chunk)
        return size

    async def _shrink(self, size: int) -> None:
        """Remove the oldest copies until the others have at most `size` bytes."""
        while self._kept and (size <= 0 or sum(kept.size for kept in self._kept) > size):
            await asyncio.to_thread(shutil.rmtree, self._kept.popleft().folder, ignore_errors=True)
