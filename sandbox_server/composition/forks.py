"""Forks of this sandbox, and what is put into the pages of one that is a fork."""

import asyncio
import logging
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from sandbox_server import __version__
from sandbox_server.composition.first import First
from sandbox_server.composition.part import ProductPart
from sandbox_server.core import Call, Conflict, Failure, Tasks
from sandbox_server.drivers.devtools.page_state import PageStates
from sandbox_server.drivers.forks.fork_state import KeptState, KeptTab
from sandbox_server.features.box.forks import Forks
from sandbox_server.features.profiles.profiles import HeldProfiles, require_named

PAUSES = (0.5,) * 20 + (5.0,) * 30
"""Seconds between two attempts, while the browser starts."""

_log = logging.getLogger(__name__)


def build_forks(first: First, profiles: HeldProfiles | None) -> ProductPart:
    """Make them. Without a browser there are neither tabs nor profiles."""
    machine, states = first.machine, first.work.states
    paths = machine.settings.paths

    async def pack(call: Call, name: str | None, passphrase: str, file: IO[bytes]) -> str:
        if profiles is None:
            raise Conflict("there is no browser here, and so no profile", reason="no_browser")
        wanted = name or await machine.owner.profile()
        require_named(call, wanted)
        async with profiles.still(wanted):
            await profiles.store.pack(wanted, passphrase, file)
        return wanted

    forks = Forks(machine.box, states, pack, version=__version__, spool=paths.spool, quota=machine.settings.box.checkpoint_quota)
    if profiles is None:
        return ProductPart((forks,), (forks,))
    pages = PageStates(machine.owner, states.masked)
    states.sources.tabs = pages.read
    return ProductPart((forks,), (forks, RestoredTabs(pages, Path(paths.restored_tabs))))


class RestoredTabs:
    """Puts into the pages of a fork what they had, once; an asynchronous context manager for that work in the background."""

    def __init__(self, pages: PageStates, path: Path) -> None:
        self._pages = pages
        self._path = path
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        if self._path.exists():
            self._tasks.start(self._restore(), name="tabs of the fork")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def _restore(self) -> None:
        """Try until the browser is there. A file that cannot be read, and a browser that does not start, end it."""
        try:
            kept = KeptState.loads(self._path.read_bytes()).tabs
            for pause in (*PAUSES, None):
                if await self._is_written(kept):
                    break
                if pause is None:
                    _log.warning("how the fork's tabs were scrolled and filled in is lost: the browser does not start")
                else:
                    await asyncio.sleep(pause)
        except ValueError as error:
            _log.warning("how the fork's tabs were scrolled and filled in is lost: %s", error)
        self._path.unlink(missing_ok=True)

    async def _is_written(self, kept: tuple[KeptTab, ...]) -> bool:
        try:
            await self._pages.write(kept)
        except (Failure, OSError):  # the browser is starting
            return False
        return True
