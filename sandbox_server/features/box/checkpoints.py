"""Checkpoints: states of the box's files to come back to, whatever was done since."""

from typing import Literal

from pydantic import Field

from sandbox_server.core import Call, Model, ResourceExhausted, operation
from sandbox_server.drivers.box.client import LONG_SECONDS, BoxClient
from sandbox_server.features.box.renewal import ENDS, NOT_KEPT, Renewal, StoppedProcess

CURRENT = "current"
IMAGE = "image"
AUTOMATIC = ("before_restore", "before_risk")
MAX_LABEL = 200
DEFAULT_DIFFERENCES = 1000
MAX_DIFFERENCES = 10_000


class Checkpoint(Model):
    """A state of the box's files."""

    id: str
    """Its name."""
    parent: str | None
    """The checkpoint that it was made on; null: the image."""
    label: str
    """What its maker called it."""
    who: str
    """Who made it."""
    why: Literal["asked", "before_restore", "before_risk", "imported", "squashed"]
    """What it was made for."""
    created: float
    """When, in seconds since the epoch."""
    files: int | None = None
    """Files that changed since the parent; null until they are counted."""
    bytes: int | None = None
    """Disk that it takes, beside its parent's; null until it is counted."""


class CheckpointCreateRequest(Model):
    """What to call it."""

    label: str = Field(default="", max_length=MAX_LABEL)
    """A word for whoever reads the list."""
    parent: str | None = None
    """Only if the box stands on this checkpoint, else 409; so two callers do not branch by accident."""


class CheckpointCreated(Model):
    """The checkpoint, and what it took."""

    checkpoint: Checkpoint
    stopped: list[StoppedProcess]
    """What ran in the box, at most 100."""
    reopened: list[str]
    """Shell sessions that are opened again where they were; who needs one waits until it is."""
    not_kept: str = NOT_KEPT
    """What does not come back."""


class CheckpointList(Model):
    """The checkpoints, as a tree by their parents."""

    head: str | None
    """The checkpoint that the box stands on; null: the image."""
    checkpoints: list[Checkpoint]
    """Oldest first."""


class CheckpointRef(Model):
    """Which checkpoint."""

    checkpoint_id: str
    """Its id."""


class CheckpointRestoreRequest(CheckpointRef):
    """Where to go back to; `image` is the state before anything was done."""

    keep: bool = True
    """First make a checkpoint of what changed since the last one, so that the restore can be undone too."""


class CheckpointRestored(Model):
    """Where the box is now."""

    head: str | None
    """The checkpoint that it stands on; null: the image."""
    kept: Checkpoint | None
    """What was there before; null where nothing had changed, or it was not to be kept."""
    stopped: list[StoppedProcess]
    """What ran in the box, at most 100."""
    reopened: list[str]
    """Shell sessions that are opened again where they were; who needs one waits until it is."""
    not_kept: str = NOT_KEPT
    """What does not come back."""


class CheckpointDiffRequest(CheckpointRef):
    """What to compare; `current` is the box as it is now."""

    against: str | None = None
    """An older checkpoint that it stands on, or `image`; without it, its parent."""
    limit: int = Field(default=DEFAULT_DIFFERENCES, ge=1, le=MAX_DIFFERENCES)
    """Most differences to list."""


class CheckpointDifference(Model):
    """A path that differs."""

    path: str
    change: Literal["added", "changed", "deleted"]
    """A directory that is deleted is one entry."""
    before: int | None
    """Bytes in the older state; null: nothing there."""
    after: int | None
    """Bytes in the newer state; null: nothing there."""


class CheckpointDiff(Model):
    """What differs, in the order of paths."""

    differences: list[CheckpointDifference]
    truncated: bool
    """There are more than `limit`."""


class PruneRequest(Model):
    """What to keep."""

    keep: int = Field(default=10, ge=0, le=1000)
    """How many automatic checkpoints to leave, the newest."""


class Pruned(Model):
    """What was removed."""

    removed: list[str]
    """Ids."""


