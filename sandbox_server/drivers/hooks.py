"""Where shutdown hooks are kept between the server that registers them and the process that runs them."""

import dataclasses
import json
import os
from collections.abc import Iterable
from pathlib import Path

from sandbox_server.settings import ShutdownHook


class HookStore:
    """A JSON file, replaced whole on every change, readable by the control user alone."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def read(self) -> list[ShutdownHook]:
        """The registered hooks; none where nothing was registered yet."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [ShutdownHook(**hook) for hook in json.loads(text)]

    def write(self, hooks: Iterable[ShutdownHook]) -> None:
        """Replace all of them."""
        temporary = self._path.with_suffix(".new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump([dataclasses.asdict(hook) for hook in hooks], file)
        temporary.replace(self._path)
