"""Whose turn it is in an editor: its kernels and terminals are reached past the operations and their guard."""

from collections.abc import Callable, Container

from sandbox_server.core import Caller
from sandbox_server.core.control import Holding
from sandbox_server.features.auth.credentials import Identity
from sandbox_server.features.auth.original import Original
from sandbox_server.features.auth.previews import is_editor

_READS = ("GET", "HEAD", "OPTIONS")


class EditorTurns:
    """Keeps requests to the editors, which listen on `ports`, to who may act now."""

    def __init__(self, holding: Callable[[], Holding], ports: Container[int]) -> None:
        self._holding = holding
        self._ports = ports

    def check(self, identity: Identity, original: Original) -> None:
        """Raise HeldByHuman for whoever would run something while a person has the shells, and for all while it is frozen.

        Who holds the shells passes, and is the same there: a preview's session bears the name of the one that it was opened from.
        """
        holding = self._holding()
        if not self._runs_something(original):
            return
        if not holding.admits(Caller(identity.grant.caller, person=identity.person), "shell"):
            raise holding.refusal()

    def _runs_something(self, original: Original) -> bool:
        """Whether a request is for an editor, by its path or its port, and more than a look: a socket to a kernel or terminal is."""
        editor = is_editor(original.path) if original.port is None else original.port in self._ports
        return editor and (original.upgrades or original.method not in _READS)
