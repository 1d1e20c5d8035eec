"""The hooks that come before the services: RUN_HOOK_INIT and RUN_HOOK_PRE_SERVICES.

They run where the agent lives, in the box where there is one, because a command finds there what the agent wrote in an earlier run: a
shell's start-up files, packages of its own, the scripts of a repository. So the box daemon and the spawner run before them, and
everything else waits. They are asked for by a process of control's. Their output gets to the container's by a pipe and a process that
copies, for as long as something that they left running writes: whoever holds a pipe's end may open the other, and the link that signs a
person in is in the container's output.
"""

import os
import subprocess
import sys
from dataclasses import dataclass

from sandbox_server.boot import early_start
from sandbox_server.settings import Settings

NEEDED = frozenset({"box", "spawner"})
"""The programs that hooks need."""
PROGRAM = "hooks"


@dataclass(frozen=True)
class HookRun:
    """The process that runs them, and the one that copies their output; `strict`: the container stops where the first fails."""

    process: "subprocess.Popen[bytes]"
    copier: "subprocess.Popen[bytes]"
    strict: bool

    @property
    def pid(self) -> int:
        """The number of the process that runs them, until it is reaped."""
        return self.process.pid


def start(settings: Settings) -> HookRun | None:
    """Start the process that runs the hooks as soon as it can; None where there are none. Their output gets to the container's."""
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
