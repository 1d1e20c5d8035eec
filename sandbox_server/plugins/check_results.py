"""The result of a check."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Findings:
    """What was added of one kind, and its problems."""

    kind: str
    added: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """One sentence each, with the file or name that it concerns."""
