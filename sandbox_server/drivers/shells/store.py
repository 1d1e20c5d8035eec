"""Which shell sessions there are, kept where only the control user reads: a server that starts again finds them."""

import dataclasses
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sandbox_server.drivers.shells.shells import ShellKey


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One session: how to take over its shell, and what it was created with."""

    id: str
    key: ShellKey | None
    directory: str
    implicit: bool
    personal: bool
    no_change_timeout: float
    created_at: str
    """ISO 8601."""


@dataclass(frozen=True, slots=True)
class StoredSessions:
    """All sessions, and the ids of those that are gone, the latest last."""

    sessions: list[StoredSession] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)


class ShellStore:
    """A JSON file, replaced whole on every change."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def read(self) -> StoredSessions:
        """What was written last; nothing where there is no file, or none that can be read."""
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            return StoredSessions([_stored(entry) for entry in content["sessions"]], content["gone"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return StoredSessions()

    def write(self, sessions: Iterable[StoredSession], gone: Iterable[str]) -> None:
        """Replace everything."""
        draft = self._path.with_suffix(".new")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump({"sessions": [dataclasses.asdict(session) for session in sessions], "gone": list(gone)}, file)
        draft.replace(self._path)


def _stored(entry: dict[str, object]) -> StoredSession:
    key = entry.pop("key")
    return StoredSession(key=ShellKey(**key) if isinstance(key, dict) else None, **entry)  # type: ignore[arg-type]
