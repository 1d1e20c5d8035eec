"""Pausing the agent: its programs stand still as long as control is frozen, or a person has it from there."""

from collections.abc import Mapping
from typing import Any, Protocol

from sandbox_server.core import Model
from sandbox_server.core.control import Holding


class PausedAgent(Model):
    """The agent's programs that stand still. The desktop, the browser and what is started since go on."""

    count: int
    """How many processes."""
    names: list[str]
    """What they are called: at most 20 names, what was started last first."""


class AgentPrograms(Protocol):
    """What stops the agent's programs; each gives what stands still, and None where nothing does."""

    async def pause(self) -> Mapping[str, Any] | None: ...
    async def resume(self) -> Mapping[str, Any] | None: ...
    async def state(self) -> Mapping[str, Any] | None: ...


def told_of(paused: PausedAgent | None) -> str:
    """Say what was stopped."""
    if paused is None:
        return "its programs go on"
    what = "1 program" if paused.count == 1 else f"{paused.count} programs"
    return f"{what} stopped: {', '.join(paused.names)}" if paused.count else "no programs were running"


class AgentPause:
    """Stops the agent's programs and lets them go on. As a hook of the lease: they go on as soon as the agent has control again."""

    def __init__(self, programs: AgentPrograms) -> None:
        self._programs = programs
        self._known = False
        self.paused: PausedAgent | None = None
        """What stands still; None where the programs go on."""

    async def pause(self) -> PausedAgent | None:
        """Stop them; None where there is no box that could. Raises Unavailable, and they may stand still all the same."""
        self._known = False
        return self._note(await self._programs.pause())

    async def resume(self) -> None:
        """Let them go on. Raises Unavailable."""
        self._known = False
        await self._programs.resume()
        self._note(None)

    @property
    def may_stand(self) -> bool:
        """Whether something stands still, or may."""
        return self.paused is not None or not self._known

    def forget(self) -> None:
        """Note that nothing stands still: what did has ended."""
        self.paused = None

    async def __call__(self, holding: Holding) -> None:
        """Keep to a change of who has control."""
        if holding.state in ("agent", "shared"):
            if self.may_stand:
                await self.resume()
        elif not self._known:
            self._note(await self._programs.state())

    def _note(self, told: Mapping[str, Any] | None) -> PausedAgent | None:
        self._known = True
        self.paused = PausedAgent(count=told["count"], names=told["names"]) if told and told["paused"] else None
        return self.paused
