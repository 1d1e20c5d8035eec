"""The control lease: its keeper, the guards that enforce it, and its operations."""

from dataclasses import dataclass

from sandbox_server.composition.part import ProductPart
from sandbox_server.composition.recorder import FlightRecorder
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.control.calls_in_flight import CallsInFlight
from sandbox_server.features.control.control import ControlLease
from sandbox_server.features.control.control_guard import EPOCH_HEADER, ControlGuard
from sandbox_server.features.control.input_streams import InputStreams
from sandbox_server.features.control.lease_keeper import LeaseKeeper
from sandbox_server.features.control.lease_listeners import LeaseListeners
from sandbox_server.features.control.lease_state_machine import LeaseTimes
from sandbox_server.features.control.paused_agent import AgentPause, AgentPrograms
from sandbox_server.features.control.revocation_hooks import BrowserControl, TellBrowser
from sandbox_server.features.control.visibility_guard import VisibilityGuard
from sandbox_server.features.recorder.recorded_events import LeaseEntries
from sandbox_server.settings.control import ControlSettings as ControlSettings


@dataclass(frozen=True, slots=True)
class ControlParts:
    """The lease, and what enforces it."""

    keeper: LeaseKeeper
    calls: CallsInFlight
    lease: ControlLease
    guard: ControlGuard
    visibility: VisibilityGuard
    part: ProductPart

    @property
    def private(self) -> bool:
        """Whether a person is in private mode. Then nothing of the screen and the pages may be recorded."""
        return self.keeper.holding.private is not None

    def stamp(self) -> dict[str, str]:
        """Return the header with the epoch, which callers quote in requests that must not come late."""
        return {EPOCH_HEADER: str(self.keeper.holding.epoch)}


def build_control(
    file: JsonFile, settings: ControlSettings, owner: BrowserControl | None, recorder: FlightRecorder, programs: AgentPrograms
) -> ControlParts:
    """Make the lease, stored in `file`. `owner` is None if there is no browser. `programs` are what a pause stops."""
    calls = CallsInFlight()
    browser = [TellBrowser(owner)] if owner else []
    pause = AgentPause(programs)
    keeper = LeaseKeeper(
        file,
        LeaseTimes(settings.idle, settings.countdown, settings.cap, settings.lost, settings.request),
        settings.take,
        [calls.interrupt, *browser],
        listeners=LeaseListeners((owner.close_fresh,) if owner else (), recorder.inputs.note, recorder.lines.entered),
        pause=pause,
    )
    entries = LeaseEntries(recorder.journal, keeper, recorder.inputs, recorder.redaction)
    lease = ControlLease(keeper, owner, pause)
    part = ProductPart((lease, InputStreams(keeper)), (entries, *browser, keeper))
    return ControlParts(keeper, calls, lease, ControlGuard(keeper, calls), VisibilityGuard(keeper, calls), part)
