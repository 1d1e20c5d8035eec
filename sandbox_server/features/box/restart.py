"""Restarting the box: whatever runs in it ends at once, its files stay."""

from sandbox_server.core import Model, operation
from sandbox_server.features.box.renewal import NOT_KEPT, Renewal, Stopped


class BoxRestarted(Model):
    """What it took."""

    stopped: list[Stopped]
    """What ran in the box, at most 100."""
    reopened: list[str]
    """Shell sessions that are opened again where they were; who needs one waits until it is."""
    not_kept: str = NOT_KEPT
    """What does not come back."""


class BoxRestart:
    """Ends the box and makes it anew."""

    tag = "box"

    def __init__(self, renewal: Renewal) -> None:
        self._renewal = renewal

    @operation("POST /v1/box/restart", scope="shell", destructive=True)
    async def restart_box(self) -> BoxRestarted:
        """End every process in the box at once, however many there are, and start it again with the same files."""
        return BoxRestarted.model_validate(await self._renewal.renew("replace"))
