"""Restarting the box: whatever runs in it ends at once, its files stay."""

from sandbox_server.core import Model, operation
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.features.box.checkpoints import Reopen, Stopped


class BoxRestarted(Model):
    """What it took."""

    stopped: list[Stopped]
    """What ran in the box, at most 100."""
    reopened: list[str]
    """Shell sessions that were opened again where they were."""


class BoxRestart:
    """Ends the box and makes it anew."""

    tag = "box"

    def __init__(self, box: BoxClient, *, reopen: Reopen) -> None:
        self._box = box
        self._reopen = reopen

    @operation("POST /v1/box/restart", scope="shell", destructive=True)
    async def restart_box(self) -> BoxRestarted:
        """End every process in the box at once, however many there are, and start it again with the same files."""
        done = await self._box.ask("replace")
        return BoxRestarted.model_validate(done | {"reopened": await self._reopen()})
