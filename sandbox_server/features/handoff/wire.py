"""What an agent asks of a person, and what comes of it."""

from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.core.receipt import Receipt

type Kind = Literal["login", "captcha", "otp", "payment", "choice", "confirm", "free"]
type Outcome = Literal["done", "cannot", "partly", "instead", "timeout", "cancelled"]
type Text = Annotated[str, Field(max_length=4000)]
MAX_SECONDS = 86400.0
WAIT_SECONDS = 3600.0


class Region(Model):
    x: Annotated[int, Field(ge=0)]
    """Left edge, in pixels of the screen."""
    y: Annotated[int, Field(ge=0)]
    width: Annotated[int, Field(gt=0)]
    height: Annotated[int, Field(gt=0)]


class AskPerson(Model):
    kind: Kind = "free"
    """What is asked for."""
    reason: Annotated[str, Field(min_length=1, max_length=4000)]
    """Why you cannot go on by yourself: one sentence for the person."""
    instructions: Text = ""
    """What to do, step by step, and when it is done."""
    url: Annotated[str, Field(max_length=4000)] | None = None
    """The page that it is about."""
    region: Region | None = None
    """The part of the screen that it is about."""
    choices: Annotated[list[Annotated[str, Field(min_length=1, max_length=400)]], Field(max_length=12)] = Field(default_factory=list)
    """What to choose from; one of them comes back as `choice`."""
    deadline: Annotated[float, Field(gt=0, le=MAX_SECONDS)] = 3600.0
    """Seconds after which nobody is expected to answer any more."""
    on_timeout: Literal["give_up", "continue"] = "give_up"
    """What you mean to do then; people see it."""
    wait: Annotated[float, Field(ge=0, le=WAIT_SECONDS)] = 0.0
    """Seconds to wait for the outcome at once; 0 answers when the request is made."""


class HandoffRef(Model):
    id: Annotated[str, Field(max_length=40)]


class WaitForPerson(HandoffRef):
    wait: Annotated[float, Field(ge=0, le=WAIT_SECONDS)] = 0.0
    """Seconds to wait for the outcome."""


class ListHandoffs(Model):
    status: Literal["open", "closed", "all"] = "open"


class AssignHandoff(HandoffRef):
    to: Annotated[str, Field(min_length=1, max_length=200)]
    """The person who is to do it."""


class AnswerHandoff(HandoffRef):
    outcome: Literal["done", "cannot", "partly", "instead"]
    note: Text = ""
    """What was done, why it was not, or what was done instead."""
    choice: Annotated[str, Field(max_length=400)] | None = None
    """Which of the choices."""


class Delivery(Model):
    at: float
    """Seconds since the epoch."""
    status: int | None
    """What the webhook answered; null for nothing."""
    error: str | None


class Handoff(Model):
    id: str
    kind: Kind
    reason: str
    instructions: str
    url: str | None
    region: Region | None
    choices: list[str]
    on_timeout: Literal["give_up", "continue"]
    asked_by: str
    created_at: float
    """Seconds since the epoch."""
    deadline_at: float
    """Seconds since the epoch."""
    status: Literal["open", "claimed", "closed"]
    claimed_by: str | None = None
    outcome: Outcome | None = None
    """`done`, `cannot`, `partly`, `instead` with a note, `timeout`, `cancelled`; null while it is open."""
    note: str = ""
    choice: str | None = None
    closed_by: str | None = None
    closed_at: float | None = None
    receipt: Receipt | None = None
    """What the person changed who answered it."""
    deliveries: list[Delivery] = Field(default_factory=list)
    """How the webhook was told."""
