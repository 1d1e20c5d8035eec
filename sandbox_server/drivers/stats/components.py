"""Readiness of the container's components."""

import socket
from collections.abc import Mapping


class ComponentSockets:
    """The sockets of the components by name."""

    def __init__(self, sockets: Mapping[str, str]) -> None:
        self._sockets = sockets

    def states(self) -> dict[str, str]:
        """Return `ready` or an error for each component. Connecting to a Unix socket never waits."""
        return {name: _state(path) for name, path in self._sockets.items()}


def _state(path: str) -> str:
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        try:
            with socket.socket(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK) as probe:
                probe.connect(path)
        except FileNotFoundError:
            return "not started"
        except BlockingIOError:
            return "busy"
        except OSError:
            continue
        return "ready"
    return "not answering"
