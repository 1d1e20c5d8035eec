"""The box itself: what is in it, what was done to it and by whom, and making it anew."""

from typing import Literal

from sandbox_server.core import Model, operation
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.features.box.renewal import ENDS, NOT_KEPT, Renewal, StoppedProcess


class BoxLimits(Model):
    """What the agent may use."""

    processes: int
    """Processes and threads at once."""
    memory: int | None
    """Bytes; null: nothing limits it."""
    enforced: bool
    """Whether the sandbox itself ends what uses more memory; else the kernel does."""


class BoxDisk(Model):
    """The filesystem that the box's files are on."""

    total_bytes: int
    free_bytes: int
    total_inodes: int
    """0 where the filesystem makes them as it needs them."""
    free_inodes: int


class Culprit(Model):
    """Who it was."""

    session: str | None
    """`bash:ID` or `shell:ID`; null where no session started it."""
    command: str
    """What the process was started as, at most 200 characters."""
    pid: int
    """Its number in the box."""
    uid: int
    """Its user."""


class Incident(Model):
    """Something that was done to the box."""

    id: int
    kind: Literal["processes", "memory", "disk", "inodes", "descriptors", "system", "killed"]
    """`system`: its own programs are gone; `killed`: somebody in it killed what the sandbox runs there; else the limit that was met."""
    detail: str
    """What was seen."""
    hint: str
    """What to do about it."""
    culprit: Culprit | None
    """Null where nobody can be told from the others."""
    began: float
    """Seconds since the epoch."""
    ended: float | None
    """Null while it lasts."""


class BoxStatus(Model):
    """The box."""

    running: bool
    """It is made anew at once where it has ended."""
    failure: str | None
    """Why there is none."""
    frozen: bool
    """Whether it is suspended."""
    head: str | None
    """The checkpoint that it stands on; null: the image."""
    processes: int
    """How many are in it."""
    limits: BoxLimits
    disk: BoxDisk
    reserved: bool
    """Whether there is room that the agent cannot fill, for checkpoints."""
    incidents: list[Incident]
    """The latest 100, the newest first."""


class BoxRestarted(Model):
    """What it took."""

    stopped: list[StoppedProcess]
    """What ran in the box, at most 100."""
    reopened: list[str]
    """Shell sessions that are opened again where they were; who needs one waits until it is."""
    not_kept: str = NOT_KEPT
    """What does not come back."""


class BoxItself:
    """Tells of the box, and makes it anew."""

    tag = "box"

    def __init__(self, box: BoxClient, renewal: Renewal) -> None:
        self._box = box
        self._renewal = renewal

    @operation("GET /v1/box", scope="view")
    async def box_status(self) -> BoxStatus:
        """Tell what is in the box, how full it is, and who met a limit of it or broke it."""
        return BoxStatus.model_validate(await self._box.ask("status"))

    @operation("POST /v1/box/restart", scope="shell", destructive=True, acts=ENDS)
    async def restart_box(self) -> BoxRestarted:
        """End every process in the box at once, however many there are, and start it again with the same files.

        Refused while a person holds the screen, the pages or the shells: the browser ends with it.
        """
        return BoxRestarted.model_validate(await self._renewal.renew("replace"))
