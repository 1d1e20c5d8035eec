"""Stops the agent's programs in the box and lets them go on; see `paused_programs`."""

from typing import Any

from sandbox_server.drivers.box.client import BoxClient


class ProgramPause:
    """Asks the daemon; nothing where there is no box."""

    def __init__(self, box: BoxClient) -> None:
        self._box = box

    async def pause(self) -> dict[str, Any] | None:
        """Stop them; gives how many there are, and their names."""
        return await self._ask("pause_programs")

    async def resume(self) -> dict[str, Any] | None:
        """Let them go on."""
        return await self._ask("resume_programs")

    async def state(self) -> dict[str, Any] | None:
        """Tell what stands still."""
        status = await self._ask("status")
        return status and status["programs"]

    async def _ask(self, operation: str) -> dict[str, Any] | None:
        return await self._box.ask(operation) if self._box.isolation.level == "box" else None
