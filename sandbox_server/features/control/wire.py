"""What goes in and out of the control operations."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from sandbox_server.core import Model
from sandbox_server.core.control import ALL_REACHES, Reach, State
from sandbox_server.core.receipt import Receipt

type Name = Annotated[str, Field(min_length=1, max_length=200)]


def _listed(value: object) -> object:
    """`all`, one word or a list of words, as a list."""
    words = [value] if isinstance(value, str) else value
    return sorted(ALL_REACHES) if isinstance(words, list) and "all" in words else words


type Scopes = Annotated[list[Reach], BeforeValidator(_listed, json_schema_input_type=list[Reach | Literal["all"]] | Reach | Literal["all"])]


class WantControl(Model):
    scope: Scopes = Field(default_factory=lambda: sorted(ALL_REACHES), min_length=1)
    """What it is for: `gui` mouse and keyboard, `cdp` the browser's pages, `shell` whatever runs programs, or `all`."""


class GiveControl(WantControl):
    to: Name
    """`agent`, `shared` for everybody at once, or the name of a person."""


class ReleaseControl(Model):
    note: Annotated[str, Field(max_length=1000)] = ""
    """What you want to tell the agent."""


class Subject(Model):
    subject: Name
    """Who asked."""


class ControlRequested(Model):
    subject: str
    person: bool
    scope: list[Reach]
    ends_in: float
    """Seconds until the request is granted, where it is the agent that is asked, or dropped."""


type Role = Literal["agent", "view", "control", "admin"]


class Viewer(Model):
    name: str
    role: Role
    """What this person may do at most."""
    you: bool


class You(Model):
    name: str
    person: bool
    role: Role
    driving: bool
    """Whether your mouse and keyboard count now."""
    sees: bool
    """Whether you may see the screen and the pages now."""


class Returning(Model):
    seconds: float
    """Until the agent has control again, if nothing happens."""
    reason: Literal["idle", "cap", "lost"]
    """No input, held for the longest time, or no page of the holder's is open."""
    soon: bool
    """Whether the holder is to be told now."""


class ControlState(Model):
    state: State
    """`agent`: programs act. `human`: one person does. `shared`: everybody. `frozen`: nobody."""
    holder: str | None
    """The person who has control; null for none."""
    epoch: int
    """Grows whenever somebody else may act. Quote it, as `X-Control-Epoch` or `?epoch=`, in an action that must not come late."""
    scope: list[Reach]
    """What the holder has; programs go on with the rest."""
    private: str | None
    """The person who alone sees the screen and the pages; everybody else, programs above all, is refused with 423. Null: nobody does."""
    held_for: float
    """Seconds since the last change."""
    returning: Returning | None
    """When control returns by itself; null where it does not."""
    requests: list[ControlRequested]
    """Who waits for control."""
    viewers: list[Viewer]
    """The people who have a page open."""
    take: Literal["implicit", "click", "ask"]
    """How a person takes control here."""
    receipt: Receipt | None = None
    """What the last person who had control changed; null while one has it, and for a moment after."""
    you: You


class ControlChange(Model):
    kind: str
    """What happened, such as `taken`, `released`, `given`, `returned:idle`, `frozen`, `came`, `private:button`,
    `private:focus`, `private:handoff`, `public`, `receipt` ...; `state` for how it is at first."""
    by: str
    """Who did it; empty where nobody did."""
    control: ControlState
