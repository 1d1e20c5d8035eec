"""A zygote: a process that has imported what its programs need, and forks for each instead of starting anew.

It takes requests from a socket of its parent, which is the spawner or the supervisor. Each fork is a child of that
parent, which so sees its end and can end it. The zygote has fewer rights than its parent, so nothing that it says is
trusted. The new process reports for itself on the request's socket, and Linux attests the sender.

Only the standard library of Python 3.12 and later.
"""

import ctypes
import os
import resource
import socket
import time
from collections.abc import Callable, Mapping, Sequence

from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.spawn import child_setup

CHANNEL = 3
"""The descriptor of the socket for requests."""
HERE = b"{}"
"""What a new process sends first."""
_CLONE_PARENT = 0x8000
_PR_GET_TID_ADDRESS = 40
_CLONE = {"x86_64": 56, "aarch64": 220}
_libc = ctypes.PyDLL(None, use_errno=True)
"""Called without releasing the interpreter's lock."""


def fork_beside() -> int:
    """Fork like `os.fork`, but as a child of this process's parent (CLONE_PARENT, clone(2)).

    For a process with one thread. The C library has no such call, so its stored thread id is corrected here. Raises
    OSError.
    """
    number, place = _CLONE[os.uname().machine], _thread_number()
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = _libc.syscall(number, _CLONE_PARENT, 0, 0, 0, 0)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        if place:
            ctypes.c_int.from_address(place).value = os.getpid()
        return 0
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(pid)


def _thread_number() -> int:
    """Return the address of the C library's thread id (prctl(2)); 0 if Linux does not say."""
    place = ctypes.c_void_p()
    _libc.prctl(_PR_GET_TID_ADDRESS, ctypes.byref(place), 0, 0, 0)
    return place.value or 0


def serve(outdated: Callable[[], bool], channel: int = CHANNEL) -> Sequence[str] | None:
    """Fork a process for every request. Returns twice: the request's arguments in a new process, None at the end.

    It ends when the spawner disconnects, or when the imports are `outdated`; then the waiting client gets an error.
    """
    requests = socket.socket(fileno=channel)
    while True:
        packet, fds, _ = descriptor_passing.receive_fds(requests, descriptor_passing.MAX_PACKET, descriptor_passing.MAX_FDS)
        if not packet or outdated():
            return None
        if fork_beside() == 0:
            requests.detach()  # closed with all the others
            return _begin(fds)
        descriptor_passing.close_all(fds)


def _begin(fds: Sequence[int]) -> Sequence[str]:
    """Become the requested process: `fds` are the request's body, the report's socket and the standard streams."""
    body, report, *streams = fds
    subject = "process"
    try:
        os.setsid()
        os.write(report, HERE)
        asked = descriptor_passing.read_body(body)
        os.umask(child_setup.UMASK)
        child_setup.offer_to_the_oom_killer(asked["oom_score"])
        for name, value in asked["limits"].items():
            _limit(child_setup.LIMITS[name], value)
        report = child_setup.put_in_place(streams, report)
        os.closerange(len(streams), report)
        os.closerange(report + 1, os.sysconf("SC_OPEN_MAX"))
        _take_environment(asked["environment"])
        subject = "cwd"
        child_setup.enter_directory(asked["cwd"], asked["environment"])
        words: list[str] = asked["argv"]
        namespaces.replace_arguments(" ".join(words))
        os.close(report)
    except Exception as failure:  # noqa: BLE001 - the top of a forked process: who asked for it is told
        os.write(report, child_setup.describe_failure(failure, subject))
        os._exit(127)
    else:
        return words


def _limit(kind: int, value: int) -> None:
    """Set a limit. Only root may exceed the zygote's own."""
    most = resource.getrlimit(kind)[1]
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(kind, (value, value))


def _take_environment(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
