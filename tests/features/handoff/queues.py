"""A queue of a test's own."""

from pathlib import Path

from sandbox_server.features.handoff.queue import HandoffQueue, Receipted
from sandbox_server.features.handoff.store import HandoffStore


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def queue(folder: Path, clock: Clock | None = None, receipted: Receipted | None = None) -> tuple[HandoffStore, HandoffQueue]:
    """What has to be opened, in this order."""
    store = HandoffStore(str(folder / "handoffs.db"))
    return store, HandoffQueue(store, clock or Clock(), receipted=receipted)
