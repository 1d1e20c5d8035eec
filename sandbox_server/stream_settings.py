"""The stream's variables; a section of `settings`. Stdlib only, for the sake of boot."""

import re
from dataclasses import dataclass

from sandbox_server.variables import BOOLEAN, Kind, integer, variable

MAX_PORT = 65535
_REACHED = re.compile(r"([A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?")


def _reached(text: str) -> tuple[str, int]:
    """A host's name or IPv4 address, and a port or 0."""
    found = _REACHED.fullmatch(text)
    if not found or (found[2] and not 0 < int(found[2]) <= MAX_PORT):
        raise ValueError("must be a host or HOST:PORT")
    return found[1], int(found[2] or 0)


@dataclass(frozen=True, slots=True)
class Stream:
    """The desktop as a stream"""

    udp_port: int = variable(
        "STREAM_UDP_PORT",
        integer(0, MAX_PORT),
        0,
        "UDP port for the stream beside its WebSocket, to be published as it is: `-p 8443:8443/udp`. 0: none.",
    )
    udp_address: tuple[str, int] | None = variable(
        "STREAM_UDP_ADDRESS",
        Kind("host or HOST:PORT", _reached),
        None,
        "Where viewers reach that port. Unset: at the host of the page, by the same number.",
    )
    microphone: bool = variable(
        "STREAM_MICROPHONE",
        BOOLEAN,
        False,
        "Whether the desktop has a microphone, which hears who drives once they switch theirs on at the viewer.",
    )
