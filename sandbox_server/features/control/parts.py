"""The parts of control, put together: one lease, what keeps to it, and how it is reached."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from sandbox_server.core.dispatch import Guard
from sandbox_server.core.operation import Feature
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.control.calls_in_flight import CallsInFlight
from sandbox_server.features.control.control import ControlLease
from sandbox_server.features.control.guard import EPOCH_HEADER, ControlGuard
from sandbox_server.features.control.input_streams import InputStreams
from sandbox_server.features.control.lease import LeaseTimes
from sandbox_server.features.control.lease_keeper import LeaseKeeper
from sandbox_server.features.control.revocation_hooks import BrowserControl, TellBrowser
from sandbox_server.features.control.visibility_guard import VisibilityGuard
from sandbox_server.settings.control import Control


@dataclass(frozen=True, slots=True)
class ControlParts:
    """What the application takes of it."""

    driving: LeaseKeeper
    guards: tuple[Guard, ...]
    features: tuple[Feature, ...]
    opened: tuple[AbstractAsyncContextManager[Any], ...]

    def stamp(self) -> dict[str, str]:
        """The headers that tell every caller the epoch, to be quoted in what must not come late."""
        return {EPOCH_HEADER: str(self.driving.holding.epoch)}


def control_of(file: JsonFile, settings: Control, owner: BrowserControl | None) -> ControlParts:
    """Build them; `file` keeps the lease, `owner` is None where there is no browser."""
    calls = CallsInFlight()
    browser = [TellBrowser(owner)] if owner else []
    times = LeaseTimes(settings.idle, settings.countdown, settings.cap, settings.lost, settings.request)
    driving = LeaseKeeper(file, times, settings.take, [calls.interrupt, *browser])
    if owner:
        driving.before_shown.append(owner.close_fresh)
    guards = (ControlGuard(driving, calls), VisibilityGuard(driving, calls))
    return ControlParts(driving, guards, (ControlLease(driving, owner), InputStreams(driving)), (*browser, driving))
