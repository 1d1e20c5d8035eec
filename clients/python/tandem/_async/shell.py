"""Commands."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from tandem._async.connection import AsyncConnection
from tandem.errors import CommandFailed
from tandem.wire import UNSET


@dataclass(frozen=True)
class CommandResult:
    """How a command ended, and what it wrote. `exit_code` is None while `status` is `running`, and where a signal ended it."""

    command: str
    status: str
    exit_code: int | None
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether it exited with 0."""
        return self.exit_code == 0


@dataclass(frozen=True)
class Output:
    """A piece of what a command wrote, to `stdout` or `stderr`."""

    stream: str
    text: str


class AsyncShell:
    """Commands, each in a process of its own."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def run(
        self,
        command: str,
        *,
        check: bool = False,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        """Run a command, as after `bash -c`, and wait for its end.

        `timeout` is in seconds: then the command is killed, and the status is `timed_out`. With `check` CommandFailed is raised unless it
        exits with 0. All of its output is given.
        """
        data = await self._connection.call("POST", "/v1/bash/exec", Any, body=_asked(command, cwd, env, timeout) | {"max_output_length": 0})
        result = CommandResult(command, data["status"], data["exit_code"], data["stdout"] or "", data["stderr"] or "")
        if check and not result.ok:
            raise CommandFailed(command, result.exit_code, result.stderr or result.stdout)
        return result

    async def stream(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> "AsyncIterator[Output | CommandResult]":
        """Run a command, and give its output while it is written; the last is its result, whose output is empty.

        Where the connection breaks it goes on without a gap, and the command runs once.
        """
        body = _asked(command, cwd, env, timeout)
        async for event in self._connection.stream("POST", "/v1/bash/exec", body=body, last=("exit",)):
            if event.name == "output":
                yield Output(event.data["stream"], event.data["data"])
            elif event.name == "exit":
                yield CommandResult(command, event.data["status"], event.data["exit_code"], "", "")


def _asked(command: str, cwd: str | None, env: Mapping[str, str] | None, timeout: float | None) -> dict[str, Any]:
    given = {"exec_dir": cwd, "env": env, "hard_timeout": timeout}
    return {"command": command, **{name: UNSET if value is None else value for name, value in given.items()}}
