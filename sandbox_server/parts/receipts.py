"""What the flight recorder learns from the rest once that is there: where the browser goes, what people changed, what the screen shows."""

from typing import TYPE_CHECKING, Any

from sandbox_server.drivers.recorder.recording_segments import RecordingSegments
from sandbox_server.drivers.recorder.screen_recorder import ScreenRecorder
from sandbox_server.drivers.recorder.thumbnails import Thumbnails
from sandbox_server.drivers.x11.changes import ScreenChanges
from sandbox_server.features.recorder.export import RecordExport
from sandbox_server.features.recorder.fields import FieldWatch
from sandbox_server.features.recorder.navigation import NavigationEntries
from sandbox_server.features.recorder.receipts import Receipts
from sandbox_server.features.recorder.snapshot import ComputerSnapshots
from sandbox_server.features.recorder.thumbnails import RecordedPictures
from sandbox_server.features.recorder.video import RecordedScreen
from sandbox_server.parts.recorder import redaction_for
from sandbox_server.parts.shared import Part, Shared

if TYPE_CHECKING:
    from PIL import Image

ACTING = frozenset({"input", "navigation", "control", "handoff"})
"""Kinds of entries that tell of somebody who acts on what is to be seen."""


def part(shared: Shared) -> Part:
    """Where the browser goes, receipts and films: where there is a desktop, and a browser on it."""
    settings, journal, driving, redaction = shared.settings, shared.journal, shared.control.driving, redaction_for(shared.settings)
    desktop, downloads = shared.desktop, shared.downloads
    if "browser" in settings.components.left_out or desktop is None or downloads is None:
        return Part(())
    navigation = NavigationEntries(journal, shared.owner, lambda: driving.holding, redaction)
    thumbnails = Thumbnails(f"{settings.paths.recorder}/pictures")
    places = sorted({settings.agent.home, settings.agent.workspace})
    fields = FieldWatch(shared.owner.socket)
    snapshots = ComputerSnapshots(
        desktop, lambda: navigation.tabs, shared.processes, places, downloads, thumbnails, fields, lambda: journal.private()
    )
    receipts = Receipts(journal, snapshots, redaction, driving.take_receipt)
    shared.receipts = receipts.of
    video = films(shared, thumbnails) if settings.recorder.video and settings.recorder.on else Part(())
    return Part((RecordedPictures(thumbnails), *video.features), (navigation, receipts, *video.opened))


def films(shared: Shared, thumbnails: Thumbnails) -> Part:
    """What the screen shows while somebody acts on it."""
    settings, journal, desktop = shared.settings.recorder, shared.journal, shared.desktop
    assert desktop
    screen, display = desktop.screen, shared.settings.display.name
    segments = RecordingSegments(f"{shared.settings.paths.recorder}/video", settings.video_bytes, settings.video_seconds)

    async def picture() -> "Image.Image":
        return (await screen.grab())[0]

    recorder = ScreenRecorder(picture, lambda: ScreenChanges(display), segments, lambda: journal.private())

    def hear(entry: dict[str, Any]) -> None:
        if entry["kind"] in ACTING and entry.get("event") not in ("state", "came", "left"):
            recorder.wake()

    journal.listen(hear)
    export = RecordExport(journal, segments, thumbnails, shared.settings.paths.spool)
    return Part((RecordedScreen(segments, recorder, journal), export), (recorder,))
