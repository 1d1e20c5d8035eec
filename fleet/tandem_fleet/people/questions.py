"""What a sandbox asks of people. An agent wrote the words: they are text of bounded length, and what does not fit is left out."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tandem_fleet.people.answers import UnusableAnswer, parsed, plain, shown_labels
from tandem_fleet.sandboxes import Sandbox
from tandem_fleet.store.people import Claim

MOST = 20
"""Questions of one sandbox that are shown: it does not hide those of others."""
MOST_IN_ALL = 200
NUMBER = re.compile(r"[A-Za-z0-9_-]{1,40}")
KINDS = frozenset({"login", "captcha", "otp", "payment", "choice", "confirm", "free", "approve"})
DECISIONS = {"once": "Allow once", "task": "Allow for this task", "always": "Always allow", "deny": "Deny"}
_TEXT, _NAME = 1000, 40


class Urgency(IntEnum):
    """How soon nobody can answer any more."""

    NOW = 0
    """Within two minutes."""
    SOON = 1
    """Within a quarter of an hour."""
    LATER = 2


class Choice(BaseModel):
    """An answer that takes one click."""

    model_config = ConfigDict(frozen=True)

    outcome: str
    choice: str | None = None
    label: str


class Question(BaseModel):
    """Something that a person is asked for."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="The sandbox's id, a dot, and the request's id there.")
    sandbox: str
    name: str = Field(description="The sandbox's name.")
    labels: dict[str, str]
    kind: str
    reason: str
    instructions: str
    details: list[tuple[str, str]] = Field(description="What an approval is about.")
    answers: list[Choice] = Field(description="What can be answered here; nothing where the screen is needed.")
    asked_by: str
    asked_at: datetime
    ends_at: datetime
    urgency: Urgency
    claimed_by: str = Field(default="", description="Who is at it, here or in the sandbox.")
    mine: bool = Field(default=False, description="Whether that is the caller.")


def questions_of(sandbox: Sandbox, data: bytes) -> list[Question]:
    """The open questions that an event of the sandbox names. Raises `UnusableAnswer`."""
    listed = parsed(data)
    if not isinstance(listed, list):
        raise UnusableAnswer("the sandbox sent no list of what it asks")
    found = (_question(sandbox, one) for one in listed[:MOST] if isinstance(one, Mapping))
    return [one for one in found if one]


def _question(sandbox: Sandbox, told: Mapping[str, Any]) -> Question | None:
    number, ends_at = told.get("id"), _time(told.get("deadline_at"))
    if not isinstance(number, str) or not NUMBER.fullmatch(number) or told.get("status") not in ("open", "claimed") or ends_at is None:
        return None
    kind = told.get("kind")
    return Question(
        id=f"{sandbox.id}.{number}",
        sandbox=sandbox.id,
        name=sandbox.name,
        labels=shown_labels(sandbox.spec.labels),
        kind=kind if isinstance(kind, str) and kind in KINDS else "free",
        reason=plain(told.get("reason"), _TEXT),
        instructions=plain(told.get("instructions"), _TEXT),
        details=_details(told.get("approval")),
        answers=_answers(told),
        asked_by=plain(told.get("asked_by"), _NAME),
        asked_at=_time(told.get("created_at")) or datetime.now(UTC),
        ends_at=ends_at,
        urgency=urgency(ends_at),
        claimed_by=plain(told.get("claimed_by"), _NAME),
    )


def urgency(ends_at: datetime) -> Urgency:
    """By the time that is left."""
    left = ends_at - datetime.now(UTC)
    return Urgency.NOW if left < timedelta(minutes=2) else Urgency.SOON if left < timedelta(minutes=15) else Urgency.LATER


def _time(seconds: object) -> datetime | None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _details(approval: object) -> list[tuple[str, str]]:
    details = approval.get("details") if isinstance(approval, Mapping) else None
    if not isinstance(details, Mapping):
        return []
    return [(plain(name, _NAME), plain(value, _TEXT)) for name, value in list(details.items())[:16] if plain(value)]


def _answers(told: Mapping[str, Any]) -> list[Choice]:
    """Answers that need nothing but a click."""
    approval, choices = told.get("approval"), told.get("choices")
    if isinstance(approval, Mapping):
        offered = approval.get("answers")
        known = offered if isinstance(offered, list) else []
        return [Choice(outcome=outcome, label=label) for outcome, label in DECISIONS.items() if outcome in known]
    if told.get("kind") == "approve" or told.get("fields"):
        return []
    if isinstance(choices, list) and choices:
        usable = [choice for choice in choices[:12] if isinstance(choice, str) and 0 < len(choice) <= 400]
        return [Choice(outcome="done", choice=choice, label=plain(choice)) for choice in usable if plain(choice)]
    if told.get("kind") == "confirm":
        return [Choice(outcome="done", label="Yes, go ahead"), Choice(outcome="cannot", label="No")]
    return []


def queue_of(questions: list[Question], claims: Mapping[str, Claim], session: str) -> list[Question]:
    """The most urgent first, of these the oldest, each with who is at it."""
    now = datetime.now(UTC)
    seen = [_as_claimed(one, claims.get(one.id), session) for one in questions if one.ends_at > now]
    return sorted(seen, key=lambda one: (one.urgency, one.asked_at, one.id))[:MOST_IN_ALL]


def _as_claimed(question: Question, claim: Claim | None, session: str) -> Question:
    update: dict[str, Any] = {"urgency": urgency(question.ends_at)}
    if claim:
        update |= {"claimed_by": claim.person, "mine": claim.session == session}
    return question.model_copy(update=update)
