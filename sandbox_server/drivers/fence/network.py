"""A network namespace of the execution's own, with loopback and nothing else, where a proxy outside may listen."""

import fcntl
import socket
import struct

PORT = 3128
"""Where the proxy listens, on loopback: nothing else is there yet."""
_BACKLOG = 128
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def raise_loopback() -> None:
    """Let loopback work in this process's network namespace, of which it is root (netdevice(7))."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        asked = struct.pack("16sH14x", b"lo", 0)
        _, flags = struct.unpack("16sH14x", fcntl.ioctl(sock, _GET_FLAGS, asked))
        fcntl.ioctl(sock, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))


def listener() -> socket.socket:
    """Listen for the proxy. The socket belongs to this namespace whoever holds it."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.bind(("127.0.0.1", PORT))
    sock.listen(_BACKLOG)
    return sock


def environment() -> dict[str, str]:
    """What tells programs of the proxy, in the words of those that are known."""
    url = f"http://127.0.0.1:{PORT}"
    proxies = {name: url for upper in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") for name in (upper, upper.lower())}
    nearby = dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1")
    return {**proxies, **nearby, "NODE_USE_ENV_PROXY": "1"}
