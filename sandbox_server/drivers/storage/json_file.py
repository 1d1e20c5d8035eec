"""A JSON value in a file, which survives a restart of the process."""

import json
from pathlib import Path
from typing import Any

from sandbox_server.drivers.storage import atomic_write


class JsonFile:
    """A file that is replaced atomically on every change, readable only by the user control."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def read(self) -> Any:
        """Return the last value; None if there is none. Raises OSError and ValueError."""
        try:
            return json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def write(self, value: object) -> None:
        """Replace the value atomically."""
        atomic_write.replace(self._path, json.dumps(value))
