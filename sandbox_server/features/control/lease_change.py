"""A change of the lease, as whoever follows it is told."""

from dataclasses import dataclass

from sandbox_server.core.control import Holding
from sandbox_server.features.control.lease_state_machine import Lease


@dataclass(frozen=True, slots=True)
class LeaseChange:
    """One change of the lease or of who watches."""

    id: str
    kind: str
    by: str
    lease: Lease
    person: bool = False
    """Whether it was a person who did it."""
    note: str = ""
    """What who did it has to say."""

    @property
    def holding(self) -> Holding:
        """Who may act after it."""
        return self.lease.holding
