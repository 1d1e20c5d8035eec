"""The flight recorder's view of the screen: browser navigation, receipts of what people changed, and video."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sandbox_server.composition.control import ControlParts
from sandbox_server.composition.desktop import private_mode
from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.composition.recorder import FlightRecorder
from sandbox_server.drivers.devtools.downloads import Downloads
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.recording_segments import RecordingSegments
from sandbox_server.drivers.recorder.screen_recorder import ScreenRecorder
from sandbox_server.drivers.recorder.thumbnails import Thumbnails
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.screen_changes import ScreenChanges
from sandbox_server.features.handoff.queue import Receipted
from sandbox_server.features.recorder.browser_navigation import NavigationEntries
from sandbox_server.features.recorder.export import RecordExport
from sandbox_server.features.recorder.form_fields import FieldWatch
from sandbox_server.features.recorder.receipts import Receipts
from sandbox_server.features.recorder.screen_recordings import RecordedScreen
from sandbox_server.features.recorder.snapshot import ComputerSnapshots
from sandbox_server.features.recorder.thumbnails import RecordedPictures
from sandbox_server.settings import Settings

if TYPE_CHECKING:
    from PIL import Image

ACTING = frozenset({"input", "navigation", "control", "handoff"})
"""Kinds of entries that mean that someone acts on the screen."""


NO_ACTS = frozenset({"state", "came", "left", "connected"})
"""Events of these kinds that are none of anybody's."""
EMPTY = "about:blank"


def is_act(entry: dict[str, Any]) -> bool:
    """Whether an entry of the journal means that someone acts on the screen.

    An empty tab is no act: the browser opens one when it starts. What somebody does to open one has an entry of its own.
    """
    event = entry.get("event")
    return entry["kind"] in ACTING and event not in NO_ACTS and (event, entry.get("now")) != ("opened", EMPTY)


@dataclass(frozen=True, slots=True)
class ScreenRecord:
    """Receipts, if they can be made, and the operations on images and video."""

    receipted: Receipted | None
    part: ProductPart


def build_screen_record(
    machine: MachineParts, control: ControlParts, recorder: FlightRecorder, desktop: Desktop, downloads: Downloads
) -> ScreenRecord:
    """Make them, if there is a browser."""
    if not machine.has_browser:
        return ScreenRecord(None, ProductPart())
    settings, journal, keeper, hidden = machine.settings, recorder.journal, control.keeper, private_mode(control)
    navigation = NavigationEntries(journal, machine.owner, lambda: keeper.holding, recorder.redaction)
    thumbnails = Thumbnails(f"{settings.paths.recorder}/pictures")
    places = sorted({settings.agent.home, settings.agent.workspace})
    fields = FieldWatch(machine.owner.socket)
    snapshots = ComputerSnapshots(desktop, lambda: navigation.tabs, machine.processes, places, downloads, thumbnails, fields, hidden)
    receipts = Receipts(journal, snapshots, recorder.redaction, keeper.take_receipt)
    video = (
        build_video(settings, journal, desktop, control, thumbnails) if settings.recorder.video and settings.recorder.on else ProductPart()
    )
    return ScreenRecord(receipts.of, ProductPart((RecordedPictures(thumbnails), *video.features), (navigation, receipts, *video.opened)))


def build_video(settings: Settings, journal: Journal, desktop: Desktop, control: ControlParts, thumbnails: Thumbnails) -> ProductPart:
    """Make the video of the screen while someone acts on it."""
    screen, display = desktop.screen, settings.display.name
    reel = RecordingSegments(f"{settings.paths.recorder}/video", settings.recorder.video_bytes, settings.recorder.video_seconds)

    async def picture() -> "Image.Image":
        return (await screen.grab())[0]

    camera = ScreenRecorder(picture, lambda: ScreenChanges(display), reel, private_mode(control))

    def hear(entry: dict[str, Any]) -> None:
        if is_act(entry):
            camera.wake()

    journal.listen(hear)
    export = RecordExport(journal, reel, thumbnails, settings.paths.spool)
    return ProductPart((RecordedScreen(reel, camera, journal), export), (camera,))
