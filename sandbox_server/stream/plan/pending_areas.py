"""Areas of the screen that are still to be looked at, in a bounded list."""

from dataclasses import dataclass, field

from sandbox_server.stream.geometry import Area, bounding_box

MAX_AREAS = 32
"""More areas than this are replaced by their bounding box."""


@dataclass(slots=True)
class PendingAreas:
    """At most MAX_AREAS areas, each once."""

    areas: list[Area] = field(default_factory=list)

    def add(self, areas: list[Area]) -> None:
        """Add some."""
        self.areas += [area for area in areas if area not in self.areas]
        if len(self.areas) > MAX_AREAS:
            self.areas = [bounding_box(self.areas)]

    def take_all(self) -> list[Area]:
        """Remove all of them, and return them."""
        taken, self.areas = self.areas, []
        return taken
