"""What goes in and out of the control operations."""

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from sandbox_server.core import Model
from sandbox_server.core.control import ALL_REACHES, Reach, State
from sandbox_server.core.receipt import Receipt

type Name = Annotated[str, Field(min_length=1, max_length=200)]


def _listed(value: object) -> object:
    """`all`, one word or a list of words, as a list."""
    words = [value] if isinstance(value, str) else value
    return sorted(ALL_REACHES) if isinstance(words, list) and "all" in words else words


def _of_the_web(value: str) -> str:
    """An address that is http or https, and has a host."""
    found = urlsplit(value)
    if found.scheme not in ("http", "https") or not found.hostname or not value.isprintable() or " " in value:
        raise ValueError("this is no address of the web: it begins with http:// or https://")
    return value


type WebAddress = Annotated[str, Field(min_length=1, max_length=8192), AfterValidator(_of_the_web)]
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


class HideScreen(Model):
    fresh: bool = False
    """Open a window of the browser with nothing of the agent's in it: no cookies, storage, workers and scripts. It is there as long as
    you are private, nobody else sees it, and nothing is downloaded in it."""
    url: WebAddress | None = None
    """What that window shows; nothing by default."""

    @model_validator(mode="after")
    def _has_a_window(self) -> Self:
        if self.url is not None and not self.fresh:
            raise ValueError("url is for a fresh window: set fresh, too")
        return self


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


class ControlViewer(Model):
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
    viewers: list[ControlViewer]
    """The people who have a page open."""
    take: Literal["implicit", "click", "ask"]
    """How a person takes control here."""
    receipt: Receipt | None = None
    """What the last person who had control changed; null while one has it, and for a moment after."""
    you: You


class HiddenState(ControlState):
    fresh: bool
    """Whether a window was opened for you, with nothing of the agent's in it."""


class ControlChange(Model):
    kind: str
    """What happened, such as `taken`, `released`, `given`, `returned:idle`, `frozen`, `came`, `private:button`,
    `private:focus`, `private:handoff`, `public`, `receipt` ...; `state` for how it is at first."""
    by: str
    """Who did it; empty where nobody did."""
    control: ControlState
