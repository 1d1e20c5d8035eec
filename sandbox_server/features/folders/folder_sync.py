"""One folder: synchronised when asked, at the start, after a checkpoint and at the end; tried again where that fails."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from sandbox_server.core import Conflict, DeadlineExceeded, Failure, Tasks, Unavailable
from sandbox_server.drivers.folders.synchronisation import Synchronisation, Synchronised
from sandbox_server.drivers.folders.version import DamagedError, StoreAwayError
from sandbox_server.settings import FolderSettings

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0
"""Seconds between two attempts; each pause is twice the last."""

_log = logging.getLogger(__name__)

type FolderState = Literal["new", "synchronised", "failed"]


@dataclass(slots=True)
class LastAttempt:
    """How the last attempt ended."""

    state: FolderState = "new"
    at: float | None = None
    """When a synchronisation last succeeded, in seconds since the epoch."""
    error: str | None = None
    done: Synchronised | None = None
    """What the last one that succeeded did."""


class FolderSync:
    """Synchronises one folder; an asynchronous context manager for its attempts in the background."""

    def __init__(
        self, folder: FolderSettings, synchronisation: Synchronisation, *, timeout: float, now: Callable[[], float] = time.time
    ) -> None:
        self.folder = folder
        self.last = LastAttempt()
        self._synchronisation = synchronisation
        self._timeout = timeout
        self._now = now
        self._lock = asyncio.Lock()
        self._tasks = Tasks()
        self._trying: asyncio.Task[None] | None = None
        self._wanted = False

    async def __aenter__(self) -> Self:
        self.begin()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    @property
    def waiting(self) -> bool:
        """Whether files of an end without the store wait for it."""
        return self._synchronisation.waiting

    def begin(self) -> None:
        """Synchronise in the background, and try again until it succeeds. Where that is under way, it is done once more after it."""
        self._wanted = True
        if self._trying is None or self._trying.done():
            self._trying = self._tasks.start(self._try(), name=f"synchronise the folder {self.folder.name}")

    async def _try(self) -> None:
        pause = FIRST_PAUSE
        while self._wanted:
            self._wanted = False
            try:
                await self.synchronise()
            except Failure as failure:
                self._wanted = True
                _log.warning("the folder %s is not synchronised: %s", self.folder.name, failure.message)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def synchronise(self) -> Synchronised:
        """Synchronise now.

        Raises Unavailable where the store cannot be had, Conflict where what it gave cannot be right, DeadlineExceeded after the timeout,
        and what reading and writing the folder raises.
        """
        async with self._lock:
            try:
                done = await self._bounded()
            except Failure as failure:
                self.last.state, self.last.error = "failed", failure.message
                raise
            self.last = LastAttempt("synchronised", self._now(), None, done)
            return done

    async def _bounded(self) -> Synchronised:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._synchronisation.run(removals=self.last.at is not None)
        except TimeoutError:
            raise DeadlineExceeded(f"the folder {self.folder.name} was not synchronised in {self._timeout:g} seconds") from None
        except StoreAwayError as error:
            raise Unavailable(f"{error}; the folder {self.folder.name} is as it was", retry_after=FIRST_PAUSE) from None
        except DamagedError as error:
            raise Conflict(f"{error}; nothing of it was written") from None
        except OSError as error:
            raise Unavailable(f"what is kept beside the box cannot be used: {error.strerror}") from None

    async def end(self) -> None:
        """Keep what changed outside of the box, then give it to the store. Where that fails it waits for the next start."""
        await self._tasks.close()
        try:
            async with self._lock:
                await self._synchronisation.keep(removals=self.last.at is not None)
            await self.synchronise()
        except Failure as failure:
            _log.warning("the folder %s waits for its store: %s", self.folder.name, failure.message)
