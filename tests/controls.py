"""Control, as tests need it: free for everybody, or a lease of its own in a file."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox_server.core import Caller
from sandbox_server.core.control import Reach
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.control.lease_keeper import Clock, LeaseKeeper, Policy, RevocationHook
from sandbox_server.features.control.lease_listeners import LeaseListeners
from sandbox_server.features.control.lease_state_machine import LeaseTimes


class FreeControl:
    """Everybody's input counts, and is noted."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, str, int]] = []
        self.lines: list[tuple[str, str, str]] = []

    def drives(self, caller: Caller, reach: Reach) -> bool:
        return True

    async def drive(self, caller: Caller, reach: Reach) -> bool:
        return True

    def sees(self, caller: Caller) -> bool:
        return True

    async def changed(self) -> None:
        await asyncio.get_running_loop().create_future()  # nobody ever loses it

    def note(self, caller: Caller, what: str, count: int) -> None:
        self.noted.append((caller.name, what, count))

    def entered(self, caller: Caller, session: str, line: str) -> None:
        self.lines.append((caller.name, session, line))

    @contextmanager
    def watching(self, caller: Caller) -> Iterator[None]:
        yield


def driving(
    folder: Path,
    *hooks: RevocationHook,
    policy: Policy = "implicit",
    times: LeaseTimes | None = None,
    clock: Clock = time.monotonic,
    listeners: LeaseListeners | None = None,
) -> LeaseKeeper:
    """A lease of its own."""
    file = JsonFile(str(folder / "control.json"))
    return LeaseKeeper(file, times or LeaseTimes(), policy, hooks, clock, listeners)
