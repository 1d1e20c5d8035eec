"""What keeps Chromium's processes apart from the rest of the container, by what this host allows."""

import os
import stat
from typing import Literal

from sandbox_server.drivers.fence import landlock
from sandbox_server.drivers.spawn.process import Processes

RendererSandbox = Literal["namespaces", "landlock"]
NAMESPACES_PROBE = ("unshare", "--user", "--pid", "--net", "--map-root-user", "--fork", "true")
"""What Chromium's sandbox does first (docs/linux/sandboxing.md in its source)."""
HELPER = "chrome-sandbox"
"""What Chromium starts its renderers with where there are no namespaces: native/chrome-sandbox.c. It stands beside its program."""
_MODE = stat.S_ISUID | stat.S_IXOTH


async def available(processes: Processes, executable: str, timeout: float) -> RendererSandbox | None:
    """Return the strongest sandbox that Chromium can have here; None if there is none.

    `timeout` is in seconds. Raises as `Processes.run` does.
    """
    probe = await processes.run(NAMESPACES_PROBE, user="desktop", cwd="/", timeout=timeout, max_output=4096)
    if probe.exit.code == 0:
        return "namespaces"
    return "landlock" if landlock.abi() and has_helper(executable) else None


def has_helper(executable: str) -> bool:
    """Whether Chromium finds its helper, as it wants it: root's, and set-user-id. The helper gives that right up at once."""
    try:
        found = os.stat(os.path.join(os.path.dirname(os.path.realpath(executable)), HELPER))
    except OSError:
        return False
    return found.st_uid == 0 and found.st_mode & _MODE == _MODE
