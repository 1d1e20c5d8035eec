"""Messages with file descriptors over a Unix SEQPACKET socket, between the API and the spawner.

The first packet on a connection is the request. Its body travels as JSON in a memfd, because argv and environment may
exceed one packet (`net.core.wmem_max` is 208 KiB by default); the memfd comes first, other descriptors after it. Every
later packet, in both directions, is a small JSON object. An empty packet is the end of the connection.
"""

import json
import os
import socket
import stat
from array import array
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sandbox_server.drivers.ipc import private_memory

MAX_BODY = 4 << 20
"""Limit in bytes of a request's JSON. The kernel allows about 2 MiB of argv and environment."""
MAX_PACKET = 16 << 10
"""Limit in bytes of any packet after the request."""
MAX_FDS = 8
"""Limit of descriptors of one packet: the body, three standard streams and two pipe ends, or a box and its namespaces."""

type Message = dict[str, Any]


class MalformedMessageError(ValueError):
    """The other side sent something that is not a message."""


def send_request(sock: socket.socket, body: Message, fds: Sequence[int] = ()) -> None:
    """Send the first packet of a connection. The caller keeps its own copies of `fds`."""
    encoded = json.dumps(body).encode()
    if len(encoded) > MAX_BODY:
        raise MalformedMessageError(f"the request exceeds {MAX_BODY} bytes")
    memfd = private_memory.create("request")
    try:
        with open(memfd, "wb", closefd=False) as file:
            file.write(encoded)
        socket.send_fds(sock, [b"{}"], [memfd, *fds])
    finally:
        os.close(memfd)


def read_body(memfd: int) -> Message:
    """Read the body from a request's first descriptor."""
    status = os.fstat(memfd)
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BODY:
        raise MalformedMessageError("the body is not a memfd of an allowed size")
    return _decode(os.pread(memfd, status.st_size, 0))


def send(sock: socket.socket, message: Message, fds: Sequence[int] = ()) -> None:
    """Send one packet after the request."""
    socket.send_fds(sock, [json.dumps(message).encode()], fds)


def receive(sock: socket.socket, max_fds: int = MAX_FDS) -> tuple[Message | None, list[int]]:
    """Receive one packet and its descriptors, which the caller owns; None is the end of the connection."""
    packet, fds, flags = receive_fds(sock, MAX_PACKET, max_fds)
    if not packet:
        close_all(fds)
        return None, []
    if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
        close_all(fds)
        raise MalformedMessageError("the packet or its descriptors did not fit")
    try:
        return _decode(packet), fds
    except MalformedMessageError:
        close_all(fds)
        raise


def receive_fds(sock: socket.socket, limit: int, max_fds: int) -> tuple[bytes, list[int], int]:
    """Receive bytes, descriptors and flags as `socket.recv_fds` does, but close-on-exec, which that function does not support."""
    fds = array("i")
    room = socket.CMSG_SPACE(max_fds * fds.itemsize)
    packet, ancillary, flags, _ = sock.recvmsg(limit, room, socket.MSG_CMSG_CLOEXEC)
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    return packet, list(fds), flags


def close_all(fds: Sequence[int]) -> None:
    """Close descriptors, and ignore those that are closed already."""
    for fd in fds:
        with suppress(OSError):
            os.close(fd)


def _decode(encoded: bytes) -> Message:
    try:
        message = json.loads(encoded)
    except (ValueError, RecursionError) as error:
        raise MalformedMessageError("not JSON") from error
    if not isinstance(message, dict):
        raise MalformedMessageError("not a JSON object")
    return message
