"""What the service asks of an engine. Every call may be repeated: one that was cut short is made again."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from tandem_fleet.sandboxes import Spec


class Phase(StrEnum):
    """What the engine says of a sandbox."""

    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Order:
    """What an engine is to make. It is in the engine's labels, too: a store that was lost is filled again from them."""

    id: str
    name: str
    tenant: str
    spec: Spec
    keys: str
    """The JWKS whose tokens the sandbox accepts, as JSON."""
    issuer: str
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the fleet sets, unless the creator sets them."""


@dataclass(frozen=True)
class Found:
    """A sandbox that exists in the engine."""

    id: str
    name: str
    tenant: str
    spec: Spec
    phase: Phase
    created_at: datetime
    address: str = ""
    reason: str = ""
    """Why it stopped, as far as the engine knows."""


@dataclass(frozen=True)
class Finding:
    """One of the things that `doctor` looks at."""

    name: str
    holds: bool
    detail: str
    hint: str = ""


class Backend(Protocol):
    """An engine. Raises `EngineError` where it refuses or does not answer, with what it said."""

    async def create(self, order: Order) -> None:
        """Make it, without starting it. One that exists already is left as it is."""

    async def start(self, sandbox: str) -> None:
        """Start it, or let it go on where it is paused. One that runs is left as it is."""

    async def stop(self, sandbox: str) -> None:
        """End its programs in order, and keep its files. One that does not run is left as it is."""

    async def pause(self, sandbox: str) -> None:
        """Halt its programs and keep them in memory."""

    async def delete(self, sandbox: str) -> None:
        """Remove it with its files. One that does not exist is no error."""

    async def list_all(self) -> list[Found]:
        """All sandboxes of this fleet that exist in the engine."""

    async def find(self, sandbox: str) -> Found | None:
        """One of them."""

    def watch(self) -> AsyncIterator[str]:
        """The id of a sandbox each time something became of it, until the connection to the engine ends."""

    def logs(self, sandbox: str, *, lines: int, follow: bool) -> AsyncIterator[bytes]:
        """What its programs wrote on the container's output, from the last `lines` on."""

    async def examine(self) -> list[Finding]:
        """Whether the engine can do what sandboxes need."""

    async def close(self) -> None:
        """Let go of the engine."""
