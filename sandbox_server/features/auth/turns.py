"""The lease check for editors, whose kernels and terminals bypass the operations and their guards."""

from collections.abc import Callable, Container

from sandbox_server.core import Caller
from sandbox_server.core.control import Holding
from sandbox_server.features.auth.credentials import Identity
from sandbox_server.features.auth.original import Original
from sandbox_server.features.auth.previews import is_editor

_READS = ("GET", "HEAD", "OPTIONS")


class EditorTurns:
    """Checks requests to the editors, which listen on `ports`, against the lease."""

    def __init__(self, holding: Callable[[], Holding], ports: Container[int]) -> None:
        self._holding = holding
        self._ports = ports

    def check(self, identity: Identity, original: Original) -> None:
        """Raise HeldByHuman for a request that would run something while a person has the shells, and for all while frozen.

        The holder of the shells passes, also on a preview, whose session has the name of the session that opened it.
        """
        holding = self._holding()
        if not self._runs_something(original):
            return
        if not holding.admits(Caller(identity.grant.caller, person=identity.person), "shell"):
            raise holding.refusal()

    def _runs_something(self, original: Original) -> bool:
        """Whether a request is for an editor, by path or port, and changes or runs something, such as a kernel's socket."""
        editor = is_editor(original.path) if original.port is None else original.port in self._ports
        return editor and (original.upgrades or original.method not in _READS)
