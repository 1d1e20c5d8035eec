"""Everything that answers no first call. Its imports take longer than the rest of the start."""

from dataclasses import dataclass

from sandbox_server.composition.agent_tools import build_agent_tools, build_ports
from sandbox_server.composition.browser import build_browser
from sandbox_server.composition.code import build_code
from sandbox_server.composition.desktop import build_desktop
from sandbox_server.composition.diagnosis import build_diagnosis
from sandbox_server.composition.egress import build_egress
from sandbox_server.composition.first import First
from sandbox_server.composition.folders import build_folders
from sandbox_server.composition.forks import build_forks
from sandbox_server.composition.handoff_notices import build_handoffs
from sandbox_server.composition.identity import build_identity, placeholders_of
from sandbox_server.composition.lanes import build_lanes
from sandbox_server.composition.part import ProductPart
from sandbox_server.composition.profiles import build_profiles
from sandbox_server.composition.proxy import build_proxy
from sandbox_server.composition.screen_record import build_screen_record
from sandbox_server.composition.secrets import build_secrets
from sandbox_server.composition.snapshots import build_snapshots
from sandbox_server.core.custom_tools import load_features
from sandbox_server.core.dispatch import Guard
from sandbox_server.features.handoff.queue import Receipted
from sandbox_server.features.ports.port_events import PortEvents


@dataclass(frozen=True, slots=True)
class Rest:
    """The parts that join the first ones."""

    parts: tuple[ProductPart, ...]
    """In the order in which they are opened."""
    browser_hints: Guard
    egress_hints: Guard
    receipted: Receipted | None


def build_rest(first: First) -> Rest:
    """Make it, with what the image's author has added."""
    machine, control, activity = first.machine, first.control, first.work.activity
    proxy, ports = build_proxy(machine), build_ports(machine)
    secrets, registry = build_secrets(first)
    identity, bindings = build_identity(machine, first.gateway.credentials, placeholders_of(machine, registry))
    screen = build_desktop(machine, control, first.work)
    browser = build_browser(machine, control, screen, activity, first.approvals)
    record = build_screen_record(machine, control, first.recorder, screen.desktop, browser.downloads)
    egress = build_egress(first)
    profiles = build_profiles(machine, browser.devtools)
    parts = (
        proxy.part,
        egress.part,
        secrets,
        build_code(machine, activity),
        build_agent_tools(machine, ports, proxy.proxy.way),
        screen.part,
        browser.part,
        profiles.part,
        build_lanes(machine),
        build_diagnosis(machine, screen.desktop),
        record.part,
        build_handoffs(
            machine.settings, first.handoffs, control, machine.owner.drop, PortEvents(ports, machine.ports), egress.follow, bindings.follow
        ),
        identity,
        build_snapshots(first),
        build_folders(first),
        build_forks(first, profiles.held),
        ProductPart(tuple(load_features(machine.settings.paths.custom_tools))),
    )
    return Rest(parts, browser.browser_hints, egress.hints, record.receipted)
