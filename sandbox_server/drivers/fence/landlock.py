"""Landlock: rights that a process gives up for itself and its children (landlock(7)).

The system call numbers are the same on every architecture. Only the standard library.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable, Mapping

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
REFER, TRUNCATE = 1 << 13, 1 << 14
_CHANGES = sum(1 << bit for bit in (4, 5, 6, 7, 8, 9, 10, 11, 12))
"""Remove and make directories, files, devices, sockets, pipes and links."""
READING = EXECUTE | READ_FILE | READ_DIR
WRITING = WRITE_FILE | _CHANGES | REFER | TRUNCATE
NOTHING = MAKE_CHAR | MAKE_BLOCK
"""Rights that no user has anyway. A process that gives up any can no longer mount, nor trace processes that have not."""
SCOPED = 0b11
"""Abstract Unix sockets and signals stay inside, if the kernel supports it."""
TRUNCATION_ABI, SCOPES_ABI = 3, 6

_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
_SINCE = {REFER: 2, TRUNCATE: TRUNCATION_ABI}
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def abi() -> int:
    """The kernel's Landlock version; 0 if it has none or has it turned off."""
    try:
        return _call(_CREATE, None, ctypes.c_size_t(0), _VERSION)
    except OSError:
        return 0


def supported_rights(rights: int, version: int) -> int:
    """Return those of `rights` that a version can restrict."""
    for right, since in _SINCE.items():
        if version < since:
            rights &= ~right
    return rights


def forbid_new_rights() -> None:
    """Set no_new_privs: set-user-id files no longer raise the rights of programs that this process executes."""
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS")


def open_path(path: str) -> int:
    """Open a path as a reference only (O_PATH). Symlinks are followed."""
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def restrict(held: int, allowed: Mapping[int, int]) -> None:
    """Give up the rights `held` everywhere but below the open paths in `allowed`, each with its own rights; permanent.

    Raises OSError if the kernel has no Landlock.
    """
    version = abi()
    held = supported_rights(held | NOTHING, version)
    attributes = struct.pack("=QQQ", held, 0, SCOPED if version >= SCOPES_ABI else 0)
    size = 24 if version >= SCOPES_ABI else 8
    ruleset = _call(_CREATE, attributes[:size], ctypes.c_size_t(size), 0)
    try:
        for fd, rights in allowed.items():
            _allow(ruleset, fd, rights & held)
        forbid_new_rights()
        _call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, fd: int, rights: int) -> None:
    if not stat.S_ISDIR(os.fstat(fd).st_mode):
        rights &= _ON_FILES
    if rights:
        _call(_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)


def close_all(fds: Iterable[int]) -> None:
    """Close the paths."""
    for fd in fds:
        os.close(fd)
