"""Frames between the API and a file worker: a JSON header, raw bytes after it, and descriptors.

The first eight bytes are the lengths of both, as 32-bit numbers in network order. Descriptors come with the first byte
of a frame. File contents are raw bytes, never JSON.
"""

import json
import os
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sandbox_server.drivers.ipc.descriptor_passing import receive_fds

LENGTHS = struct.Struct("!II")
MAX_HEADER = 64 << 20
"""Limit in bytes of the JSON header: the listing of as many entries as one call may request."""
MAX_PAYLOAD = 256 << 20
"""Limit in bytes of the payload: the largest file that is read or written in one piece."""
MAX_FDS = 4
CHUNK = 256 << 10


class BrokenFrame(ConnectionError):
    """The other side sent an invalid frame, or closed in the middle of one."""


@dataclass(slots=True)
class WorkerFrame:
    """One request or answer. Its holder owns its descriptors."""

    header: dict[str, Any]
    payload: bytes = b""
    fds: list[int] = field(default_factory=list)

    def close(self) -> None:
        """Close the descriptors that were not taken."""
        close_all(self.fds)
        self.fds = []

    def encode(self) -> bytes:
        """Return the lengths and the header. The payload follows them on the wire."""
        header = json.dumps(self.header, separators=(",", ":")).encode()
        if len(header) > MAX_HEADER or len(self.payload) > MAX_PAYLOAD:
            raise BrokenFrame("the frame is too long")
        return LENGTHS.pack(len(header), len(self.payload)) + header


class Assembler:
    """Assembles a frame from received pieces."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._fds: list[int] = []

    @property
    def missing(self) -> int:
        """Return how many more bytes the frame needs, as far as known; 0 once it is complete."""
        have = len(self._received)
        if have < LENGTHS.size:
            return LENGTHS.size - have
        header, payload = LENGTHS.unpack_from(self._received)
        if header > MAX_HEADER or payload > MAX_PAYLOAD:
            raise BrokenFrame("the frame is too long")
        return int(LENGTHS.size + header + payload - have)

    def receive(self, sock: socket.socket) -> bool:
        """Receive available bytes up to the end of the frame.

        Return False if the other side has closed between two frames.
        """
        limit = min(self.missing, CHUNK)
        chunk, fds, flags = receive_fds(sock, limit, MAX_FDS)
        self._fds += fds
        if flags & socket.MSG_CTRUNC:
            raise BrokenFrame("the descriptors did not fit")
        if not chunk and self._received:
            raise BrokenFrame("the other side went away in the middle of a frame")
        self._received += chunk
        return bool(chunk)

    def frame(self) -> WorkerFrame:
        """Return the complete frame, and start a new one."""
        length, _ = LENGTHS.unpack_from(self._received)
        start = LENGTHS.size + length
        try:
            header = json.loads(self._received[LENGTHS.size : start])
        except (ValueError, RecursionError):
            raise BrokenFrame("the header is no JSON") from None
        if not isinstance(header, dict):
            raise BrokenFrame("the header is not an object")
        frame = WorkerFrame(header, bytes(memoryview(self._received)[start:]), self._fds)
        self._received, self._fds = bytearray(), []
        return frame

    def discard(self) -> None:
        """Close the descriptors of an incomplete frame."""
        close_all(self._fds)
        self._fds = []


def receive(sock: socket.socket) -> WorkerFrame | None:
    """Wait for one frame on a blocking socket; None once the other side has closed."""
    assembler = Assembler()
    try:
        while assembler.missing:
            if not assembler.receive(sock):
                return None
        return assembler.frame()
    except BaseException:
        assembler.discard()
        raise


def send(sock: socket.socket, frame: WorkerFrame) -> None:
    """Send one frame on a blocking socket. The caller keeps its own copies of the descriptors."""
    head = frame.encode()
    sent = socket.send_fds(sock, [head], frame.fds)
    sock.sendall(head[sent:])
    sock.sendall(frame.payload)


def close_all(fds: Sequence[int]) -> None:
    """Close descriptors, and ignore those that are closed already."""
    for fd in fds:
        with suppress(OSError):
            os.close(fd)
