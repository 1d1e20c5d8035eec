"""Whose turn it is in an editor: its kernels and terminals are reached past the operations and their guard."""

from sandbox_server.core import Caller
from sandbox_server.core.control import Holding
from sandbox_server.drivers.editors import PORTS
from sandbox_server.features.auth.credentials import Identity
from sandbox_server.features.auth.original import Original
from sandbox_server.features.auth.previews import is_editor

_READS = ("GET", "HEAD", "OPTIONS")


def check_turn(holding: Holding, identity: Identity, original: Original) -> None:
    """Raise HeldByHuman for a program that would run something in an editor while a person has the shells, and for all while it is frozen.

    A person passes whoever holds them: an editor is on an origin of its own, where the same person has another name.
    """
    if not runs_something(original) or (identity.person and holding.state == "human"):
        return
    if not holding.admits(Caller(identity.grant.caller, person=identity.person), "shell"):
        raise holding.refusal()


def runs_something(original: Original) -> bool:
    """Whether a request is for an editor, by its path or its port, and more than a look: a socket to a kernel or terminal is."""
    editor = is_editor(original.path) if original.port is None else original.port in PORTS
    return editor and (original.upgrades or original.method not in _READS)
