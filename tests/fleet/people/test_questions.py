"""What a sandbox asks of people."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tandem_fleet.people.answers import UnusableAnswer
from tandem_fleet.people.questions import MOST, Urgency, questions_of, queue_of
from tandem_fleet.store.people import Claim

from tests.fleet.people.sandboxes import ready
from tests.fleet.stub_sandbox import handoff

ONE = ready("http://127.0.0.1:1", skill="german")


def read(*told: Any) -> list[Any]:
    """What is made of a list."""
    return list(questions_of(ONE, json.dumps(told).encode()))


def outcomes(**fields: Any) -> list[tuple[str, str | None]]:
    """The answers of a request with these fields."""
    return [(one.outcome, one.choice) for one in read(handoff(**fields))[0].answers]


def test_a_request_says_whose_it_is_and_what_is_asked() -> None:
    [one] = read(handoff(reason="Order?\u202e <b>"))
    assert (one.id, one.sandbox, one.name, one.labels) == (f"{ONE.id}.h-1", ONE.id, "work", {"skill": "german"})
    assert one.reason == "Order?  <b>"


def test_one_click_answers_what_needs_no_screen() -> None:
    approval = {"subject": "shell", "details": {"command": "git push", "x": 7}, "answers": ["once", "deny", "sudo", 3]}
    assert outcomes(kind="approve", approval=approval) == [("once", None), ("deny", None)]
    assert read(handoff(approval=approval))[0].details == [("command", "git push")]
    assert outcomes(kind="confirm") == [("done", None), ("cannot", None)]
    assert outcomes(kind="choice", choices=["a", "", 7, "b"]) == [("done", "a"), ("done", "b")]
    for fields in (
        {"kind": "confirm", "fields": [{"name": "a"}]},
        {"kind": "login"},
        {"kind": "approve"},
        {"kind": "choice", "choices": "ab"},
    ):
        assert outcomes(**fields) == []


@pytest.mark.parametrize(
    "told",
    [
        7,
        None,
        [],
        {},
        handoff(number="../h"),
        handoff(number="x" * 41),
        handoff(status="closed"),
        handoff(deadline_at="soon"),
        handoff(deadline_at=1e300),
        handoff(deadline_at=True),
        {**handoff(), "id": 7},
    ],
)
def test_what_is_no_request_is_left_out(told: Any) -> None:
    assert read(told, handoff("h-2"))[0].id.endswith("h-2")


@pytest.mark.parametrize("data", [b"{}", b"7", b"null", b"[", b"[" * 100_000])
def test_what_is_no_list_is_refused(data: bytes) -> None:
    with pytest.raises(UnusableAnswer):
        questions_of(ONE, data)


def test_odd_fields_are_shown_as_nothing() -> None:
    odd: dict[str, Any] = {
        name: {"a": [1]} for name in ("kind", "reason", "instructions", "choices", "approval", "asked_by", "claimed_by", "created_at")
    }
    [one] = read(handoff(**odd))
    assert (one.kind, one.reason, one.details, one.answers) == ("free", "", [], [])


def test_one_sandbox_does_not_hide_the_others() -> None:
    assert len(read(*(handoff(f"h-{number}") for number in range(500)))) == MOST


def test_the_most_urgent_comes_first_then_the_oldest_and_what_is_over_is_gone() -> None:
    now = time.time()
    asked = {"later": (3600, 30), "soon": (300, 1), "old": (3600, 90), "now": (60, 1), "over": (-1, 1)}
    found = read(*(handoff(name, deadline_at=now + left, created_at=now - ago) for name, (left, ago) in asked.items()))
    queue = queue_of(found, {}, "")
    assert [one.id.split(".")[1] for one in queue] == ["now", "soon", "old", "later"]
    assert [one.urgency for one in queue] == [Urgency.NOW, Urgency.SOON, Urgency.LATER, Urgency.LATER]


def test_who_has_claimed_one_is_said_and_whether_it_is_the_caller() -> None:
    [one] = read(handoff(claimed_by="Mia", status="claimed"))
    assert one.claimed_by == "Mia"
    claim = Claim(one.id, "Ann", "session", datetime.now(UTC) + timedelta(minutes=1))
    for session, mine in (("session", True), ("other", False)):
        [claimed] = queue_of([one], {one.id: claim}, session)
        assert (claimed.claimed_by, claimed.mine) == ("Ann", mine)
