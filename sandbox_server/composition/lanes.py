"""The browser's lanes."""

from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.features.lanes import Lanes


def build_lanes(machine: MachineParts) -> ProductPart:
    """Make their operations; there are none without a browser."""
    return ProductPart((Lanes(machine.owner),) if machine.has_browser else ())
