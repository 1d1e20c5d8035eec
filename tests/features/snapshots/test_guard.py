"""While the computer is prepared for a snapshot every call is refused."""

from pathlib import Path

import pytest

from sandbox_server.core import ALL_SCOPES, Call, Caller, operation
from sandbox_server.core.dispatch import Dispatcher
from sandbox_server.core.errors import Unavailable
from sandbox_server.core.operation import operations
from sandbox_server.drivers.snapshots.snapshot_state import SnapshotState
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.snapshots.guard import SnapshotGuard

pytestmark = pytest.mark.anyio


class Things:
    tag = "things"

    @operation("GET /v1/thing", scope="public")
    async def thing(self) -> str:
        """Answer."""
        return "answered"


async def test_nothing_is_answered_until_it_is_released(tmp_path: Path) -> None:
    state = SnapshotState(JsonFile(str(tmp_path / "snapshot.json")))
    dispatcher, [thing] = Dispatcher([SnapshotGuard(state)]), operations(Things())
    call = Call(Caller("key", ALL_SCOPES), "http")
    assert await dispatcher.call(thing, {}, call) == "answered"
    made = await state.prepare()
    with pytest.raises(Unavailable, match="snapshot"):
        await dispatcher.call(thing, {}, call)
    await state.release(made.token)
    assert await dispatcher.call(thing, {}, call) == "answered"
