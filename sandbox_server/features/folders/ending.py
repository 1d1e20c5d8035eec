"""The end: what stops the container asks on a socket in a directory that the agent cannot enter, and waits for the answer."""

import asyncio
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from sandbox_server.features.folders.folder_sync import FolderSync

_log = logging.getLogger(__name__)


class FoldersEnding:
    """Serves the socket at `path`: whoever connects gets a line once every folder has ended, after at most `timeout` seconds."""

    def __init__(self, path: str, folders: Sequence[FolderSync], *, timeout: float) -> None:
        self._path = path
        self._folders = folders
        self._timeout = timeout
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        old = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(self._serve, self._path)
        finally:
            os.umask(old)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._server:
            self._server.close()

    async def _serve(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                await asyncio.gather(*(folder.end() for folder in self._folders))
        except TimeoutError:
            _log.warning("the folders took more than %g seconds: what is not in their stores waits for the next start", self._timeout)
        finally:
            with suppress(ConnectionError):
                writer.write(b"ended\n")
                await writer.drain()
            writer.close()