class Checkpoints:
    """Makes checkpoints and goes back to them; `quota` is how many bytes they may take together."""

    tag = "checkpoints"

    def __init__(self, box: BoxClient, renewal: Renewal, *, quota: int) -> None:
        self._box = box
        self._renewal = renewal
        self._quota = quota

    @operation("POST /v1/checkpoints", scope="shell", tool="checkpoint_create", acts=ENDS)
    async def create_checkpoint(self, request: CheckpointCreateRequest, call: Call) -> CheckpointCreated:
        """Keep the state of the box's files.

        Takes milliseconds, however many files there are, and stops every process in the box, the browser among them; so it is refused
        while a person holds the screen, the pages or the shells. Raises 429 where the quota is used up.
        """
        await self._check_quota()
        made = await self._renewal.renew("checkpoint", label=request.label, parent=request.parent, who=call.caller.name)
        return CheckpointCreated.model_validate(made)

    @operation("GET /v1/checkpoints", scope="view", tool="checkpoint_list")
    async def list_checkpoints(self) -> CheckpointList:
        """List the checkpoints."""
        return CheckpointList.model_validate(await self._box.ask("list"))

    @operation("GET /v1/checkpoints/{checkpoint_id}/diff", scope="files", tool="checkpoint_diff")
    async def diff_checkpoint(self, request: CheckpointDiffRequest) -> CheckpointDiff:
        """Tell which files a checkpoint, or the box as it is now, has changed."""
        checkpoint = None if request.checkpoint_id == CURRENT else request.checkpoint_id
        found = await self._box.ask("diff", timeout=LONG_SECONDS, checkpoint=checkpoint, against=request.against, limit=request.limit)
        return CheckpointDiff.model_validate(found)

    @operation("POST /v1/checkpoints/{checkpoint_id}/restore", scope="shell", tool="checkpoint_restore", destructive=True, acts=ENDS)
    async def restore_checkpoint(self, request: CheckpointRestoreRequest, call: Call) -> CheckpointRestored:
        """Go back to a checkpoint.

        What changed since the last one is kept as a checkpoint of its own, unless `keep` is false. What is done afterwards branches off
        from here. Stops every process in the box, the browser among them; so it is refused while a person holds the screen, the pages
        or the shells. Raises 409 where no box runs on the checkpoint: then everything is as it was.
        """
        target = None if request.checkpoint_id == IMAGE else request.checkpoint_id
        done = await self._renewal.renew("restore", checkpoint=target, keep=request.keep, who=call.caller.name)
        return CheckpointRestored.model_validate(done)

    @operation("POST /v1/checkpoints/{checkpoint_id}/squash", scope="shell")
    async def squash_checkpoint(self, request: CheckpointRef) -> Checkpoint:
        """Let a checkpoint take over what its parent changed, so that the parent can be removed. Nothing is stopped."""
        done = await self._box.ask("squash", timeout=LONG_SECONDS, checkpoint=request.checkpoint_id)
        return Checkpoint.model_validate(done["checkpoint"])

    @operation("DELETE /v1/checkpoints/{checkpoint_id}", scope="shell", destructive=True)
    async def remove_checkpoint(self, request: CheckpointRef) -> None:
        """Remove a checkpoint on which neither another nor the box stands; else 409."""
        await self._box.ask("remove", checkpoint=request.checkpoint_id)

    @operation("POST /v1/checkpoints/prune", scope="shell", destructive=True)
    async def prune_checkpoints(self, request: PruneRequest) -> Pruned:
        """Remove the oldest of the checkpoints that were made automatically: before a restore, or before something risky.

        Where one other checkpoint stands on such a one, that takes over its files first. It stays where several do, or the box itself.
        """
        automatic = [one.id for one in (await self.list_checkpoints()).checkpoints if one.why in AUTOMATIC]
        old = automatic[: max(0, len(automatic) - request.keep)]
        return Pruned(removed=[one for one in old if await self._dispense_with(one)])

    async def _dispense_with(self, checkpoint: str) -> bool:
        listed = await self.list_checkpoints()
        children = [one for one in listed.checkpoints if one.parent == checkpoint]
        if checkpoint == listed.head or len(children) > 1:
            return False
        for child in children:
            await self._box.ask("squash", timeout=LONG_SECONDS, checkpoint=child.id, why=child.why)
        await self._box.ask("remove", checkpoint=checkpoint)
        return True

    async def keep(self, label: str, who: str) -> None:
        """Make an automatic checkpoint where anything has changed; the oldest go where they use up the quota."""
        if await self._taken() >= self._quota:
            await self.prune_checkpoints(PruneRequest(keep=0))
        await self._check_quota()
        await self._renewal.renew("checkpoint", label=label[:MAX_LABEL], who=who, why="before_risk", if_changed=True)

    async def _taken(self) -> int:
        return sum(one.bytes or 0 for one in (await self.list_checkpoints()).checkpoints)

    async def _check_quota(self) -> None:
        taken = await self._taken()
        if taken >= self._quota:
            raise ResourceExhausted(
                f"checkpoints take {taken} of {self._quota} bytes",
                hint="remove, prune or squash some, or raise CHECKPOINT_QUOTA_BYTES",
            )
