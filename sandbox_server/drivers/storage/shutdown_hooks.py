"""Storage of shutdown hooks, for the server that registers them and the process that runs them."""

import dataclasses
from collections.abc import Iterable

from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.settings import ShutdownHook


class ShutdownHookStore:
    """The registered hooks, in a file."""

    def __init__(self, path: str) -> None:
        self._file = JsonFile(path)

    def read(self) -> list[ShutdownHook]:
        """Return the registered hooks; none if the file does not exist."""
        return [ShutdownHook(**hook) for hook in self._file.read() or []]

    def write(self, hooks: Iterable[ShutdownHook]) -> None:
        """Replace all hooks."""
        self._file.write([dataclasses.asdict(hook) for hook in hooks])
