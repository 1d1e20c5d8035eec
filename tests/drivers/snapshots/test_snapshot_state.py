"""What is prepared answers nothing until it is released with its token, or bound."""

from pathlib import Path

import pytest

from sandbox_server.core.errors import Conflict, PermissionDenied, Unavailable
from sandbox_server.drivers.snapshots.snapshot_state import Change, SnapshotState
from sandbox_server.drivers.storage.json_file import JsonFile

pytestmark = pytest.mark.anyio


@pytest.fixture
def state(tmp_path: Path) -> SnapshotState:
    return again(tmp_path)


def again(folder: Path) -> SnapshotState:
    return SnapshotState(JsonFile(str(folder / "snapshot.json")))


async def test_it_refuses_from_prepare_until_release(state: SnapshotState) -> None:
    state.require_running()
    made = await state.prepare()
    assert state.snapshot == made.id
    with pytest.raises(Unavailable):
        state.require_running()
    await state.release(made.token)
    state.require_running()
    assert state.snapshot is None


async def test_another_token_does_not_release(state: SnapshotState) -> None:
    await state.prepare()
    with pytest.raises(PermissionDenied):
        await state.release("")
    with pytest.raises(Unavailable):
        state.require_running()


async def test_a_second_prepare_gives_no_second_token(state: SnapshotState) -> None:
    made = await state.prepare()
    with pytest.raises(Conflict):
        await state.prepare()
    await state.release(made.token)


async def test_a_restart_of_the_process_does_not_end_it(state: SnapshotState, tmp_path: Path) -> None:
    made = await state.prepare()
    later = again(tmp_path)
    with pytest.raises(Unavailable):
        later.require_running()
    await later.release(made.token)
    assert again(tmp_path).snapshot is None


async def test_the_file_has_no_token(state: SnapshotState, tmp_path: Path) -> None:
    made = await state.prepare()
    assert made.token not in (tmp_path / "snapshot.json").read_text()


async def test_nothing_else_is_bound_or_released(state: SnapshotState) -> None:
    with pytest.raises(Conflict):
        await state.bind()
    with pytest.raises(Conflict):
        await state.release("x")
    await state.prepare()
    await state.bind()
    with pytest.raises(Conflict):
        await state.bind()


async def test_listeners_are_told_in_order_while_nothing_is_answered(state: SnapshotState) -> None:
    told: list[tuple[Change, bool]] = []

    async def bound() -> None:
        told.append(("bound", state.snapshot is None))

    state.when("prepared", lambda: told.append(("prepared", state.snapshot is None)))
    state.when("bound", bound)
    state.when("running", lambda: told.append(("running", state.snapshot is None)))
    await state.prepare()
    await state.bind()
    assert told == [("prepared", False), ("bound", False), ("running", True)]


async def test_where_a_listener_fails_nothing_is_answered(state: SnapshotState) -> None:
    def fail() -> None:
        raise Unavailable("not now")

    state.when("bound", fail)
    await state.prepare()
    with pytest.raises(Unavailable):
        await state.bind()
    assert state.snapshot is not None
