"""Diagnosis: the checks of the doctor, and the resource usage over time."""

from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.drivers.stats.gvisor import is_gvisor
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.features import gvisor_checks
from sandbox_server.features.box.checks import BoxChecks
from sandbox_server.features.doctor import Doctor
from sandbox_server.features.egress_checks import EgressChecks
from sandbox_server.features.observe.observe import Observe


def build_diagnosis(machine: MachineParts, desktop: Desktop) -> ProductPart:
    """Make the checks, including those of the desktop, and the observation of resource usage."""
    settings = machine.settings
    egress = EgressChecks(machine.box, machine.processes, settings.paths.egress_policy, enabled=settings.egress.enabled)
    probes = BoxChecks(machine.box, quota=settings.box.checkpoint_quota).probes()
    gvisor = is_gvisor()
    more = [*egress.probes(), *probes, *(gvisor_checks.probes(settings) if gvisor else ())]
    irremediable = gvisor_checks.DIFFERENCES if gvisor else {}
    doctor = Doctor(machine.processes, settings, desktop, machine.liveness, more, irremediable=irremediable)
    observe = Observe(f"{settings.paths.run}/observe", ("/", settings.box.directory, settings.agent.workspace))
    return ProductPart((doctor, observe), (observe,))
