"""Unix sockets that only one user may connect to."""

import os
import socket
import struct
from contextlib import suppress

from sandbox_server.drivers.spawn.child_setup import Account

BACKLOG = 1024


def listen(path: str, owner: Account) -> socket.socket:
    """Bind `path` for `owner` only. A stale socket is replaced in one step."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    fresh = f"{path}.new"
    with suppress(FileNotFoundError):
        os.unlink(fresh)
    old = os.umask(0o177)
    listener.bind(fresh)
    os.umask(old)
    if os.geteuid() == 0:
        os.chown(fresh, owner.uid, owner.gid)
    listener.listen(BACKLOG)
    os.rename(fresh, path)
    return listener


def peer_uid(sock: socket.socket) -> int:
    """Return the user id of the connected process. gVisor gives this process's own: there the socket's mode keeps others out."""
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    uid: int = struct.unpack("3i", credentials)[1]
    return uid
