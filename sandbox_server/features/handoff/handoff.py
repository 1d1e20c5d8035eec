"""A handoff: what an agent asks of a person, and what comes of it."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from sandbox_server.core import Model
from sandbox_server.core.receipt import Receipt

type Kind = Literal["login", "captcha", "otp", "payment", "choice", "confirm", "free"]
PRIVATE_KINDS: frozenset[Kind] = frozenset({"login", "otp", "payment"})
"""What nobody else is to see a person do."""
type Outcome = Literal["done", "cannot", "partly", "instead", "timeout", "cancelled"]
type NotificationChannel = Literal["webhook", "slack", "telegram", "ntfy", "mail"]
type HandoffText = Annotated[str, Field(max_length=4000)]
MAX_SECONDS = 86400.0
WAIT_SECONDS = 3600.0
MAX_FIELDS = 12


class HandoffRegion(Model):
    x: Annotated[int, Field(ge=0)]
    """Left edge, in pixels of the screen."""
    y: Annotated[int, Field(ge=0)]
    width: Annotated[int, Field(gt=0)]
    height: Annotated[int, Field(gt=0)]


class FormField(Model):
    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$")]
    """Under which its value comes back in `values`."""
    label: Annotated[str, Field(min_length=1, max_length=200)]
    """What the person reads beside it."""
    secret: bool = False
    """Its value is for the page alone and never comes back."""
    ref: Annotated[str, Field(max_length=100)] | None = None
    """The element of the page that it belongs to, as a snapshot names it."""
    selector: Annotated[str, Field(max_length=1000)] | None = None
    """The same as a CSS selector. A secret one needs it."""
    origin: Annotated[str, Field(pattern=r"^https?://[^/\s]{1,255}$")] | None = None
    """Scheme, host and port of the page that a secret is for, such as `https://example.com`; it is filled in nowhere else."""


class AskPerson(Model):
    kind: Kind = "free"
    """What is asked for."""
    reason: Annotated[str, Field(min_length=1, max_length=4000)]
    """Why you cannot go on by yourself: one sentence for the person."""
    instructions: HandoffText = ""
    """What to do, step by step, and when it is done."""
    url: Annotated[str, Field(max_length=4000)] | None = None
    """The page that it is about."""
    region: HandoffRegion | None = None
    """The part of the screen that it is about."""
    choices: Annotated[list[Annotated[str, Field(min_length=1, max_length=400)]], Field(max_length=12)] = Field(default_factory=list)
    """What to choose from; one of them comes back as `choice`."""
    fields: Annotated[list[FormField], Field(max_length=MAX_FIELDS)] = Field(default_factory=list)
    """What the person is to fill in; it comes back as `values`, by name."""
    deadline: Annotated[float, Field(gt=0, le=MAX_SECONDS)] = 3600.0
    """Seconds after which nobody is expected to answer any more."""
    on_timeout: Literal["give_up", "continue"] = "give_up"
    """What you mean to do then; people see it."""
    wait: Annotated[float, Field(ge=0, le=WAIT_SECONDS)] = 0.0
    """Seconds to wait for the outcome at once; 0 answers when the request is made."""

    @field_validator("fields")
    @classmethod
    def _are_distinct_and_secrets_have_a_place(cls, fields: list[FormField]) -> list[FormField]:
        names = [field.name for field in fields]
        if len(set(names)) < len(names):
            raise ValueError("two fields have one name")
        if any(field.secret and (field.selector is None or field.origin is None) for field in fields):
            raise ValueError("a secret field names the selector and the origin that it is for")
        return fields


class HandoffRef(Model):
    id: Annotated[str, Field(max_length=40)]


class AnswerHandoff(HandoffRef):
    outcome: Literal["done", "cannot", "partly", "instead"]
    note: HandoffText = ""
    """What was done, why it was not, or what was done instead."""
    choice: Annotated[str, Field(max_length=400)] | None = None
    """Which of the choices."""
    values: Annotated[dict[str, HandoffText], Field(max_length=MAX_FIELDS)] = Field(default_factory=dict)
    """What was filled in, by the names of the fields."""


class Delivery(Model):
    at: float
    """Seconds since the epoch."""
    status: int | None
    """What was answered, in HTTP or SMTP; null for nothing."""
    error: str | None
    to: NotificationChannel = "webhook"


class Handoff(Model):
    id: str
    kind: Kind
    reason: str
    instructions: str
    url: str | None
    region: HandoffRegion | None
    choices: list[str]
    fields: list[FormField] = Field(default_factory=list)
    on_timeout: Literal["give_up", "continue"]
    asked_by: str
    created_at: float
    """Seconds since the epoch."""
    deadline_at: float
    """Seconds since the epoch."""
    status: Literal["open", "claimed", "closed"]
    claimed_by: str | None = None
    claimed_at: float | None = None
    """When that person took it on."""
    outcome: Outcome | None = None
    """`done`, `cannot`, `partly`, `instead` with a note, `timeout`, `cancelled`; null while it is open."""
    note: str = ""
    choice: str | None = None
    values: dict[str, str] = Field(default_factory=dict)
    """What was filled in, by the names of the fields; nothing secret."""
    dropped: list[str] = Field(default_factory=list)
    """The secret fields that a person has filled in, by name."""
    closed_by: str | None = None
    answered_in: Literal["view", "client"] | None = None
    """Where the answer was given: on `/view`, or to the client of the agent that asked, by its own user."""
    closed_at: float | None = None
    receipt: Receipt | None = None
    """What the person changed who answered it."""
    deliveries: list[Delivery] = Field(default_factory=list)
    """Every try to tell people of it."""
