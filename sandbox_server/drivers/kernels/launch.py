"""Starts an IPython kernel, inside the agent's box, with whichever Python runs this file: `launch.py PACKAGES CONNECTION_FILE`.

It needs nothing but the standard library of Python 3.10 and the packages it is pointed to. Those come last on the path: what the agent
has installed itself goes before them.
"""

import os
import sys
import threading
from collections.abc import Callable

LOW_PRIORITY = 19


def main(packages: str, connection_file: str) -> None:
    """Become a kernel on the sockets that the connection file names.

    With TANDEM_WARM in the environment nobody waits for it yet.
    """
    sys.path[0] = ""  # as in a notebook; this script's own folder is none of the agent's business
    sys.path.append(packages)
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    if os.environ.pop("TANDEM_WARM", ""):
        loading = threading.Thread(target=_load)
        loading.start()
        loading.join()
    run(connection_file)


def run(connection_file: str) -> None:
    """Serve until the kernel is told to stop."""
    from ipykernel.kernelapp import IPKernelApp

    sys.argv = ["ipykernel_launcher"]
    # The history is kept in memory: nobody reads it later, and a full disk must not end a kernel.
    options = ["-f", connection_file, "--HistoryManager.hist_file=:memory:", "--InteractiveShell.colors=NoColor"]
    app = IPKernelApp.instance()
    app.initialize(options)
    app.shell.events.register("post_execute", _leave_to(os.getpid()))
    app.start()


def _leave_to(kernel: int) -> Callable[[], None]:
    """End a copy of the kernel, which code has forked, when that code is over: it would take what is meant for the kernel."""

    def leave() -> None:
        if os.getpid() != kernel:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    return leave


def _load() -> None:
    """Import what a kernel needs, in a thread that gives way to everything else: nice is a thread's own on Linux (sched(7))."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOW_PRIORITY)
    import ipykernel.ipkernel
    import ipykernel.kernelapp  # noqa: F401


if __name__ == "__main__":
    main(*sys.argv[1:])
