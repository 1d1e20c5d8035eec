"""What a session was created with, and the pool whose places it takes."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from sandbox_server.core import Model


class ShellId(Model):
    id: str
    """Session to act on."""


type SessionPool = Literal["programs", "terminals", "people"]
"""Places for sessions that commands and calls make, for terminals that programs open, and for terminals that people open."""


@dataclass(slots=True)
class ShellProfile:
    """What a session was created with."""

    id: str
    implicit: bool = False
    """Whether a command that named no session made it."""
    personal: bool = False
    """Whether a terminal that was opened made it."""
    by_person: bool = False
    """Whether a person opened that terminal."""
    owner: str = ""
    """That person's name."""
    used: bool = False
    """Whether anything was ever run or typed in it."""
    no_change_timeout: float = 120.0
    """Seconds; 0 is off."""
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def pool(self) -> SessionPool:
        """Whose places it takes."""
        if self.by_person:
            return "people"
        return "terminals" if self.personal else "programs"
