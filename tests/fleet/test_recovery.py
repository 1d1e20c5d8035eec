"""Sandboxes that are nobody's after the store was lost."""

from pathlib import Path
from typing import Any

import jwt
import pytest
from tandem_fleet.errors import SandboxFailedError
from tandem_fleet.fleet import Fleet
from tandem_fleet.recovery import read_binding
from tandem_fleet.sandboxes import State

from tests.fleet.answering import Answering, Call
from tests.fleet.engines import MemoryBackend
from tests.fleet.test_fleet import SECONDS
from tests.fleet.test_pools import BIND, CONTENT, WARM, filled
from tests.fleet.test_reconciler import MakeFleet
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
def gateway(answers: Answering) -> str:
    """Sandboxes that remember whom they were bound to, by the audience of the call's token."""
    bound: dict[str, Any] = {}

    async def bind(call: Call) -> tuple[int, Any]:
        bound[_audience(call)] = call.json
        return 200, {"success": True, "data": {}}

    async def tell(call: Call) -> tuple[int, Any]:
        return 200, {"success": True, "data": {"sandbox_id": "x", "tenant": None, "labels": {}} | bound.get(_audience(call), {})}

    answers.answers |= {BIND: bind, "GET /v1/identity": tell}
    return answers.address


def _audience(call: Call) -> str:
    token = call.headers["authorization"].removeprefix("Bearer ")
    return str(jwt.decode(token, options={"verify_signature": False})["aud"])


async def test_one_that_was_claimed_is_its_tenants_again_and_one_that_waited_goes(
    make_fleet: MakeFleet, engine: MemoryBackend, tmp_path: Path
) -> None:
    async with make_fleet() as first:
        await first.templates.put("one", "work", CONTENT)
        await filled(first)
        made = await first.create("one", WARM, name="mine")
        await first.settle(made.id, SECONDS)
        await filled(first)
    for file in tmp_path.glob("fleet.db*"):
        file.unlink()
    async with make_fleet() as second:
        await eventually(lambda: list(engine.sandboxes) == [made.id], SECONDS)

        async def is_back() -> bool:
            return [(one.name, one.id) for _, one in await second.page("one", 0, 9, State.READY)] == [("mine", made.id)]

        await eventually(is_back, SECONDS)


async def test_what_waits_is_left_alone(fleet: Fleet, answers: Answering) -> None:
    await fleet.templates.put("one", "work", CONTENT)
    await filled(fleet)
    made = await fleet.create("one", WARM)
    await fleet.settle(made.id, SECONDS)
    assert answers.called("GET /v1/identity") == []


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ({"sandbox_id": "x", "tenant": "one", "labels": {"name": "mine"}}, ("one", "mine")),
        ({"sandbox_id": "x", "tenant": None}, ("", "")),
        ({"sandbox_id": "x", "tenant": "a/b", "labels": {"name": "A"}}, ("", "")),
        ({"sandbox_id": "x", "tenant": 1, "labels": []}, ("", "")),
    ],
)
def test_a_binding_is_read(said: Any, read: tuple[str, str]) -> None:
    assert read_binding(said) == read


@pytest.mark.parametrize("said", [None, [], {}, "x"])
def test_what_is_no_binding_removes_nothing(said: Any) -> None:
    with pytest.raises(SandboxFailedError):
        read_binding(said)
