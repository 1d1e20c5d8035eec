"""The network policies of sandboxes that run."""

from typing import Any

import pytest
from tandem_fleet.errors import ConflictError, InvalidError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired

from tests.fleet.answering import Answering
from tests.fleet.test_fleet import SECONDS, ready

pytestmark = pytest.mark.anyio
STATUS, PUT = "GET /v1/egress/status", "PUT /v1/egress/policy"
CLOSED = {"default": "deny", "rules": []}


@pytest.fixture
def gateway(answers: Answering) -> str:
    """Sandboxes that hold their programs to a policy."""
    answers.answers |= {STATUS: (200, {"success": True, "data": {"enforcement": "namespace"}}), PUT: (200, {"success": True, "data": {}})}
    return answers.address


async def test_a_policy_is_replaced_and_is_that_of_copies(fleet: Fleet, answers: Answering) -> None:
    made = await ready(fleet)
    await fleet.network.replace("default", "work", CLOSED)
    assert [call.json for call in answers.called(PUT)] == [CLOSED]
    assert (await fleet.get(made.id)).spec.environment["EGRESS_POLICY"] == '{"default": "deny", "rules": []}'


@pytest.mark.parametrize("enforcement", ["rules", "proxy", "off"])
async def test_one_that_does_not_hold_root_to_it_takes_none(fleet: Fleet, answers: Answering, enforcement: str) -> None:
    await ready(fleet)
    answers.answers[STATUS] = (200, {"success": True, "data": {"enforcement": enforcement}})
    with pytest.raises(ConflictError, match="cannot hold"):
        await fleet.network.replace("default", "work", CLOSED)
    assert answers.called(PUT) == []


@pytest.mark.parametrize(("status", "error"), [(422, InvalidError), (409, ConflictError)])
async def test_what_it_refuses_is_said(fleet: Fleet, answers: Answering, status: int, error: Any) -> None:
    made = await ready(fleet)
    answers.answers[PUT] = (status, {"message": "/rules/0 is wrong"})
    with pytest.raises(error, match="/rules/0 is wrong"):
        await fleet.network.replace("default", "work", CLOSED)
    assert "EGRESS_POLICY" not in (await fleet.get(made.id)).spec.environment


async def test_one_that_sleeps_takes_none(fleet: Fleet) -> None:
    made = await ready(fleet)
    await fleet.order("default", "work", Desired.PAUSED)
    await fleet.settle(made.id, SECONDS)
    with pytest.raises(ConflictError, match="is paused"):
        await fleet.network.replace("default", "work", CLOSED)
