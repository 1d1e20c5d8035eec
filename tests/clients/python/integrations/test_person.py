from typing import Any

import pytest
from pydantic import ValidationError
from tandem.api.shared import Handoff
from tandem.errors import TandemError, failure
from tandem.integrations import person

from tests.clients.python.test_sandbox import handoff


def answered(**more: Any) -> str:
    return person.answer_text(Handoff.model_validate(handoff(status="closed", **more)))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"outcome": "done", "confirmed": True}, "The person said yes."),
        ({"outcome": "cannot", "confirmed": False, "note": "too dear"}, "The person said no. Do not do it. They wrote: too dear"),
        ({"kind": "choice", "outcome": "done", "choice": "b"}, "The person chose: b"),
        ({"kind": "otp", "outcome": "done", "note": "123456"}, "The person answered: 123456"),
        ({"kind": "login", "outcome": "done"}, "The person did it. Look at the screen before you go on."),
        ({"outcome": "timeout"}, "Nobody answered in time. Do not take this for a yes."),
        ({"kind": "free", "outcome": "instead", "note": "use b"}, "The person wants something else. They wrote: use b"),
        ({"outcome": "a newer one"}, "The outcome is a newer one."),
    ],
)
def test_an_answer_is_told_so_that_a_no_is_never_taken_for_a_yes(given: dict[str, Any], text: str) -> None:
    assert answered(**given) == text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"reason": "held_by_human", "holder": "Ann"}, "A person has control of the computer now, so nothing was done."),
        ({"reason": "private"}, "A person types something private now, so nothing was done."),
        ({"reason": "held_by_human", "outcome": "unknown"}, "It may have been done: look at the screen before you repeat it."),
    ],
)
def test_a_person_who_drives_is_told_with_what_to_do(data: dict[str, Any], said: str) -> None:
    assert said in person.failure_text(failure(423, {"message": "held", "data": data}, {}))


def test_other_failures_are_told_within_a_bound() -> None:
    assert person.failure_text(failure(404, {"message": "no such file"}, {})) == "no such file (HTTP 404)"
    text = person.failure_text(TandemError("x" * 1_000_000))
    assert len(text) < person.MOST_SHOWN + 100
    assert "970000 characters are left out" in text


@pytest.mark.parametrize(
    "given", [{}, {"kind": "approve", "question": "?"}, {"kind": "confirm", "question": ""}, {"kind": 3, "question": []}]
)
def test_a_wrong_question_is_refused_before_anybody_is_asked(given: Any) -> None:
    with pytest.raises(ValidationError):
        person.Question.model_validate(given)


def test_the_arguments_are_described() -> None:
    described = person.schema()
    assert described["required"] == ["kind", "question"]
    assert all(field["description"] for field in described["properties"].values())
