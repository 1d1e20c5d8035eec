"""Which files the processes of the box have mapped to write to (proc_pid_maps(5)).

They are read through an open /proc: the reader may be confined.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress

from sandbox_server.drivers.box.layer_store import StoreError
from sandbox_server.drivers.box.tree_snapshot import MappedFiles

MAX_BYTES = 256 << 20
"""Of what the kernel tells of all processes: a mapping takes some hundred, and a process has 65,000 at most."""
_MAX_STATUS = 64 << 10
_LINE = re.compile(rb"^\S+ .w.s \S+ \S+ (\d+) +(/.*)$", re.MULTILINE)
_ESCAPE = re.compile(rb"\\([0-7]{3})")
_DELETED = b" (deleted)"
_ELSEWHERE = (b"/dev/", b"/memfd:", b"/proc/", b"/run/", b"/SYSV", b"/anon_hugepage", b"/[")


def mapped_files(proc: int) -> MappedFiles:
    """Look at every process of the box; `proc` is an open /proc. Raises StoreError where that is too much."""
    found: set[tuple[int, bytes]] = set()
    left = MAX_BYTES
    for pid in os.listdir(proc):
        if pid.isdigit() and _is_inside(proc, pid):
            mappings = _read(proc, f"{pid}/maps", left)
            found.update(_writable(mappings))
            left -= len(mappings)
        if left <= 0:
            raise StoreError("resource_exhausted", 'programs have more mapped than is looked at; mode "stop" does not look')
    return MappedFiles(frozenset(os.fsdecode(path) for _, path in found), frozenset(inode for inode, _ in found))


def _is_inside(proc: int, pid: str) -> bool:
    """Whether a process is one of a namespace in this one."""
    numbers = re.search(rb"^NSpid:\s+\d+\s+\d+", _read(proc, f"{pid}/status", _MAX_STATUS), re.MULTILINE)
    return numbers is not None


def _writable(mappings: bytes) -> Iterator[tuple[int, bytes]]:
    for line in _LINE.finditer(mappings):
        inode, path = line.groups()
        if not path.startswith(_ELSEWHERE):
            yield int(inode), _ESCAPE.sub(lambda code: bytes([int(code[1], 8) & 0xFF]), path).removesuffix(_DELETED)


def _read(proc: int, path: str, most: int) -> bytes:
    parts, size = [], 0
    with suppress(OSError), open(os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc), "rb", buffering=0) as file:
        while size < most and (part := file.read(1 << 20)):
            parts.append(part)
            size += len(part)
    return b"".join(parts)
