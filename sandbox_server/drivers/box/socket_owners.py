"""Which processes of the box have sockets, by inode (proc_pid_fd(5)), with their sessions."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from sandbox_server.drivers.box.attribution import session_of
from sandbox_server.drivers.box.processes import Inmate, command_line, inmates, latest_inmates, status_of
from sandbox_server.drivers.ipc.descriptor_passing import Message

LOOK_SECONDS = 0.05
"""How long one look may take: the box daemon does nothing else meanwhile."""
MAX_INODES = 64
_SOCKET = "socket:["

type Owner = Mapping[str, object]


def answer(request: Message) -> Mapping[str, object]:
    """Answer the request for the owners of `inodes`; raises ValueError."""
    inodes = request["inodes"]
    if not isinstance(inodes, list) or len(inodes) > MAX_INODES or not all(type(inode) is int and inode > 0 for inode in inodes):
        raise ValueError(f"inodes are at most {MAX_INODES} numbers")
    return {"owners": {str(inode): owner for inode, owner in owners_of(inodes)}}


def owners_of(inodes: Iterable[int]) -> Iterator[tuple[int, Owner]]:
    """Yield the owner of each socket that is found in time; the newest processes are looked at first."""
    wanted, deadline = {f"{_SOCKET}{inode}]": inode for inode in inodes}, time.monotonic() + LOOK_SECONDS
    for one in latest_inmates():
        if not wanted or time.monotonic() > deadline:
            return
        if found := _sockets(one.pid, deadline) & wanted.keys():
            owner = {"pid": one.inner, "command": command_line(one.pid), "session": _session(one, deadline)}
            for link in found:
                yield wanted.pop(link), owner


def _sockets(pid: int, deadline: float) -> set[str]:
    """Return the sockets of a process, as far as there is time."""
    found: set[str] = set()
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            with suppress(OSError):
                found.add(os.readlink(entry.path))
            if time.monotonic() > deadline:
                break
    return found


def _session(one: Inmate, deadline: float) -> str | None:
    """Return the session that a process names, or another one of its kernel session, as far as there is time."""
    if found := session_of(one.pid):
        return found
    kernel_session = status_of(one.pid).get("NSsid")
    for other in inmates() if kernel_session else ():
        if time.monotonic() > deadline:
            return None
        if status_of(other.pid).get("NSsid") == kernel_session and (found := session_of(other.pid)):
            return found
    return None
