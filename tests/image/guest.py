"""A program of the agent's that tries the door to the display: the X protocol in bytes, of the standard library alone. Prints JSON."""

import json
import random
import socket
import struct
import sys
from contextlib import suppress
from typing import Any

EXTENSIONS = ("XTEST", "RECORD", "XFIXES", "MIT-SHM", "DAMAGE", "Composite", "XInputExtension", "BIG-REQUESTS", "RANDR", "SECURITY")
TITLES = (39, 67)
"""WM_NAME and WM_CLASS, which are atoms from the start."""


class Guest:
    """One client of the door."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect("/tmp/.X11-unix/X99")
        self._socket.sendall(struct.pack("<BxHHHHxx", 108, 11, 0, 0, 0))
        head = self._read(8)
        body = self._read(struct.unpack("<H", head[6:8])[0] * 4)
        if head[0] != 1:
            raise OSError("it is not let in")
        self.base: int = struct.unpack_from("<I", body, 4)[0]
        vendor, formats = struct.unpack_from("<H", body, 16)[0], body[21]
        self.root: int = struct.unpack_from("<I", body, 32 + vendor + -vendor % 4 + 8 * formats)[0]
        self._number = 0

    def ask(self, kind: int, body: bytes = b"", detail: int = 0) -> tuple[str, int, bytes]:
        """Send a request, and give its answer or error; nothing where neither came before the answer to the next one (GetInputFocus)."""
        self._socket.sendall(struct.pack("<BBH", kind, detail, 1 + len(body) // 4) + body + struct.pack("<BxH", 43, 1))
        self._number += 2
        told = ("nothing", 0, b"")
        while True:
            head = self._read(32)
            number = struct.unpack("<H", head[2:4])[0]
            more = self._read(struct.unpack("<I", head[4:8])[0] * 4) if head[0] == 1 else b""
            if head[0] == 1 and number == self._number & 0xFFFF:
                return told
            if head[0] in (0, 1) and number == self._number - 1 & 0xFFFF:
                told = ("answer" if head[0] else "error", head[1], head[8:] + more)

    def say(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._socket.sendall(data)

    def drain(self) -> None:
        """Read until it hangs up."""
        while self._socket.recv(1 << 16):
            pass

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise OSError("it hung up")
            data += piece
        return data


def has(guest: Guest, name: str) -> bool:
    """Whether it is told of an extension."""
    text = name.encode()
    kind, _, answer = guest.ask(98, struct.pack("<HH", len(text), 0) + text + bytes(-len(text) % 4))
    return kind == "answer" and bool(answer[0])


def looked(guest: Guest) -> dict[str, Any]:
    """What one client gets of others."""
    found: dict[str, Any] = {name: has(guest, name) for name in EXTENSIONS}
    found["picture"] = guest.ask(73, struct.pack("<IhhHHI", guest.root, 0, 0, 10, 10, 0xFFFFFFFF), 2)[:2]
    found["keyboard"] = guest.ask(31, struct.pack("<IIBBxx", guest.root, 0, 1, 1))[:2]
    found["pointer"] = guest.ask(26, struct.pack("<IHBBIII", guest.root, 4, 1, 1, 0, 0, 0))[:2]
    tree = guest.ask(15, struct.pack("<I", guest.root))[2]
    windows = struct.unpack_from(f"<{struct.unpack_from('<H', tree, 8)[0]}I", tree, 24)
    asked = [guest.ask(20, struct.pack("<IIIII", window, name, 0, 0, 1000)) for window in windows for name in TITLES]
    found["titles"] = sum(kind == "answer" and answer[:4] != bytes(4) for kind, _, answer in asked)
    for window in windows:  # DestroyWindow and KillClient
        guest.ask(4, struct.pack("<I", window))
        guest.ask(113, struct.pack("<I", window))
    found["windows"] = len(windows)
    return found


def stay(times: int) -> int:
    """Leave a pixmap and ask to outlive the connection (SetCloseDownMode), and leave; how often that went."""
    for number in range(times):
        with suppress(OSError):
            guest = Guest()
            guest.ask(53, struct.pack("<IIHH", guest.base, guest.root, 9, 9), 1)
            guest.ask(112, detail=1)
            guest.close()
            continue
        return number
    return times


def rave(times: int) -> None:
    """Send what comes to mind, and what has no length at the end."""
    chance = random.Random(3)
    for _ in range(times):
        with suppress(OSError):
            guest = Guest()
            for _ in range(60):
                body = chance.randbytes(4 * chance.randrange(40))
                guest.say(struct.pack("<BBH", chance.randrange(1, 256), chance.randrange(256), 1 + len(body) // 4) + body)
            guest.say(bytes(8))
            guest.drain()


if __name__ == "__main__":
    found = looked(Guest())
    found["stayed"] = stay(300)
    rave(60)
    sys.stdout.write(json.dumps(found))
