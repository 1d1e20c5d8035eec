"""The programs' zygote: a process that has imported what the programs of `control` share, and forks each of them.

The API imports before everything else, and most of what it imports the other programs need too. So it leaves a copy of
itself behind before it waits at its readiness gate: it has read no setting then, and no secret. The copy forks the other
programs when the supervisor asks for them (`forked_programs`), which is the parent of each. Then it ends. Without a
zygote every program starts by itself.
"""

import gc
import os
from collections.abc import Sequence
from contextlib import suppress

from sandbox_server.boot.early_start import ZYGOTE_VARIABLE
from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.fence import landlock
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.spawn import zygote
from sandbox_server.drivers.stats.gvisor import is_gvisor

COMMAND = ("/opt/venv/bin/python", "-I", "-m", "sandbox_server")
"""What the command line of each such program begins with."""
TITLE = "sandbox-zygote"
"""The zygote's command line."""


def leave_behind() -> Sequence[str] | None:
    """Fork the zygote, if boot has passed on a channel for it.

    Returns None in the calling process. Returns again in every process that the zygote forks: the program's words, which
    are the command line without `COMMAND`.
    """
    given = os.environ.pop(ZYGOTE_VARIABLE, "")
    if not given:
        return None
    channel = int(given)
    forked = -1
    if not is_gvisor():  # it ignores CLONE_PARENT: nothing would be the supervisor's child
        gc.freeze()  # forked processes then copy fewer pages
        with suppress(OSError):
            forked = zygote.fork_beside()
    if forked:
        os.close(channel)
        return None
    return _serve(channel)


def _serve(channel: int) -> Sequence[str]:
    """Be the zygote. Returns in every forked process."""
    os.setsid()
    namespaces.replace_arguments(TITLE)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for standard in range(3):
        os.dup2(null, standard)
    descriptor_passing.close_all([fd for fd in map(int, os.listdir("/proc/self/fd")) if fd > 2 and fd != channel])
    words = zygote.serve(lambda: False, channel)
    if words is None:
        os._exit(0)
    landlock.forbid_new_rights()  # the supervisor may have done so after this process began
    return words[len(COMMAND) :]
