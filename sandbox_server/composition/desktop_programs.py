"""Programs on the desktop run as commands of bash."""

from collections.abc import Mapping

from sandbox_server.features.bash.commands import Bash, BashExecRequest
from sandbox_server.features.bash.output import BashOutputRequest
from sandbox_server.features.browser.windows.programs import ProgramState

SHOWN = 4000
"""Characters of standard error in an answer."""


class BashPrograms:
    """Starts commands in sessions of their own (`Commands`)."""

    def __init__(self, bash: Bash) -> None:
        self._bash = bash

    async def start(self, command: str, *, exec_dir: str | None, env: Mapping[str, str | None] | None) -> ProgramState:
        """See `Commands.start`."""
        asked = BashExecRequest(command=command, exec_dir=exec_dir, env=dict(env) if env else None, async_mode=True)
        started = (await self._bash.exec_command(asked)).data
        ended = {"exit_code": started.exit_code, "signal": started.signal, "stderr": ""}
        return ProgramState(session_id=started.session_id, command_id=started.command_id, status=started.status, **ended)

    async def look(self, started: ProgramState) -> ProgramState:
        """See `Commands.look`."""
        output = (await self._bash.output(BashOutputRequest(session_id=started.session_id, command_id=started.command_id))).data
        assert output.command, "the command was named"
        now = {"status": output.command.status, "exit_code": output.command.exit_code, "signal": output.command.signal}
        return started.model_copy(update={**now, "stderr": output.stderr[:SHOWN]})
