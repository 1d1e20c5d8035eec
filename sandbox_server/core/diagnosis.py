"""Diagnosis: guarantees that may or may not hold on this host, and probes for them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a probe. `holds` is None if it could not tell."""

    holds: bool | None
    detail: str


@dataclass(frozen=True, slots=True)
class Probe:
    """One guarantee: how to check it, and what to do if it does not hold."""

    name: str
    look: Callable[[], Awaitable[Finding]]
    hint: str
