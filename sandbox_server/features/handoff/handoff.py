"""A handoff: an agent's request to a person, and its outcome."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from sandbox_server.core import Model
from sandbox_server.core.approval import ApprovalAnswer, ApprovalSubject
from sandbox_server.core.receipt import Receipt

type Kind = Literal["login", "captcha", "otp", "payment", "choice", "confirm", "free"]
"""Kinds that an agent may ask for."""
type HandoffKind = Kind | Literal["approve"]
"""`approve` is the sandbox's own: a policy asks, never an agent in its own words."""
PRIVATE_KINDS: frozenset[HandoffKind] = frozenset({"login", "otp", "payment"})
"""Kinds that the person handles in private mode."""
type AnswerOutcome = Literal["done", "cannot", "partly", "instead"] | ApprovalAnswer
type Outcome = AnswerOutcome | Literal["timeout", "cancelled"]
type AnsweredIn = Literal["view", "client", "chat"]
type NotificationChannel = Literal["webhook", "slack", "telegram", "discord", "ntfy", "mail"]
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
    """The key of its value in `values`."""
    label: Annotated[str, Field(min_length=1, max_length=200)]
    """Label for the person."""
    secret: bool = False
    """Whether its value goes only to the page and is never returned."""
    ref: Annotated[str, Field(max_length=100)] | None = None
    """The element of the page that it belongs to, as a snapshot names it."""
    selector: Annotated[str, Field(max_length=1000)] | None = None
    """The same as a CSS selector. Required for a secret field."""
    origin: Annotated[str, Field(pattern=r"^https?://[^/\s]{1,255}$")] | None = None
    """Scheme, host and port of the page for a secret, such as `https://example.com`. It is filled in on no other."""


class AskPerson(Model):
    kind: Kind = "free"
    """What is requested."""
    reason: Annotated[str, Field(min_length=1, max_length=4000)]
    """Why you cannot continue yourself: one sentence for the person."""
    instructions: HandoffText = ""
    """What to do, step by step, and when it is done."""
    url: Annotated[str, Field(max_length=4000)] | None = None
    """The page that it concerns."""
    region: HandoffRegion | None = None
    """The part of the screen that it concerns."""
    choices: Annotated[list[Annotated[str, Field(min_length=1, max_length=400)]], Field(max_length=12)] = Field(default_factory=list)
    """Options; one of them is returned as `choice`."""
    fields: Annotated[list[FormField], Field(max_length=MAX_FIELDS)] = Field(default_factory=list)
    """Fields for the person to fill in; returned as `values`, by name."""
    deadline: Annotated[float, Field(gt=0, le=MAX_SECONDS)] = 3600.0
    """Seconds after which the request times out."""
    on_timeout: Literal["give_up", "continue"] = "give_up"
    """What you will do after a timeout, shown to people."""
    wait: Annotated[float, Field(ge=0, le=WAIT_SECONDS)] = 0.0
    """Seconds to wait for the outcome; 0 answers once the request is made."""

    @field_validator("fields")
    @classmethod
    def _are_distinct_and_secrets_have_a_place(cls, fields: list[FormField]) -> list[FormField]:
        names = [field.name for field in fields]
        if len(set(names)) < len(names):
            raise ValueError("two fields have the same name")
        if any(field.secret and (field.selector is None or field.origin is None) for field in fields):
            raise ValueError("a secret field needs a selector and an origin")
        return fields


class HandoffRef(Model):
    id: Annotated[str, Field(max_length=40)]


class AnswerHandoff(HandoffRef):
    outcome: AnswerOutcome
    """`once`, `task`, `always` and `deny` answer the kind `approve`, the others all other kinds."""
    note: HandoffText = ""
    """What was done, why it was not, or what was done instead."""
    choice: Annotated[str, Field(max_length=400)] | None = None
    """One of the choices."""
    values: Annotated[dict[str, HandoffText], Field(max_length=MAX_FIELDS)] = Field(default_factory=dict)
    """The field values, by name."""


class Delivery(Model):
    at: float
    """Seconds since the epoch."""
    status: int | None
    """The HTTP or SMTP status; null if there was no answer."""
    error: str | None
    to: NotificationChannel = "webhook"


class AllowedEffect(Model):
    covers: str
    """What it allows, in one sentence."""
    seconds: float | None
    """How long, in seconds; null: for what waits alone, while the task runs, or for ever."""
    rule: str | None
    """The rule that it writes, as JSON; null if it writes none."""


class Approval(Model):
    """What a request of the kind `approve` is about."""

    subject: ApprovalSubject
    rule: str
    """The rule of a policy that asks, by name; empty if none does."""
    details: dict[str, str]
    """What is decided on, such as `host`, `port`, `program`, `session`, `command`, `url`, `tool`.

    One line each. Every character is visible: those that hide or turn text are written as `⟨U+202E⟩`.
    """
    answers: list[ApprovalAnswer]
    """The outcomes that answer it."""
    effects: dict[ApprovalAnswer, AllowedEffect] = Field(default_factory=dict)
    """What each outcome that allows it allows."""


class Handoff(Model):
    id: str
    kind: HandoffKind
    reason: str
    instructions: str
    url: str | None
    region: HandoffRegion | None
    choices: list[str]
    fields: list[FormField] = Field(default_factory=list)
    on_timeout: Literal["give_up", "continue", "deny", "allow"]
    """What follows a timeout; `deny` and `allow` only of the kind `approve`."""
    asked_by: str
    created_at: float
    """Seconds since the epoch."""
    deadline_at: float
    """Seconds since the epoch."""
    status: Literal["open", "claimed", "closed"]
    claimed_by: str | None = None
    claimed_at: float | None = None
    """When the person claimed it."""
    outcome: Outcome | None = None
    """`done`, `cannot`, `partly`, `instead` with a note, `timeout`, `cancelled`; null while it is open.

    Of the kind `approve`: `once`, `task`, `always`, `deny`, `timeout`, `cancelled`.
    """
    note: str = ""
    choice: str | None = None
    confirmed: bool | None = None
    """The answer to the kind `confirm`: true for yes (`done`), false for no (`cannot`); null for every other."""
    values: dict[str, str] = Field(default_factory=dict)
    """The field values, by name, without secrets."""
    dropped: list[str] = Field(default_factory=list)
    """The secret fields that a person has filled in, by name."""
    closed_by: str | None = None
    answered_in: AnsweredIn | None = None
    """Where the answer was given: on `/view`; in the client of the requesting agent, by its user; or in a chat, by a user whom the
    settings name.
    """
    closed_at: float | None = None
    receipt: Receipt | None = None
    """What the person changed who answered it."""
    deliveries: list[Delivery] = Field(default_factory=list)
    """Every attempt to notify people."""
    approval: Approval | None = None
    """What it is about, of the kind `approve`; null of every other."""
    private: str | None = None
    """The person in whose private time the browser caused it, and to whom alone it is shown; null for everybody."""
