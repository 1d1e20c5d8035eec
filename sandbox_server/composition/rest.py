"""Everything that answers no first call. Its imports take longer than the rest of the start."""

from dataclasses import dataclass

from sandbox_server.composition.agent_tools import build_agent_tools
from sandbox_server.composition.browser import build_browser
from sandbox_server.composition.code import build_code
from sandbox_server.composition.desktop import build_desktop
from sandbox_server.composition.diagnosis import build_diagnosis
from sandbox_server.composition.first import First
from sandbox_server.composition.handoff_notices import build_handoffs
from sandbox_server.composition.part import ProductPart
from sandbox_server.composition.proxy import build_proxy
from sandbox_server.composition.screen_record import build_screen_record
from sandbox_server.core.custom_tools import load_features
from sandbox_server.core.dispatch import Guard
from sandbox_server.features.handoff.queue import Receipted


@dataclass(frozen=True, slots=True)
class Rest:
    """The parts that join the first ones."""

    parts: tuple[ProductPart, ...]
    """In the order in which they are opened."""
    browser_hints: Guard
    receipted: Receipted | None


def build_rest(first: First) -> Rest:
    """Make it, with what the image's author has added."""
    machine, control, activity = first.machine, first.control, first.work.activity
    proxy = build_proxy(machine)
    screen = build_desktop(machine, control, activity)
    browser = build_browser(machine, control, screen, activity)
    record = build_screen_record(machine, control, first.recorder, screen.desktop, browser.downloads)
    parts = (
        proxy.part,
        build_code(machine, activity),
        build_agent_tools(machine, proxy.proxy.way),
        screen.part,
        browser.part,
        build_diagnosis(machine, screen.desktop),
        record.part,
        build_handoffs(machine.settings, first.handoffs, control.keeper, machine.owner.drop),
        ProductPart(tuple(load_features(machine.settings.paths.custom_tools))),
    )
    return Rest(parts, browser.browser_hints, record.receipted)
