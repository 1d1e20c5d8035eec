"""An execution's outputs as events, from any position on: `status`, `output`, `exit`."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from sandbox_server.core import Event, EventTypes, InvalidArgument
from sandbox_server.core.hints import join_hints
from sandbox_server.drivers.kernels.execution import Execution
from sandbox_server.features.jupyter.execution import JupyterOutputPiece, JupyterProgress, output_model

EVENTS = EventTypes("JupyterExecutionEvent", {"status": JupyterProgress, "output": JupyterOutputPiece, "exit": JupyterProgress})


@dataclass(frozen=True, slots=True)
class ExecutionPosition:
    """A reader's position. An event's `id` holds it, so that `Last-Event-ID` resumes there."""

    session_id: str
    execution_id: str
    seen: int
    """Number of outputs so far."""

    def __str__(self) -> str:
        return f"{self.session_id}/{self.execution_id}/{self.seen}"

    @classmethod
    def parse(cls, event_id: str) -> "ExecutionPosition":
        """Parse an event's `id`; raises InvalidArgument if it is malformed."""
        try:
            session_id, execution_id, seen = event_id.split("/")
            return cls(session_id, execution_id, max(0, int(seen)))
        except ValueError:
            raise InvalidArgument(f"Last-Event-ID {event_id[:200]!r} is not an id of such a stream") from None


async def follow(execution: Execution, position: ExecutionPosition) -> AsyncIterator[Event]:
    """Yield an execution's outputs from `position` on as they come, and then its end."""
    yield _described("status", execution, position)
    while True:
        change, ended = execution.change(), execution.ended  # before reading: what comes after is another change
        for output in execution.outputs[position.seen :]:
            position = replace(position, seen=position.seen + 1)
            piece = JupyterOutputPiece(**dict(output_model(output)), seq=position.seen)
            yield Event("output", piece.model_dump(exclude_none=True), str(position))
        if ended:
            yield _described("exit", execution, position)
            return
        await asyncio.wait([change])


def _described(event: str, execution: Execution, position: ExecutionPosition) -> Event:
    progress = JupyterProgress(
        session_id=position.session_id,
        msg_id=execution.id,
        status=execution.status,
        execution_count=execution.execution_count,
        exit_code=execution.exit_code,
        dropped_bytes=execution.dropped,
        hint=join_hints(*execution.notes),
        seq=position.seen,
    )
    return Event(event, progress.model_dump(), str(position))
