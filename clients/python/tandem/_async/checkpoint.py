"""A state of the computer that can be gone back to."""

from types import TracebackType
from typing import TYPE_CHECKING

from tandem.api import AsyncApi

if TYPE_CHECKING:
    from tandem.api.checkpoints import CheckpointDifference, CheckpointRestored


class AsyncCheckpoint:
    """A checkpoint of the files, made when `with` is entered; `id` is known then.

    With `restore_on_error` an exception in the block goes back to it, and is raised all the same.
    """

    def __init__(self, api: AsyncApi, label: str, *, restore_on_error: bool) -> None:
        self._checkpoints = api.checkpoints
        self._label = label
        self._restore_on_error = restore_on_error
        self.id = ""

    async def __aenter__(self) -> "AsyncCheckpoint":
        self.id = (await self._checkpoints.create_checkpoint(label=self._label)).checkpoint.id
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None and self._restore_on_error:
            await self.restore()

    async def restore(self) -> "CheckpointRestored":
        """Go back to it. What changed since is kept in a checkpoint of its own: `kept` of the answer."""
        return await self._checkpoints.restore_checkpoint(self.id)

    async def changes(self) -> "list[CheckpointDifference]":
        """What changed since: `path` and `change` of each."""
        return (await self._checkpoints.diff_checkpoint("current", against=self.id)).differences
