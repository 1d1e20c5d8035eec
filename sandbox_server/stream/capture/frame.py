"""A captured picture of the screen, by its address in memory."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CapturedFrame:
    """A picture in memory: four bytes a pixel (blue, green, red, unused), rows from the top, without gaps between them."""

    address: int
    width: int
    height: int
