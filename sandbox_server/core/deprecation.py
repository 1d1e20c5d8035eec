"""Deprecated operations: the `Deprecation` (RFC 9745) and `Sunset` (RFC 8594) headers, and a note in the API document."""

from calendar import timegm
from dataclasses import dataclass
from datetime import date
from email.utils import formatdate


@dataclass(frozen=True, slots=True)
class Deprecation:
    """The date of a deprecation, the date of the removal, and the replacement."""

    since: date
    sunset: date | None = None
    """The first day on which the operation may be removed; None if undecided."""
    replacement: str = ""
    """Verb and path of the operation to call instead, such as `POST /v1/bash/exec`."""

    def __post_init__(self) -> None:
        if self.sunset is not None and self.sunset <= self.since:
            raise ValueError(f"the sunset {self.sunset} must be after the deprecation {self.since}")
        verb, _, path = self.replacement.partition(" ")
        if self.replacement and not (verb.isupper() and path.startswith("/")):
            raise ValueError(f"the replacement must be a verb and a path: {self.replacement!r}")

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every answer of the operation."""
        found = {"Deprecation": f"@{_seconds(self.since)}"}
        if self.sunset is not None:
            found["Sunset"] = formatdate(_seconds(self.sunset), usegmt=True)
        path = self.replacement.partition(" ")[2]
        if path and "{" not in path:
            found["Link"] = f'<{path}>; rel="successor-version"'
        return found

    @property
    def sentence(self) -> str:
        """The same as a sentence, for people and agents, who do not see headers."""
        gone = f"It may be gone from {self.sunset} on. " if self.sunset else ""
        instead = f"Use `{self.replacement}` instead." if self.replacement else ""
        return f"Deprecated since {self.since}. {gone}{instead}".strip()


def _seconds(day: date) -> int:
    """Return the start of a day in UTC, in seconds since the epoch."""
    return timegm(day.timetuple())
