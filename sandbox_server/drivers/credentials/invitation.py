"""An invitation: what is known of a link that lets a person in, until it is used up."""

from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Invitation:
    """Who made it, for whom."""

    id: str
    maker: str
    """The name of the caller who made it."""
    name: str | None
    """The guest's name; None if guests say it when they come."""
    uses: int
    """How many may come by it, in all."""
    created_at: float
    """Seconds since the epoch."""

    def dumps(self) -> dict[str, Any]:
        """Encode as JSON types."""
        return asdict(self)

    @classmethod
    def loads(cls, value: Any) -> Self | None:
        """Decode the output of `dumps`; None for a ticket that is no invitation."""
        return None if value is None else cls(**value)
