import asyncio

import pytest

from sandbox_server.core import HeldByHuman, ResourceExhausted
from sandbox_server.core.control import Holding, Reach
from sandbox_server.core.operation import operations
from sandbox_server.features.box.checkpoints import (
    CheckpointCreateRequest,
    CheckpointDiffRequest,
    CheckpointRef,
    CheckpointRestoreRequest,
    Checkpoints,
    CheckpointTreeRequest,
    PruneRequest,
)
from sandbox_server.features.box.renewal import Renewal
from sandbox_server.features.control.calls_in_flight import CallsInFlight
from tests.features.box.conftest import CALL, FakeBox, FakeShells

pytestmark = pytest.mark.anyio


def record(name: str, parent: str | None = None, why: str = "asked", size: int | None = 10) -> dict[str, object]:
    return {"id": name, "parent": parent, "label": name, "who": "me", "why": why, "created": 1.0, "files": 1, "bytes": size}


@pytest.fixture
async def checkpoints(daemon: FakeBox, renewal: Renewal) -> Checkpoints:
    daemon.answers["list"] = {"head": "b", "checkpoints": [record("a"), record("b", "a", size=None)]}
    stopped = [{"pid": 7, "uid": 1000, "command": "/usr/bin/sleep 9"}]
    daemon.answers["checkpoint"] = {"checkpoint": record("c", "b"), "stopped": stopped, "mode": "stop"}
    daemon.answers["restore"] = {"head": "a", "kept": None, "stopped": []}
    return Checkpoints(daemon, renewal, quota=20)


async def test_a_checkpoint_that_stops_says_what_and_what_was_opened_again(checkpoints: Checkpoints, daemon: FakeBox) -> None:
    made = await checkpoints.create_checkpoint(CheckpointCreateRequest(label="x", parent="b", mode="stop"), CALL)
    assert (made.checkpoint.id, made.stopped[0].command, made.reopened, made.pause_ms) == ("c", "/usr/bin/sleep 9", ["s1"], None)
    assert "Processes and memory are not kept" in made.not_kept
    assert ("checkpoint", {"label": "x", "parent": "b", "who": "someone", "mode": "stop"}) in daemon.asked


async def test_a_live_checkpoint_says_how_long_programs_stood_still_and_opens_no_shell_again(
    checkpoints: Checkpoints, daemon: FakeBox, shells: FakeShells
) -> None:
    live = {"checkpoint": record("c", "b"), "stopped": [], "mode": "live", "pause_seconds": 0.0213, "copied_bytes": 5}
    daemon.answers["checkpoint"] = live
    made = await checkpoints.create_checkpoint(CheckpointCreateRequest(), CALL)
    assert (made.mode, made.pause_ms, made.copied_bytes, made.stopped, made.reopened) == ("live", 21.3, 5, [], [])
    assert shells.opened_with == []


async def test_one_of_any_mode_acts_on_what_a_person_may_hold(checkpoints: Checkpoints) -> None:
    acts = {each.spec.name: each.spec.acts for each in operations(checkpoints)}
    assert acts["create_checkpoint"] == acts["restore_checkpoint"] == ("shell", "gui", "cdp")


@pytest.mark.parametrize("taken", ["gui", "cdp", "shell"])
async def test_a_copy_of_a_box_that_runs_ends_as_soon_as_a_person_takes_anything(daemon: FakeBox, renewal: Renewal, taken: Reach) -> None:
    calls, copying = CallsInFlight(), asyncio.Queue[None]()

    async def copy(_: str, **__: object) -> dict[str, object]:
        copying.put_nowait(None)
        await asyncio.Event().wait()
        raise AssertionError

    renewal.capture = copy  # type: ignore[method-assign, assignment]
    daemon.answers["list"] = {"head": None, "checkpoints": []}
    checkpoints = Checkpoints(daemon, renewal, quota=20, give_way=calls.give_way)
    asked = asyncio.create_task(checkpoints.create_checkpoint(CheckpointCreateRequest(), CALL))
    automatic = asyncio.create_task(checkpoints.keep("before rm", CALL.caller))
    for _ in (asked, automatic):
        await copying.get()
    await calls.interrupt(Holding(2, "human", "ann", frozenset({taken})))
    for each in (asked, automatic):
        with pytest.raises(HeldByHuman, match="ann has control"):
            await each


async def test_whoever_watches_is_told_who_made_or_restored_one_and_what_stopped(daemon: FakeBox, renewal: Renewal) -> None:
    told: list[tuple[str, str, str]] = []
    stopped = [{"pid": number, "uid": 1, "command": command} for number, command in enumerate(["/bin/sleep 9", "sleep 8", "python3 x.py"])]
    daemon.answers["list"] = {"head": None, "checkpoints": []}
    daemon.answers["checkpoint"] = {"checkpoint": record("c"), "stopped": [], "mode": "live"}
    daemon.answers["restore"] = {"head": "a", "kept": None, "stopped": stopped}
    announced = Checkpoints(daemon, renewal, quota=20, announce=lambda kind, caller, note: told.append((kind, caller.name, note)))
    await announced.create_checkpoint(CheckpointCreateRequest(label="before"), CALL)
    await announced.restore_checkpoint(CheckpointRestoreRequest(checkpoint_id="a"), CALL)
    assert told == [
        ("checkpoint:made", "someone", "before; no programs were stopped"),
        ("checkpoint:restored", "someone", "a; 3 programs were stopped: sleep, python3"),
    ]


