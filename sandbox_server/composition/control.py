"""The control lease: its keeper, the guards that hold calls to it, and how people reach it."""

from dataclasses import dataclass

from sandbox_server.composition.part import Part
from sandbox_server.composition.recorder import FlightRecorder
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.control.calls_in_flight import Acts
from sandbox_server.features.control.feature import ControlLease
from sandbox_server.features.control.guard import EPOCH_HEADER, ControlGuard
from sandbox_server.features.control.input_streams import Hands
from sandbox_server.features.control.lease import Times
from sandbox_server.features.control.lease_keeper import Driving
from sandbox_server.features.control.lease_listeners import LeaseListeners
from sandbox_server.features.control.revocation_hooks import BrowserFence, Owner
from sandbox_server.features.control.visibility_guard import Sight
from sandbox_server.features.recorder.entries import LeaseEntries
from sandbox_server.settings.control import Control as ControlSettings


@dataclass(frozen=True, slots=True)
class Control:
    """The lease, and what keeps to it."""

    keeper: Driving
    guard: ControlGuard
    visibility: Sight
    part: Part

    @property
    def private(self) -> bool:
        """Whether a person is in private mode: nothing of the screen and the pages may be kept then."""
        return self.keeper.holding.private is not None

    def stamp(self) -> dict[str, str]:
        """The headers that tell every caller the epoch, to be quoted in what must not come late."""
        return {EPOCH_HEADER: str(self.keeper.holding.epoch)}


def build_control(file: JsonFile, settings: ControlSettings, owner: Owner | None, recorder: FlightRecorder) -> Control:
    """Make the lease. `file` keeps it; `owner` is None where there is no browser."""
    acts = Acts()
    browser = [BrowserFence(owner)] if owner else []
    keeper = Driving(
        file,
        Times(settings.idle, settings.countdown, settings.cap, settings.lost, settings.request),
        settings.take,
        [acts.interrupt, *browser],
        listeners=LeaseListeners((owner.close_fresh,) if owner else (), recorder.inputs.note, recorder.lines.entered),
    )
    visibility = Sight(keeper)
    keeper.follow(visibility.end)
    entries = LeaseEntries(recorder.journal, keeper, recorder.inputs, recorder.redaction)
    part = Part((ControlLease(keeper, owner), Hands(keeper)), (entries, *browser, keeper))
    return Control(keeper, ControlGuard(keeper, acts), visibility, part)
