"""A receipt: what a person changed while holding control, for the agent that continues."""

from typing import Literal

from pydantic import Field

from sandbox_server.core.results import Model

HOLDING = "holding"
"""The `ended` of a receipt that is not final: the person still has control."""


class TabChange(Model):
    was: str | None
    """The URL before; null for a tab that was opened."""
    now: str | None
    """The URL after; null for a tab that was closed."""


class Receipt(Model):
    id: str
    person: str
    began_at: float
    """Seconds since the epoch."""
    ended_at: float
    """Seconds since the epoch."""
    ended: str
    """How control ended: `released`, `given`, `returned:idle` ...; `holding` if it has not ended."""
    note: str = ""
    """A note from the person."""
    tabs: list[TabChange] = Field(default_factory=list)
    """Tabs that were opened, closed or navigated. URLs are without parts that may grant access."""
    windows_opened: list[str] = Field(default_factory=list)
    """Titles."""
    windows_closed: list[str] = Field(default_factory=list)
    """Titles."""
    fields: list[str] = Field(default_factory=list)
    """Names of the form fields that were changed. Values, passwords and codes are never included."""
    files: list[str] = Field(default_factory=list)
    """Changed files of the agent's home and workspace."""
    commands: list[str] = Field(default_factory=list)
    """Lines that were entered in shells."""
    downloads: list[str] = Field(default_factory=list)
    """Files that the browser saved."""
    inputs: dict[str, int] = Field(default_factory=dict)
    """The number of keys, clicks and other inputs, by kind."""
    unseen: list[Literal["tabs", "windows", "files"]] = Field(default_factory=list)
    """What could not be compared in time and is missing here. It may have changed."""
    private: bool = False
    """Whether a part was in private mode and is left out."""
    before: str | None = None
    """Path of a small JPEG of the screen before; null if there is none."""
    after: str | None = None
    """Path of a small JPEG of the screen after; null if there is none."""
    omitted: int = 0
    """The number of entries that were left out to keep the receipt short."""
