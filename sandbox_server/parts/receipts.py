"""What the flight recorder learns from the rest once that is there: where the browser goes, and what a person changed."""

from sandbox_server.drivers.recorder.thumbnails import Thumbnails
from sandbox_server.features.recorder.eyes import ComputerEyes
from sandbox_server.features.recorder.fields import FieldWatch
from sandbox_server.features.recorder.navigation import NavigationEntries
from sandbox_server.features.recorder.pictures import RecordedPictures
from sandbox_server.features.recorder.receipts import Receipts
from sandbox_server.parts.recorder import redaction_for
from sandbox_server.parts.shared import Part, Shared


def part(shared: Shared) -> Part:
    """Where the browser goes, and receipts: where there is a desktop, and a browser on it."""
    settings, journal, driving, redaction = shared.settings, shared.journal, shared.control.driving, redaction_for(shared.settings)
    desktop, downloads = shared.desktop, shared.downloads
    if "browser" in settings.components.left_out or desktop is None or downloads is None:
        return Part(())
    navigation = NavigationEntries(journal, shared.owner, lambda: driving.holding, redaction)
    thumbnails = Thumbnails(f"{settings.paths.recorder}/pictures")
    places = sorted({settings.agent.home, settings.agent.workspace})
    fields = FieldWatch(shared.owner.socket)
    eyes = ComputerEyes(
        desktop, lambda: navigation.tabs, shared.processes, places, downloads, thumbnails, fields, lambda: journal.private()
    )
    receipts = Receipts(journal, eyes, redaction, driving.take_receipt)
    shared.receipts = receipts.of
    return Part((RecordedPictures(thumbnails),), (navigation, receipts))
