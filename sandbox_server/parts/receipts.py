"""What the flight recorder learns from the rest once that is there: where the browser goes."""

from sandbox_server.features.recorder.navigation import NavigationEntries
from sandbox_server.parts.recorder import redaction_for
from sandbox_server.parts.shared import Part, Shared


def part(shared: Shared) -> Part:
    """Where the browser goes, where there is one."""
    settings, driving = shared.settings, shared.control.driving
    if "browser" in settings.components.left_out or not settings.recorder.on:
        return Part(())
    return Part((), (NavigationEntries(shared.journal, shared.owner, lambda: driving.holding, redaction_for(settings)),))
