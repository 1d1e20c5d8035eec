"""What a checkpoint keeps beside files: noted just before it is made, since what stops programs ends all of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from sandbox_server.core import Caller, Failure
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.forks.fork_state import KeptProgram, KeptShell, KeptState, KeptTab
from sandbox_server.timeouts import scaled

NOTE_SECONDS = scaled(4.0)
"""Seconds for the shells, and for the tabs, to say their state."""

_log = logging.getLogger(__name__)

type Masked = Callable[[str], str]


@dataclass(slots=True)
class StateSources:
    """Who notes what. Each is added by who makes it, and None where there is nothing of it."""

    shells: Callable[[], Awaitable[tuple[KeptShell, ...]]] | None = None
    tabs: Callable[[], Awaitable[tuple[KeptTab, ...]]] | None = None
    hidden: Callable[[], bool] = field(default=lambda: False)
    """Whether a person is in private mode: tabs are left out then."""


class CheckpointStates:
    """Notes the state, keeps it beside a checkpoint, and reads it. `masked` takes secrets out of a text."""

    def __init__(self, box: BoxClient, masked: Masked) -> None:
        self.sources = StateSources()
        self._box = box
        self.masked = masked

    async def note(self) -> KeptState:
        """Return what is there now. What cannot be noted in time is missing, and `problems` says so."""
        (shells, first), (tabs, second), (programs, third) = await asyncio.gather(
            _bounded(self.sources.shells, "shells"),
            _bounded(None if self.sources.hidden() else self.sources.tabs, "tabs"),
            self._programs(),
        )
        hidden = "tabs: a person is in private mode" if self.sources.hidden() else ""
        problems = tuple(problem for problem in (first, second, third, hidden) if problem)
        return KeptState(shells, () if hidden else tabs, programs, problems)

    async def _programs(self) -> tuple[tuple[KeptProgram, ...], str]:
        try:
            told = (await self._box.ask("programs"))["programs"]
        except Failure as failure:
            return (), f"programs: {failure.message}"[:500]
        return tuple(self._without_secrets(KeptProgram(**{**each, "argv": tuple(each["argv"])})) for each in told), ""

    def _without_secrets(self, program: KeptProgram) -> KeptProgram:
        """Mask secrets among the words, also where one names the next (`--token abc`)."""
        line = "\n".join(program.argv)
        masked = self.masked(line)
        if masked == line and self.masked(" ".join(program.argv)) == " ".join(program.argv):
            return program
        return replace(program, argv=(self.masked(" ".join(program.argv))[:4096],), whole=False)

    async def keep(self, checkpoint: str, state: KeptState) -> None:
        """Keep it. A checkpoint without it is one all the same, and the log says why."""
        try:
            await self._box.ask("keep_state", checkpoint=checkpoint, state=state.dumps())
        except Failure as failure:
            _log.warning("the state of shells and tabs is not kept with checkpoint %s: %s", checkpoint, failure.message)

    async def read(self, checkpoint: str) -> KeptState:
        """Return what was kept; nothing of a checkpoint that has none. Raises NotFound where there is no such checkpoint."""
        text = (await self._box.ask("state", checkpoint=checkpoint))["state"]
        try:
            return KeptState.loads(text) if text else KeptState(problems=("it was made automatically, taken in, or by an earlier version",))
        except ValueError as error:
            return KeptState(problems=(str(error),))


def seen_by(caller: Caller, state: KeptState) -> KeptState:
    """Return what of it a caller may see: tabs are for those who may use the browser, whatever its profile."""
    if not state.tabs or (caller.may("browser") and caller.profiles is None):
        return state
    return replace(state, tabs=(), problems=(*state.problems, "tabs: your token does not name the browser, or names profiles of it"))


async def _bounded[T](note: Callable[[], Awaitable[tuple[T, ...]]] | None, what: str) -> tuple[tuple[T, ...], str]:
    if note is None:
        return (), ""
    try:
        async with asyncio.timeout(NOTE_SECONDS):
            return await note(), ""
    except TimeoutError:
        return (), f"{what}: not noted within {NOTE_SECONDS:g} s"
    except (Failure, OSError) as error:
        return (), f"{what}: {error}"[:500]
