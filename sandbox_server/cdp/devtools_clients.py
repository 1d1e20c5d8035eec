"""The clients of one browser, and the messages between the multiplexer, the clients and the browser."""

from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox_server.cdp.client_overrides import ClientOverrides
from sandbox_server.cdp.held_input import HeldInput
from sandbox_server.cdp.messages import Object
from sandbox_server.cdp.private_mode import CollectedEvents
from sandbox_server.core.identity import Caller


@dataclass(eq=False)
class DevtoolsClient:
    """One client: its caller and its sessions."""

    caller: Caller
    base: str
    lane: str | None = None
    """The context of the client's lane, which is all that it sees; None for a client in none."""
    windows: set[int] = field(default_factory=set)
    """The windows of its lane that the client knows."""
    pending: int = 0
    sessions: dict[str, str | None] = field(default_factory=dict)
    """The parent of each session; None for the base session."""
    whole: set[str] = field(default_factory=set)
    """The sessions on the browser itself instead of on one target."""
    pressed: HeldInput = field(default_factory=HeldInput)
    collected: CollectedEvents = field(default_factory=CollectedEvents)
    overrides: ClientOverrides = field(default_factory=ClientOverrides)
    hidden: bool = False
    """Whether the client may not see pages, as last applied to the browser."""
    suspended: bool = False
    """Whether the client's overrides are taken off because a person has the pages."""

    def below(self, session: str) -> list[str]:
        """Return a session and all sessions attached through it.

        They end together, and Chromium reports only the first.
        """
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
    """Several messages for one client, in order."""

    peer: DevtoolsClient
    messages: list[bytes]


class OwnReply(NamedTuple):
    """The reply to a command of the server's own."""

    id: int
    body: Object


class BrowserEvent(NamedTuple):
    """An event for the server itself."""

    method: str
    params: Object


class ClientEnded(NamedTuple):
    """The base session of a client ended, with the reason. `lost` answers the client's open commands."""

    peer: DevtoolsClient
    reason: str = "the page was closed"
