"""A guarantee that may or may not hold on this host, and how to find out."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What one probe saw; `holds` None means that it could not tell."""

    holds: bool | None
    detail: str


@dataclass(frozen=True, slots=True)
class Probe:
    """One guarantee: how to look for it and what to do without it."""

    name: str
    look: Callable[[], Awaitable[Finding]]
    hint: str
