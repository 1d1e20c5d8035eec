"""The stream's variables; a section of `settings`. Stdlib only, for the sake of boot."""

import ipaddress
import re
from dataclasses import dataclass

from sandbox_server.settings.kinds import BOOLEAN, Kind, integer, variable

MAX_PORT = 65535
_NAMED = re.compile(r"([A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?")
_IPV6 = re.compile(r"\[([0-9A-Fa-f:.]{2,45})\](?::([0-9]{1,5}))?|([0-9A-Fa-f:.]{2,45})")
_NUMBERS = re.compile(r"[0-9.]+")


def _read_host_port(text: str) -> tuple[str, int]:
    """A host's name or address, and a port or 0."""
    found = _NAMED.fullmatch(text)
    six = None if found else _IPV6.fullmatch(text)
    host, port = (found[1], found[2]) if found else (six[1] or six[3], six[2]) if six else ("", None)
    if not host or (port and not 0 < int(port) <= MAX_PORT):
        raise ValueError("must be a host or HOST:PORT, an IPv6 address with a port as [ADDRESS]:PORT")
    if six or _NUMBERS.fullmatch(host):
        host = str(_address(host))
    return host, int(port or 0)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address that somebody may be reached at."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError("is no address") from None
    if address.is_unspecified or address.is_multicast:
        raise ValueError("is an address at which nobody is reached")
    return address


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """The stream"""

    udp_port: int = variable(
        "STREAM_UDP_PORT",
        integer(0, MAX_PORT),
        0,
        "UDP port for the stream beside its WebSocket, by IPv4 and IPv6. Publish it under the same number: `-p 8443:8443/udp`. 0: none.",
    )
    udp_address: tuple[str, int] | None = variable(
        "STREAM_UDP_ADDRESS",
        Kind("host, HOST:PORT or [IPv6]:PORT", _read_host_port),
        None,
        "Where viewers reach that port. Unset: at the host of the page, by the same number.",
    )
    microphone: bool = variable(
        "STREAM_MICROPHONE",
        BOOLEAN,
        False,
        "Give the desktop a microphone, which hears the driver once they switch theirs on in the viewer.",
    )
