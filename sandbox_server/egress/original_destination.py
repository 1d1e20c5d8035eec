"""Where a redirected connection was going before the rules of the namespace sent it to the listener."""

import socket
from ipaddress import IPv4Address, IPv6Address

from sandbox_server.drivers.egress.protected_addresses import Address, parse_address

_SO_ORIGINAL_DST = 80
_IP4, _IP6 = 16, 28
"""Sizes of sockaddr_in and sockaddr_in6 (ip(7), ipv6(7))."""


def original_destination(sock: socket.socket) -> tuple[Address, int]:
    """Return address and port that the client connected to; raises OSError. An IPv4 address within an IPv6 one is unwrapped."""
    if sock.family == socket.AF_INET6:
        raw = sock.getsockopt(socket.IPPROTO_IPV6, _SO_ORIGINAL_DST, _IP6)
        return parse_address(str(IPv6Address(raw[8:24]))), int.from_bytes(raw[2:4])
    raw = sock.getsockopt(socket.SOL_IP, _SO_ORIGINAL_DST, _IP4)
    return IPv4Address(raw[4:8]), int.from_bytes(raw[2:4])
