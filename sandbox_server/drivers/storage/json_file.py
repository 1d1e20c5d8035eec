"""State that outlives a process: one JSON value in a file."""

import json
from pathlib import Path
from typing import Any

from sandbox_server.drivers.storage import atomic_write


class JsonFile:
    """A file that is replaced whole on every change, readable by the control user alone."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def read(self) -> Any:
        """What was written last; None where nothing was ever written. Raises OSError and ValueError."""
        try:
            return json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def write(self, value: object) -> None:
        """Replace it in one step."""
        atomic_write.replace(self._path, json.dumps(value))
