"""A network namespace of the execution's own: loopback only, with the fence's proxy as the way out."""

import fcntl
import socket
import struct

PORT = 3128
"""The proxy's port on loopback, where nothing else listens yet."""
_BACKLOG = 128
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def raise_loopback() -> None:
    """Bring up loopback in this process's network namespace, of which it is root (netdevice(7))."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        asked = struct.pack("16sH14x", b"lo", 0)
        _, flags = struct.unpack("16sH14x", fcntl.ioctl(sock, _GET_FLAGS, asked))
        fcntl.ioctl(sock, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))


def listener() -> socket.socket:
    """Listen for the proxy. The socket belongs to this namespace, whichever process holds it."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.bind(("127.0.0.1", PORT))
    sock.listen(_BACKLOG)
    return sock


def environment() -> dict[str, str]:
    """Return the proxy variables that common programs read."""
    url = f"http://127.0.0.1:{PORT}"
    proxies = {name: url for upper in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") for name in (upper, upper.lower())}
    nearby = dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1")
    return {**proxies, **nearby, "NODE_USE_ENV_PROXY": "1"}
