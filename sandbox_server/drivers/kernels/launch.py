"""Starts an IPython kernel in the agent's box, with the Python that runs this file: `launch.py PACKAGES CONNECTION`.

CONNECTION is the connection file, or the descriptor of one whose sockets are open already, as from `isolated_kernel`.
The zygote has imported this file, and becomes a kernel without starting Python.

It needs only the standard library of Python 3.10 and the packages in PACKAGES. Those come last on the path, so the
agent's own packages take precedence.
"""

import ctypes
import importlib
import json
import os
import site
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

SESSION = "TANDEM_SESSION"
"""The variable with the session's name. Other processes read it from the kernel's initial environment."""
FORK_LINGERS = 3000
"""Milliseconds that a forked process waits at its end until its output was received."""
IMPORTED_AT_THE_START = (
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.logger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "ipykernel.debugger",
    "rlcompleter",
    "sqlite3",
    "tornado.platform.asyncio",
    "tornado.queues",
    "unicodedata",
)
_getenv = ctypes.CDLL(None).getenv
_getenv.restype = ctypes.c_void_p
_place = _getenv(SESSION.encode())
_room = len(os.environb.get(SESSION.encode(), b""))


def main(packages: str, connection: str) -> None:
    """Start as a kernel on the sockets of the connection."""
    sys.path[0] = ""  # as in a notebook; this script's own folder is not the agent's
    sys.path.append(packages)
    become(connection)


def become(connection: str) -> None:
    """Serve on the sockets of the connection."""
    if SESSION in os.environ:
        name(os.environ[SESSION].rstrip())  # it came with room for a longer one
    with open(int(connection) if connection.isdecimal() else connection, encoding="utf-8") as file:
        described = json.load(file)
    run(described)


def name(session: str) -> None:
    """Set the session's name in this process's environment, for observers and for child processes."""
    os.environ[SESSION] = session
    if _place:
        ctypes.memset(_place, 0, _room)
        ctypes.memmove(_place, session.encode()[:_room], min(_room, len(session.encode())))


def run(described: "dict[str, Any]") -> None:
    """Serve until the kernel is told to stop."""
    from ipykernel.kernelapp import IPKernelApp

    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    # It is told where to listen, and writes that nowhere.
    IPKernelApp.init_connection_file = lambda app: app.load_connection_info(described)
    IPKernelApp.write_connection_file = lambda app, **_: None
    if "open" in described:
        _bind_to(described["open"])
    elif described["transport"] == "ipc":
        _take_from_forks(f"ipc://{described['ip']}-forks")
    try:
        tempfile.gettempdir()
    except FileNotFoundError:  # a cell's name has the directory in it, although nothing is written there
        tempfile.tempdir = os.environ.get("TMPDIR", "/tmp")
    sys.modules["tandem_kernel"] = sys.modules[__name__]
    sys.argv = ["ipykernel_launcher"]
    # The history stays in memory: nobody reads it later, and a full disk must not end a kernel.
    options = ["--HistoryManager.hist_file=:memory:", "--InteractiveShell.colors=NoColor"]
    app = IPKernelApp.instance()
    app.initialize(options)
    _reply_through_the_stream(app)
    app.shell.events.register("pre_execute", _see_own_packages)
    app.shell.events.register("post_execute", _leave_to(os.getpid()))
    app.start()


def _reply_through_the_stream(app: Any) -> None:
    """Send replies on the stream that receives requests. Otherwise ipykernel 7 before 7.4 may never read a concurrent request.

    Sending consumes the notice that a message can be received (zmq_getsockopt(3) of ZMQ_FD; ipykernel issue 1554).
    There is no later version for Python 3.10, and code may have installed its own.
    """
    thread: Any = getattr(app, "shell_channel_thread", None)
    if hasattr(thread, "_shell_socket"):
        thread._shell_socket = app.kernel.shell_stream


def _bind_to(made: Mapping[str, int]) -> None:
    """Make binding to an address use the socket that is already open there, by its descriptor."""
    import zmq

    bind = zmq.Socket.bind

    def bind_or_take(self: Any, address: str) -> Any:
        if address in made:
            self.setsockopt(zmq.USE_FD, made[address])
        return bind(self, address)

    zmq.Socket.bind = bind_or_take


def _take_from_forks(address: str) -> None:
    """Receive the output of forked processes at a Unix socket, instead of ipykernel's TCP port.

    A fenced process cannot make that socket, so a kernel behind a fence keeps the port.
    """
    import zmq
    from ipykernel import iostream, kernelapp
    from zmq.eventloop.zmqstream import ZMQStream

    class Output(iostream.IOPubThread):  # type: ignore[misc] # it has no types here
        def _setup_pipe_in(self) -> None:
            self._pipe_uuid = os.urandom(16)
            taken = self.socket.context.socket(zmq.PULL)
            taken.bind(address)
            self._pipe_in = ZMQStream(taken, self.io_loop)
            self._pipe_in.on_recv(self._handle_pipe_msg)

        def _setup_pipe_out(self) -> tuple[Any, Any]:
            context = zmq.Context()
            sent = context.socket(zmq.PUSH)
            sent.linger = FORK_LINGERS
            sent.connect(address)
            return context, sent

    kernelapp.IOPubThread = Output


def _leave_to(kernel: int) -> Callable[[], None]:
    """End a forked copy of the kernel when its code is done. Otherwise it would take requests meant for the kernel."""

    def leave() -> None:
        if os.getpid() != kernel:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    return leave


def _see_own_packages() -> None:
    """Add pip's user directory to the path once it exists: Python looks for it only at its start (site)."""
    own = site.getusersitepackages()
    if site.ENABLE_USER_SITE and own not in sys.path and os.path.isdir(own):
        packages = sys.path.pop()
        site.addsitedir(own)
        sys.path.append(packages)
        sys.path_importer_cache.pop(own, None)


def load() -> None:
    """Import what a kernel needs, including what this version would import only at its start."""
    import ipykernel.ipkernel
    import ipykernel.kernelapp  # noqa: F401

    for name in IMPORTED_AT_THE_START:
        with suppress(ImportError):
            importlib.import_module(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
