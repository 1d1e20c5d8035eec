"""The hooks before the services: RUN_HOOK_INIT and RUN_HOOK_PRE_SERVICES.

They run as the agent, in the box if there is one, because they may execute files that the agent wrote in an earlier
run, such as shell start-up files or repository scripts. So the box daemon and the spawner start before them, and
everything else waits. A process of the user control requests them. A copying process carries their output to the
container's output, as long as anything that they started writes. A hook gets a pipe instead of the container's output
itself: whoever holds one end of it can open the other, and that output contains the sign-in link.
"""

import os
import subprocess
import sys
from dataclasses import dataclass

from sandbox_server.boot import early_start
from sandbox_server.settings import Settings

NEEDED = frozenset({"box", "egress", "spawner"})
"""The programs that hooks need."""
PROGRAM = "hooks"


@dataclass(frozen=True)
class HookRun:
    """The process that runs the hooks, and the one that copies their output.

    If `strict`, the container stops after a failed hook.
    """

    process: "subprocess.Popen[bytes]"
    copier: "subprocess.Popen[bytes]"
    strict: bool

    @property
    def pid(self) -> int:
        """The process id of the one that runs the hooks, until it is reaped."""
        return self.process.pid


def start(settings: Settings) -> HookRun | None:
    """Start the process that runs the hooks; None if there are none. Their output is copied to the container's."""
    if settings.hooks.init is None and settings.hooks.pre_services is None:
        return None
    readable, writable = os.pipe()
    try:
        copier = _as_control(settings, ["/bin/cat"], readable, None)
        process = _as_control(settings, [sys.executable, "-I", "-m", "sandbox_server", PROGRAM], subprocess.DEVNULL, writable)
    finally:
        os.close(readable)
        os.close(writable)
    return HookRun(process, copier, settings.hooks.strict)


def _as_control(settings: Settings, command: list[str], stdin: int, output: int | None) -> "subprocess.Popen[bytes]":
    uid, gid, groups = early_start.identity(settings.users.control)
    return subprocess.Popen(
        command,
        stdin=stdin,
        stdout=output,
        stderr=output,
        cwd="/",
        env=dict(early_start.ENVIRONMENT),
        process_group=0,
        user=uid,
        group=gid,
        extra_groups=groups,
    )
