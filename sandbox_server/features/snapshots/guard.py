"""Refuses every call while the computer is prepared for a snapshot."""

from pydantic import BaseModel

from sandbox_server.core import Call
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.operation import Operation
from sandbox_server.drivers.snapshots.snapshot_state import SnapshotState


class SnapshotGuard:
    """Guard: a copy that is not bound answers nobody."""

    def __init__(self, state: SnapshotState) -> None:
        self._state = state

    async def __call__(self, called: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        self._state.require_running()
        return await proceed()
