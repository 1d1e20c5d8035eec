"""How the tests of bash ask it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from sandbox_server.core import Reply
from sandbox_server.features.bash.commands import Bash, BashExecRequest
from sandbox_server.features.bash.output import BashOutputRequest, BashOutputResult
from sandbox_server.features.bash.session import BashExecResult

Until = Callable[..., None]


async def answered(bash: Bash, command: str, **fields: Any) -> Reply[BashExecResult]:
    with anyio.fail_after(30):
        reply: Reply[BashExecResult] = await bash.exec_command(BashExecRequest(command=command, **fields))
    return reply


async def run(bash: Bash, command: str, **fields: Any) -> BashExecResult:
    return (await answered(bash, command, **fields)).data


async def read(bash: Bash, session_id: str, **fields: Any) -> BashOutputResult:
    with anyio.fail_after(30):
        reply: Reply[BashOutputResult] = await bash.output(BashOutputRequest(session_id=session_id, **fields))
    return reply.data


async def begin(bash: Bash, command: str) -> BashExecResult:
    """Start a command that goes on, and wait for the first thing it says."""
    begun = await run(bash, command, async_mode=True)
    said = await read(bash, begun.session_id, wait=True, wait_timeout=30)
    return begun.model_copy(update={"stdout": said.stdout, "offset": said.offset})


async def ended(bash: Bash, started: BashExecResult) -> BashOutputResult:
    """Poll as the contract tells clients to, and give the last answer with all output since `started`."""
    stdout, stderr, offset, stderr_offset = "", "", started.offset, started.stderr_offset
    while True:
        got = await read(
            bash, started.session_id, command_id=started.command_id, offset=offset, stderr_offset=stderr_offset, wait=True, wait_timeout=30
        )
        stdout, stderr, offset, stderr_offset = stdout + got.stdout, stderr + got.stderr, got.offset, got.stderr_offset
        assert got.command
        if got.command.status != "running":
            return got.model_copy(update={"stdout": stdout, "stderr": stderr})


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
