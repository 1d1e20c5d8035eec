"""Which shell sessions there are, kept where only the control user reads: a server that starts again finds them."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field

from sandbox_server.drivers.shells.shells import ShellKey
from sandbox_server.drivers.storage.json_file import JsonFile


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
    by_person: bool = False
    owner: str = ""
    used: bool = True
    input_at: str = ""
    """When something was last run or typed in it, ISO 8601; empty where nothing was."""
    input_by_person: bool = False
    variables: str = ""
    """What its next shell exports, as bash declares it, where that is not open yet."""
    screen: str = ""
    """What its next shell shows first."""


@dataclass(frozen=True, slots=True)
class StoredSessions:
    """All sessions, and the ids of those that are gone, the latest last."""

    sessions: list[StoredSession] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)


class ShellStore:
    """The sessions, in a file."""

    def __init__(self, path: str) -> None:
        self._file = JsonFile(path)

    def read(self) -> StoredSessions:
        """What was written last; nothing where there is no file, or none that can be read."""
        try:
            content = self._file.read()
            return StoredSessions([_stored(entry) for entry in content["sessions"]], content["gone"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return StoredSessions()

    def write(self, sessions: Iterable[StoredSession], gone: Iterable[str]) -> None:
        """Replace everything."""
        self._file.write(encode(StoredSessions(list(sessions), list(gone))))


def encode(stored: StoredSessions) -> dict[str, object]:
    """Return what the file holds."""
    return {"sessions": [dataclasses.asdict(session) for session in stored.sessions], "gone": stored.gone}


def _stored(entry: dict[str, object]) -> StoredSession:
    key = entry.pop("key")
    return StoredSession(key=ShellKey(**key) if isinstance(key, dict) else None, **entry)  # type: ignore[arg-type]
