"""What is put into a sandbox before it is ready."""

from typing import Any

import pytest
from tandem_fleet.errors import SandboxFailedError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired, Spec, State

from tests.fleet.answering import Answering, Call
from tests.fleet.test_fleet import SECONDS, SPEC

pytestmark = pytest.mark.anyio
BIND = "POST /v1/sandbox/bind"
SECRET = {"value": "a-value", "bindings": [{"hosts": ["api.example.com"]}]}


@pytest.fixture
def gateway(answers: Answering) -> str:
    """Sandboxes that can be bound."""
    answers.answers[BIND] = (200, {"success": True, "data": {}})
    return answers.address


async def test_each_is_bound_to_its_tenant_once(fleet: Fleet, answers: Answering) -> None:
    made = await fleet.create("one", SPEC, name="mine")
    await fleet.settle(made.id, SECONDS)
    for desired in (Desired.STOPPED, Desired.RUNNING):
        await fleet.settle((await fleet.order("one", "mine", desired)).id, SECONDS)
    assert [call.json for call in answers.called(BIND)] == [{"tenant": "one", "labels": {"name": "mine"}}]


async def test_an_image_without_an_identity_is_used_without_one(fleet: Fleet, answers: Answering) -> None:
    answers.answers[BIND] = (404, {"message": "no such operation"})
    made = await fleet.create("one", SPEC)
    assert (await fleet.settle(made.id, SECONDS)).state == State.READY


async def test_what_a_sandbox_does_not_take_is_said_and_tried_again_when_it_is_started(fleet: Fleet, answers: Answering) -> None:
    answers.answers["PUT /v1/secrets/TOKEN"] = (422, {"message": "the value is too short"})
    made = await fleet.create("one", SPEC, secrets={"TOKEN": SECRET})
    with pytest.raises(SandboxFailedError, match="the value is too short"):
        await fleet.settle(made.id, SECONDS)
    asked = len(answers.calls)
    assert asked < 20
    answers.answers["PUT /v1/secrets/TOKEN"] = (200, {"success": True, "data": {}})
    assert (await fleet.settle((await fleet.order("one", made.id, Desired.RUNNING)).id, SECONDS)).state == State.READY


async def test_one_that_does_not_answer_at_once_is_asked_again(fleet: Fleet, answers: Answering) -> None:
    async def late(_: Call) -> tuple[int, Any]:
        return (503, {"message": "not yet"}) if len(answers.called(BIND)) < 3 else (200, {"success": True, "data": {}})

    answers.answers[BIND] = late
    made = await fleet.create("one", SPEC)
    assert (await fleet.settle(made.id, SECONDS)).state == State.READY
    assert len(answers.called(BIND)) == 3


async def test_secrets_are_in_no_event_and_no_answer(fleet: Fleet, answers: Answering) -> None:
    answers.answers["PUT /v1/secrets/TOKEN"] = (200, {"success": True, "data": {}})
    made = await fleet.create("one", Spec(image="image"), secrets={"TOKEN": SECRET})
    ready = await fleet.settle(made.id, SECONDS)
    told = []
    async for event in fleet.events("one", 0):
        told.append(event.sandbox.model_dump_json())
        if event.sandbox.state == State.READY:
            break
    assert not [text for text in (*told, ready.model_dump_json()) if "a-value" in text]
