"""The clients of one browser, and what is said to whom."""

from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox_server.cdp.client_overrides import ClientOverrides
from sandbox_server.cdp.held_input import HeldInput
from sandbox_server.cdp.messages import Object
from sandbox_server.cdp.private_mode import CollectedEvents
from sandbox_server.core.identity import Caller


@dataclass(eq=False)
class DevtoolsClient:
    """One client: who it is, and the sessions that are its own."""

    caller: Caller
    base: str
    pending: int = 0
    sessions: dict[str, str | None] = field(default_factory=dict)
    """Each session with the one above it; the base has none."""
    pressed: HeldInput = field(default_factory=HeldInput)
    collected: CollectedEvents = field(default_factory=CollectedEvents)
    overrides: ClientOverrides = field(default_factory=ClientOverrides)
    hidden: bool = False
    """Whether it may not see pages, as far as the browser has been told."""
    suspended: bool = False
    """Whether what it put in force is taken off, as a person has the pages."""

    def below(self, session: str) -> list[str]:
        """The session and all that were attached through it: they end with it, and Chromium does not name each."""
        found = [session]
        for above in found:
            found += [child for child, parent in self.sessions.items() if parent == above]
        return found


class ToBrowser(NamedTuple):
    message: bytes


class ClientMessage(NamedTuple):
    peer: DevtoolsClient
    message: bytes


class ClientMessages(NamedTuple):
    """Several messages for one client, in their order."""

    peer: DevtoolsClient
    messages: list[bytes]


class OwnReply(NamedTuple):
    """The reply to a command of ours."""

    id: int
    body: Object


class BrowserEvent(NamedTuple):
    """An event that is for us."""

    method: str
    params: Object


class ClientEnded(NamedTuple):
    """The client's base ended, for a reason. What the client waits for is for `lost` to answer."""

    peer: DevtoolsClient
    reason: str = "the page was closed"
