"""A system call filter (seccomp(2)): which kinds of sockets can be made, and the calls that would bypass a fence.

The container's own filter stays in force. Only the standard library.
"""

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass

ANY_BUT_UNIX = None
"""Every kind of socket but Unix sockets."""
INTERNET = (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
"""Families that are confined to a network namespace. Others, such as AF_VSOCK, reach the host from any namespace."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_FOREIGN_CALLS = 0x40000000
"""The x32 calls of x86-64 (32-bit pointers) begin at this number. No other architecture has numbers so high."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


@dataclass(frozen=True)
class CallNumbers:
    """The audit name of an architecture, and its numbers of the calls in the filter."""

    audit: int
    socket: int
    ioctl: int
    forbidden: tuple[int, ...]
    """Keyrings, which all processes of a user share, then io_uring, which makes sockets without socket(2)."""


MACHINES = {
    "x86_64": CallNumbers(0xC000003E, 41, 16, (248, 249, 250, 425, 426, 427)),
    "aarch64": CallNumbers(0xC00000B7, 198, 29, (217, 218, 219, 425, 426, 427)),
}

type Instruction = tuple[int, int, int, int]


def _deny(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | number)


def _unless(value: int, skipped: int, test: int = _EQUAL) -> Instruction:
    """Skip instructions unless the loaded value is `value`."""
    return (test, 0, skipped, value)


def program(machine: CallNumbers, families: Collection[int] | None, *, unix: bool) -> list[Instruction]:
    """Return the filter program. `families` are the allowed kinds of sockets; `unix` allows Unix sockets too."""
    written = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, machine.audit), _deny(errno.EPERM)]
    written += [(_LOAD, 0, 0, _NUMBER), _unless(_FOREIGN_CALLS, 1, _AT_LEAST), _deny(errno.EPERM)]
    for number in machine.forbidden:
        written += [_unless(number, 1), _deny(errno.ENOSYS)]
    sockets = _sockets(families, unix=unix)
    written += [_unless(machine.socket, len(sockets)), *sockets]
    written += [_unless(machine.ioctl, 5), (_LOAD, 0, 0, _ARGUMENTS + 8), _unless(_TIOCSTI, 1), _deny(errno.EPERM)]
    written += [_unless(_TIOCLINUX, 1), _deny(errno.EPERM), (_RETURN, 0, 0, _ALLOW)]
    return written


def _sockets(families: Collection[int] | None, *, unix: bool) -> Sequence[Instruction]:
    written: list[Instruction] = [(_LOAD, 0, 0, _ARGUMENTS)]
    if families is None:
        refused = [] if unix else [_unless(socket.AF_UNIX, 1), _deny(errno.EPERM)]
        return [*written, *refused, (_RETURN, 0, 0, _ALLOW)]
    for family in (*families, *([socket.AF_UNIX] if unix else [])):
        written += [_unless(family, 1), (_RETURN, 0, 0, _ALLOW)]
    return [*written, _deny(errno.EPERM)]


def restrict(families: Collection[int] | None, *, unix: bool) -> None:
    """Apply the filter to this process and its children, permanently. The process must have given up gaining rights.

    Raises OSError, also for an unknown architecture.
    """
    machine = MACHINES.get(os.uname().machine)
    if machine is None:
        raise OSError(errno.ENOSYS, f"there is no system call filter for the architecture {os.uname().machine}")
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program(machine, families, unix=unix))
    filters = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("@HP", len(code) // 8, ctypes.addressof(filters))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, described, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_SECCOMP")
