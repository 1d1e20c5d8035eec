"""Token files in the box, kept fresh: what the libraries of AWS, Google Cloud and Azure read.

The directory is written by the user control alone; the box shows it read-only. Files are replaced in one step.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from sandbox_server.core.errors import Failure
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.storage import atomic_write

RETRY_SECONDS = 5.0
_MODE = 0o644

_log = logging.getLogger(__name__)

type Content = Callable[[], str]
"""Makes a file's content. May block, and raise a Failure."""


class TokenFiles:
    """Writes `files` below `directory` at once, every `seconds`, and after `renew`; an asynchronous context manager."""

    def __init__(self, directory: str, files: Mapping[str, Content], seconds: float) -> None:
        self._directory = directory
        self._files = dict(files)
        self._seconds = seconds
        self._tasks = Tasks()
        self._renewed = asyncio.Event()
        self._withdrawals = 0
        self._placing = threading.Lock()  # else what is being written could bring back a file that is withdrawn meanwhile

    async def __aenter__(self) -> Self:
        if self._files:
            self._tasks.start(self._keep(), name="keep the token files fresh")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def renew(self) -> None:
        """Write the files now, because what the tokens say has changed."""
        self._renewed.set()

    def withdraw(self) -> None:
        """Remove the files until they are written again."""
        with self._placing:
            self._withdrawals += 1
            for name in self._files:
                Path(self._directory, name).unlink(missing_ok=True)

    async def _keep(self) -> None:
        while True:
            self._renewed.clear()
            wait = self._seconds if await asyncio.to_thread(self._write) else min(RETRY_SECONDS, self._seconds)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._renewed.wait()

    def _write(self) -> bool:
        """Write every file, until they are withdrawn; return whether that went well."""
        before = self._withdrawals
        try:
            for name, content in self._files.items():
                made = content()
                with self._placing:
                    if self._withdrawals != before:
                        break
                    atomic_write.replace(f"{self._directory}/{name}", made, mode=_MODE)
        except (OSError, Failure) as error:
            _log.warning("the token files are not fresh: %s", error.strerror if isinstance(error, OSError) else error)
            return False
        return True
