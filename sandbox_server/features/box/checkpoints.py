"""Checkpoints: states of the box's files to come back to, whatever was done since."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import Field

from sandbox_server.core import Call, Caller, Model, ResourceExhausted, operation
from sandbox_server.core.control import Reach
from sandbox_server.core.dispatch import Proceed
from sandbox_server.drivers.box.client import LONG_SECONDS, BoxClient
from sandbox_server.features.box.announcement import Announce, announce_nothing, told_of
from sandbox_server.features.box.checkpoint_state import CheckpointStates
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


type Mode = Literal["auto", "live", "stop"]
type GiveWay = Callable[[Caller, Sequence[Reach], Proceed], Awaitable[object]]
"""Runs what ends as soon as a person takes any of what the caller acts on."""


class CheckpointCreateRequest(Model):
    """What to call it, and how to make it."""

    label: str = Field(default="", max_length=MAX_LABEL)
    """A word for whoever reads the list."""
    parent: str | None = None
    """Only if the box stands on this checkpoint, else 409; so two callers do not branch by accident."""
    mode: Mode = "auto"
    """`live` copies what changed since the last checkpoint while programs go on, and lets them stand still for the end of it. `stop` stops
    every program and copies nothing. `auto` is `live`, unless nothing runs."""


class CheckpointCreated(Model):
    """The checkpoint, and what it took."""

    checkpoint: Checkpoint
    mode: Literal["live", "stop"]
    """How it was made."""
    pause_ms: float | None
    """For how long programs stood still; null where they were stopped."""
    copied_bytes: int | None
    """What was copied; null where nothing was. What the filesystem shares is counted, too."""
    stopped: list[StoppedProcess]
    """What was stopped, at most 100: nothing in the mode `live`."""
    reopened: list[str]
    """Shell sessions that are opened again where they were; who needs one waits until it is."""
    not_kept: str = NOT_KEPT
    """What does not come back."""


class CheckpointList(Model):
    """The checkpoints, as a tree by their parents."""

    head: str | None
    """The checkpoint that the box stands on; null: the image."""
    base: str | None = None
    """The checkpoint that the box was started from: neither it nor `head` can be removed."""
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


class RestorePreview(Model):
    """What going back to a checkpoint would do."""

    stops: list[StoppedProcess]
    """What would be stopped, at most 100: every program in the box, the browser among them."""
    changed: bool
    """Whether anything changed since the last checkpoint; that is kept as a checkpoint of its own, unless `keep` is false."""


class Compared(CheckpointRef):
    """What to compare; `current` is the box as it is now."""

    against: str | None = None
    """Another checkpoint, or `image`; without it, its parent, and of `current` the checkpoint that the box stands on."""


class CheckpointDiffRequest(Compared):
    """What to compare, and how much of it to list."""

    limit: int = Field(default=DEFAULT_DIFFERENCES, ge=1, le=MAX_DIFFERENCES)
    """Most differences to list."""


class CheckpointDifference(Model):
    """A path that differs."""

    path: str
    change: Literal["added", "changed", "deleted"]
    """A directory that is deleted is one entry."""
    before: int | None
    """Bytes in the older state; null: nothing there. Of a directory that is deleted, of all that was in it."""
    after: int | None
    """Bytes in the newer state; null: nothing there."""


class CheckpointDiff(Model):
    """What differs, in the order of paths."""

    differences: list[CheckpointDifference]
    truncated: bool
    """There are more than `limit`."""


class CheckpointTreeRequest(Compared):
    """Which directory to look at, and from where on."""

    under: str = Field(default="/", max_length=4096)
    """The directory."""
    after: str = Field(default="", max_length=1024)
    """Only names behind this one: the last of the page before."""
    limit: int = Field(default=200, ge=1, le=1000)
    """Most names to list."""


class CheckpointTreeEntry(Model):
    """A name at which, or below which, something differs."""

    name: str
    change: Literal["added", "changed", "deleted"] | None
    """What happened to it; null where only what is in it differs."""
    added: int
    """Paths that were added, itself included."""
    changed: int
    """Paths that were changed."""
    deleted: int
    """Paths that were deleted; a directory is one."""
    before: int
    """Bytes of all that in the older state."""
    after: int
    """Bytes of all that in the newer state."""


class CheckpointTree(Model):
    """What differs in a directory, by name."""

    entries: list[CheckpointTreeEntry]
    more: bool
    """There are more names: ask again with the last one as `after`."""
    truncated: bool
    """More paths differ than are compared."""


class PruneRequest(Model):
    """What to keep."""

    keep: int = Field(default=10, ge=0, le=1000)
    """How many automatic checkpoints to leave, the newest."""


class Pruned(Model):
    """What was removed."""

    removed: list[str]
    """Ids."""


def _created(made: Mapping[str, Any]) -> CheckpointCreated:
    pause = made.get("pause_seconds")
    told = {"mode": made["mode"], "pause_ms": None if pause is None else pause * 1000, "copied_bytes": made.get("copied_bytes")}
    return CheckpointCreated.model_validate({**made, **told})


async def to_its_end(_: Caller, __: Sequence[Reach], proceed: Proceed) -> object:
    """Give way to nobody."""
    return await proceed()


class Checkpoints:
    """Makes checkpoints and goes back to them; `quota` is how many bytes they may take together. `announce` tells whoever watches.

    A copy of a box that runs may `give_way`: programs stand still at its end, a person's on the desktop too.
    """

    tag = "checkpoints"

    def __init__(
        self,
        box: BoxClient,
        renewal: Renewal,
        *,
        quota: int,
        announce: Announce = announce_nothing,
        states: CheckpointStates | None = None,
        give_way: GiveWay = to_its_end,
    ) -> None:
        self._give_way = give_way
        self._states = states
        self._announce = announce
        self._box = box
        self._renewal = renewal
        self._quota = quota

    @operation("POST /v1/checkpoints", scope="shell", tool="checkpoint_create", acts=ENDS)
    async def create_checkpoint(self, request: CheckpointCreateRequest, call: Call) -> CheckpointCreated:
        """Keep the state of the box's files. Programs go on, and stand still for a moment.

        What changed since the last checkpoint is copied while they go on. They stand still for what changed meanwhile, so that all of it
        is of one moment; files that programs were writing are as after a power cut. It takes room on the disk for the copy, where the
        filesystem cannot share it. The mode `stop` needs none and stops every program, the browser among them. As the desktop stands still
        in each mode, it is refused while a person holds the screen, the pages or the shells, and ends when one takes them. Beside files it
        keeps shells, tabs and which programs ran. Raises 429 where the quota is used up or the disk has no room.
        """
        await self._check_quota()
        asked = {"label": request.label, "parent": request.parent, "who": call.caller.name, "mode": request.mode}
        state = await self._states.note() if self._states else None
        made = await (self._renewal.renew("checkpoint", **asked) if request.mode == "stop" else self._capture(call.caller, asked))
        if self._states and state:
            await self._states.keep(made["checkpoint"]["id"], state)
        self._tell("checkpoint:made", call.caller, request.label, made["stopped"])
        return _created(made)

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

    @operation("GET /v1/checkpoints/{checkpoint_id}/tree", scope="files")
    async def checkpoint_tree(self, request: CheckpointTreeRequest) -> CheckpointTree:
        """Tell what a checkpoint, or the box as it is now, has changed in one directory, with the sizes of what is below each name."""
        checkpoint = None if request.checkpoint_id == CURRENT else request.checkpoint_id
        asked: dict[str, Any] = {"against": request.against, "under": request.under, "after": request.after, "limit": request.limit}
        return CheckpointTree.model_validate(await self._box.ask("tree", timeout=LONG_SECONDS, checkpoint=checkpoint, **asked))

    @operation("GET /v1/checkpoints/{checkpoint_id}/restore", scope="view")
    async def preview_restore(self, request: CheckpointRef) -> RestorePreview:
        """Tell what going back to a checkpoint would stop, before it does; `image` is the state before anything was done."""
        target = None if request.checkpoint_id == IMAGE else request.checkpoint_id
        return RestorePreview.model_validate(await self._box.ask("preview", checkpoint=target))

    @operation("POST /v1/checkpoints/{checkpoint_id}/restore", scope="shell", tool="checkpoint_restore", destructive=True, acts=ENDS)
    async def restore_checkpoint(self, request: CheckpointRestoreRequest, call: Call) -> CheckpointRestored:
        """Go back to a checkpoint.

        What changed since the last one is kept as a checkpoint of its own, unless `keep` is false. What is done afterwards branches off
        from here. Stops every process in the box, the browser among them: GET tells which. So it is refused while a person holds the
        screen, the pages or the shells. Raises 409 where no box runs on the checkpoint: then everything is as it was.
        """
        target = None if request.checkpoint_id == IMAGE else request.checkpoint_id
        done = await self._renewal.renew("restore", checkpoint=target, keep=request.keep, who=call.caller.name)
        self._tell("checkpoint:restored", call.caller, target or IMAGE, done["stopped"])
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
        if checkpoint in (listed.head, listed.base) or len(children) > 1:
            return False
        for child in children:
            await self._box.ask("squash", timeout=LONG_SECONDS, checkpoint=child.id, why=child.why)
        await self._box.ask("remove", checkpoint=checkpoint)
        return True

    async def keep(self, label: str, caller: Caller) -> None:
        """Make an automatic checkpoint where anything has changed; the oldest go where they use up the quota."""
        if await self._taken() >= self._quota:
            await self.prune_checkpoints(PruneRequest(keep=0))
        await self._check_quota()
        await self._capture(caller, {"label": label[:MAX_LABEL], "who": caller.name, "why": "before_risk", "if_changed": True})

    async def _capture(self, caller: Caller, asked: Mapping[str, Any]) -> dict[str, Any]:
        made = await self._give_way(caller, ENDS, lambda: self._renewal.capture("checkpoint", **asked))
        return cast("dict[str, Any]", made)

    def _tell(self, kind: str, caller: Caller, what: str, stopped: Sequence[Mapping[str, Any]]) -> None:
        """Tell whoever watches what was done, and what it stopped."""
        self._announce(kind, caller, f"{what}; {told_of(stopped)}" if what else told_of(stopped))

    async def _taken(self) -> int:
        return sum(one.bytes or 0 for one in (await self.list_checkpoints()).checkpoints)

    async def _check_quota(self) -> None:
        taken = await self._taken()
        if taken >= self._quota:
            raise ResourceExhausted(
                f"checkpoints take {taken} of {self._quota} bytes",
                hint="remove, prune or squash some, or raise CHECKPOINT_QUOTA_BYTES",
            )
