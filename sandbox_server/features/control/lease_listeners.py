"""What the lease keeper calls beside the hooks that follow every change."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sandbox_server.core import Caller

type Closing = Callable[[], Awaitable[None]]
type Noted = Callable[[Caller, str, int], None]
type Lines = Callable[[Caller, str, str], None]


@dataclass(frozen=True, slots=True)
class LeaseListeners:
    """Whoever is called, none by default."""

    before_shown: tuple[Closing, ...] = ()
    """Close what nobody else may see of a person who was private."""
    noted: Noted = lambda caller, what, count: None
    """Is called with how many keys, clicks and the like a caller put in."""
    lines: Lines = lambda caller, session, line: None
    """Is called with a line that a caller entered in a shell session."""
