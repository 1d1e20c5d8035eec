"""A receipt: what a person changed while holding control, for the agent that goes on after."""

from typing import Literal

from pydantic import Field

from sandbox_server.core.results import Model

HOLDING = "holding"
"""How a receipt ended that is not over: the person still has control."""


class TabChange(Model):
    was: str | None
    """The address before; null for a tab that was opened."""
    now: str | None
    """The address after; null for a tab that was closed."""


class Receipt(Model):
    id: str
    person: str
    began_at: float
    """Seconds since the epoch."""
    ended_at: float
    """Seconds since the epoch."""
    ended: str
    """How: `released`, `given`, `returned:idle` ...; `holding` for one that is not over."""
    note: str = ""
    """What the person says."""
    tabs: list[TabChange] = Field(default_factory=list)
    """Tabs that were opened, closed or lead elsewhere; addresses without what may let somebody in."""
    windows_opened: list[str] = Field(default_factory=list)
    """Titles."""
    windows_closed: list[str] = Field(default_factory=list)
    """Titles."""
    fields: list[str] = Field(default_factory=list)
    """Fields of forms that were changed, by name; never what is in them, and no passwords or codes."""
    files: list[str] = Field(default_factory=list)
    """Files of the agent's home and workspace that were changed meanwhile."""
    commands: list[str] = Field(default_factory=list)
    """Lines that were entered in shells."""
    downloads: list[str] = Field(default_factory=list)
    """Files that the browser saved."""
    inputs: dict[str, int] = Field(default_factory=dict)
    """How many keys, clicks and the like."""
    unseen: list[Literal["tabs", "windows", "files"]] = Field(default_factory=list)
    """What could not be looked at in time, and of which nothing is told: it may have changed all the same."""
    private: bool = False
    """Whether some of it was private, and is not told."""
    before: str | None = None
    """Where a small picture of the screen is (JPEG), as it was before; null where there is none."""
    after: str | None = None
    """The same, as it was after."""
    omitted: int = 0
    """Entries that were left out, for a receipt is short."""
