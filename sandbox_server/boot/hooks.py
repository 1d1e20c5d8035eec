"""The hooks that come before the services: RUN_HOOK_INIT and RUN_HOOK_PRE_SERVICES.

They run where the agent lives, in the box where there is one, because a command finds there what the agent wrote in an earlier run: a
shell's start-up files, packages of its own, the scripts of a repository. So the keeper of the box and the spawner run before them, and
everything else waits. They are asked for by a process of control's, which holds the container's output open for what they leave running.
"""

import subprocess
import sys
from dataclasses import dataclass

from sandbox_server.boot import head_start
from sandbox_server.settings import Settings

NEEDED = frozenset({"box", "spawner"})
"""The programs that hooks need."""
PROGRAM = "hooks"


@dataclass(frozen=True)
class HookRun:
    """The process that runs them; `strict`: the container stops where it does not end with 0."""

    process: "subprocess.Popen[bytes]"
    strict: bool

    @property
    def pid(self) -> int:
        """Its number, until it is reaped."""
        return self.process.pid


def start(settings: Settings) -> HookRun | None:
    """Start the process that runs the hooks as soon as it can; None where there are none. Its output is the container's."""
    if settings.hooks.init is None and settings.hooks.pre_services is None:
        return None
    command = [sys.executable, "-I", "-m", "sandbox_server", PROGRAM]
    uid, gid, groups = head_start.identity(settings.users.control)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        cwd="/",
        env=dict(head_start.ENVIRONMENT),
        process_group=0,
        user=uid,
        group=gid,
        extra_groups=groups,
    )
    return HookRun(process, settings.hooks.strict)