async def test_what_a_restore_would_stop_is_told_before(checkpoints: Checkpoints, daemon: FakeBox) -> None:
    daemon.answers["preview"] = {"stops": [{"pid": 7, "uid": 1, "command": "sleep 9"}], "changed": True}
    found = await checkpoints.preview_restore(CheckpointRef(checkpoint_id="image"))
    assert (found.stops[0].command, found.changed) == ("sleep 9", True)
    assert daemon.asked == [("preview", {"checkpoint": None})]


async def test_a_directory_of_what_differs_is_listed_by_pages(checkpoints: Checkpoints, daemon: FakeBox) -> None:
    entry = {"name": "d", "change": None, "added": 1, "changed": 0, "deleted": 2, "before": 3, "after": 4}
    daemon.answers["tree"] = {"entries": [entry], "more": True, "truncated": False}
    found = await checkpoints.checkpoint_tree(CheckpointTreeRequest(checkpoint_id="current", under="/home", after="c", limit=1))
    assert (found.entries[0].deleted, found.more) == (2, True)
    assert daemon.asked == [("tree", {"checkpoint": None, "against": None, "under": "/home", "after": "c", "limit": 1})]


async def test_a_full_quota_refuses_before_anything_is_stopped(checkpoints: Checkpoints, daemon: FakeBox) -> None:
    daemon.answers["list"] = {"head": "a", "checkpoints": [record("a", size=20)]}
    with pytest.raises(ResourceExhausted) as refused:
        await checkpoints.create_checkpoint(CheckpointCreateRequest(), CALL)
    assert "CHECKPOINT_QUOTA_BYTES" in (refused.value.hint or "")
    assert daemon.operations() == ["list"]


@pytest.mark.parametrize(("name", "target"), [("image", None), ("a", "a")])
async def test_a_restore_goes_to_a_checkpoint_or_to_the_image(
    checkpoints: Checkpoints, daemon: FakeBox, name: str, target: str | None
) -> None:
    await checkpoints.restore_checkpoint(CheckpointRestoreRequest(checkpoint_id=name, keep=False), CALL)
    assert daemon.asked[0] == ("restore", {"checkpoint": target, "keep": False, "who": "someone"})


async def test_the_box_as_it_is_can_be_compared(checkpoints: Checkpoints, daemon: FakeBox) -> None:
    daemon.answers["diff"] = {"differences": [{"path": "/x", "change": "added", "before": None, "after": 1}], "truncated": False}
    found = await checkpoints.diff_checkpoint(CheckpointDiffRequest(checkpoint_id="current", against="image"))
    assert found.differences[0].path == "/x"
    assert daemon.asked[0][1] == {"checkpoint": None, "against": "image", "limit": 1000}


async def test_pruning_leaves_the_newest_and_what_cannot_go(checkpoints: Checkpoints, daemon: FakeBox) -> None:
    made = (("a", None, "before_risk"), ("b", None, "before_restore"), ("c", "b", "asked"), ("d", "b", "asked"), ("e", "c", "before_risk"))
    daemon.answers |= {"list": {"head": "e", "checkpoints": [record(*one) for one in made]}, "remove": {}}
    assert (await checkpoints.prune_checkpoints(PruneRequest(keep=1))).removed == ["a"]  # on b stand two
    assert (await checkpoints.prune_checkpoints(PruneRequest(keep=0))).removed == ["a"]  # and on e the box
    assert (await checkpoints.prune_checkpoints(PruneRequest(keep=9))).removed == []


async def test_pruning_hands_the_files_of_what_goes_to_the_one_that_stands_on_it(checkpoints: Checkpoints, daemon: FakeBox) -> None:
    made = [record("a", None, "before_risk"), record("b", "a", "before_risk")]
    daemon.answers |= {"list": {"head": "b", "checkpoints": made}, "squash": {"checkpoint": made[1]}, "remove": {}}
    assert (await checkpoints.prune_checkpoints(PruneRequest(keep=1))).removed == ["a"]
    assert daemon.asked[-2:] == [("squash", {"checkpoint": "b", "why": "before_risk"}), ("remove", {"checkpoint": "a"})]


async def test_an_automatic_checkpoint_makes_room_for_itself(checkpoints: Checkpoints, daemon: FakeBox) -> None:
    daemon.answers |= {"list": {"head": None, "checkpoints": [record("a", None, "before_risk", 30)]}, "remove": {}}
    with pytest.raises(ResourceExhausted):  # the list of this daemon never changes
        await checkpoints.keep("before x", CALL.caller)
    assert "remove" in daemon.operations()
    assert "checkpoint" not in daemon.operations()


async def test_squashing_and_removing_name_the_checkpoint(checkpoints: Checkpoints, daemon: FakeBox) -> None:
    daemon.answers |= {"squash": {"checkpoint": record("b", why="squashed")}, "remove": {}}
    assert (await checkpoints.squash_checkpoint(CheckpointRef(checkpoint_id="b"))).why == "squashed"
    await checkpoints.remove_checkpoint(CheckpointRef(checkpoint_id="b"))
    assert daemon.asked == [("squash", {"checkpoint": "b"}), ("remove", {"checkpoint": "b"})]
