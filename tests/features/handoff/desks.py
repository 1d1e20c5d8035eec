"""A desk of a test's own."""

from pathlib import Path

from sandbox_server.features.handoff.desk import Desk, Receipted
from sandbox_server.features.handoff.store import HandoffStore


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def desk(folder: Path, clock: Clock | None = None, receipted: Receipted | None = None) -> tuple[HandoffStore, Desk]:
    """What has to be opened, in this order."""
    store = HandoffStore(str(folder / "handoffs.db"))
    return store, Desk(store, clock or Clock(), receipted=receipted)
