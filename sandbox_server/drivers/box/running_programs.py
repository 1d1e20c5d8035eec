"""The agent's programs that run in the box, as they could be started again: their words, where, as whom, in which session.

The daemon reads them of the processes themselves, which are the agent's: all of it is bounded, and none is believed.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import islice

from sandbox_server.drivers.box import processes
from sandbox_server.drivers.box.attribution import session_of
from sandbox_server.drivers.box.processes import Inmate, read_start

MAX_PROGRAMS = 200
MAX_BYTES = 64 << 10
MAX_WORDS, MAX_WORD, MAX_PATH = 256, 4096, 4096
_TERMINAL = b"--rcfile"


def answer(_: object) -> Mapping[str, object]:
    """Answer the daemon's operation `programs`."""
    return {"programs": list(islice(_programs(), MAX_PROGRAMS))}


def _programs() -> Iterator[dict[str, object]]:
    """Each program that a session started; its own children come back with it."""
    found = {one.pid: (one, session) for one in list(processes.inmates()) if (session := _session_of(one))}
    shells = {pid for pid, (_, session) in found.items() if _is_terminal_shell(pid, session)}
    for pid, (one, session) in sorted(found.items()):
        if pid not in shells and (one.parent not in found or one.parent in shells):
            words, whole = _words(pid)
            if words:
                yield {"argv": words, "directory": _directory(pid), "uid": one.uid, "session": session, "whole": whole}


def _session_of(one: Inmate) -> str:
    session = session_of(one.pid) or ""
    return session if session.startswith(("shell:", "bash:")) else ""


def _is_terminal_shell(pid: int, session: str) -> bool:
    """Whether it is the shell of a terminal, which is opened again by itself."""
    return session.startswith("shell:") and _content(pid).split(b"\0")[1:2] == [_TERMINAL]


def _words(pid: int) -> tuple[list[str], bool]:
    """Return a program's words, and whether they are all of them, as they were."""
    content = _content(pid)
    words = content.removesuffix(b"\0").split(b"\0") if content else []
    told = [word.decode("utf-8", "replace")[:MAX_WORD] for word in words[:MAX_WORDS]]
    whole = content.endswith(b"\0") and len(content) < MAX_BYTES and [word.encode() for word in told] == words
    return told, whole


def _content(pid: int) -> bytes:
    try:
        return read_start(f"/proc/{pid}/cmdline", MAX_BYTES)
    except OSError:
        return b""


def _directory(pid: int) -> str:
    try:
        path = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""
    told = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return told if told == path and told.startswith("/") and len(told) <= MAX_PATH else ""
