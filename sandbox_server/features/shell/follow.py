"""A command's output, and a session's terminal, as events that can be resumed: `status`, `output`, `gap`, `exit`."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from sandbox_server.core import Event, EventTypes, InvalidArgument, Model
from sandbox_server.core.tasks import start_task
from sandbox_server.features.shell.command import BashCommandStatus, RunningCommand
from sandbox_server.features.shell.text import increment

CHUNK = 64 << 10
"""Bytes of output in one event, about."""


class ShellCommandProgress(Model):
    """A command's status, and up to where its output was given."""

    session_id: str
    command: str
    status: BashCommandStatus
    exit_code: int | None
    """Exit code, where one was observed."""
    hint: str | None
    offset: int
    """Bytes of output up to here."""
    seq: int
    """The same."""


class ShellOutputPiece(Model):
    """A piece of what a command, or the terminal, wrote, as plain text."""

    output: str
    offset: int
    """Bytes of output up to here."""
    seq: int
    """The same."""


class ShellGap(Model):
    """Bytes that are not kept any more."""

    start: int = Field(serialization_alias="from", description="Offset of the first.")
    end: int = Field(serialization_alias="to", description="Offset behind the last.")
    size: int = Field(serialization_alias="bytes", description="How many there are.")


EVENTS = EventTypes(
    "ShellCommandEvent", {"status": ShellCommandProgress, "output": ShellOutputPiece, "gap": ShellGap, "exit": ShellCommandProgress}
)


@dataclass(frozen=True, slots=True)
class ShellPosition:
    """Where a reader is; an event's `id` holds it, so that `Last-Event-ID` resumes there."""

    session_id: str
    token: str
    """The command; empty for the terminal of the session."""
    offset: int
    """Bytes up to here."""

    def __str__(self) -> str:
        return f"{self.session_id}/{self.token}/{self.offset}"

    @classmethod
    def parse(cls, event_id: str) -> "ShellPosition":
        """Read an event's `id`; raises InvalidArgument for anything else."""
        try:
            session_id, token, offset = event_id.split("/")
            return cls(session_id, token, int(offset))
        except ValueError:
            raise InvalidArgument(f"Last-Event-ID {event_id[:200]!r} is not an id of such a stream") from None


def gap_event(position: ShellPosition, start: int) -> Event:
    """Say that bytes between a position and `start` are not kept any more."""
    gap = ShellGap(start=position.offset, end=start, size=start - position.offset)
    return Event("gap", gap.model_dump(by_alias=True), str(replace(position, offset=start)))


def output_event(position: ShellPosition, text: str) -> Event:
    """Say what came up to `position`."""
    piece = ShellOutputPiece(output=text, offset=position.offset, seq=position.offset)
    return Event("output", piece.model_dump(), str(position))


async def follow(command: RunningCommand, position: ShellPosition, timeout: float | None, no_change_timeout: float) -> AsyncIterator[Event]:
    """Give a command's output from `position` until it has ended, or as long as `RunningCommand.settle` waits.

    The last event is `exit`, or `status` with `running` or `no_change_timeout`.
    """
    settled = start_task(command.settle(timeout, no_change_timeout))
    try:
        yield _described("status", command, position, command.status)
        while True:
            change, over = command.change(), settled.done()  # before reading: what comes after is another change
            start, raw = command.capture.read(position.offset, CHUNK)
            text, used = increment(raw, last=command.ended and start + len(raw) == command.capture.size)
            if start > position.offset:
                yield gap_event(position, start)
            position = replace(position, offset=start + used)
            if text:
                yield output_event(position, text)
            if over and not used:
                yield _described("exit" if command.ended else "status", command, position, settled.result())
                return
            if not used:
                waited: list[asyncio.Future[Any]] = [change, settled]
                await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    finally:
        settled.cancel()


def _described(event: str, command: RunningCommand, position: ShellPosition, status: BashCommandStatus) -> Event:
    progress = ShellCommandProgress(
        session_id=position.session_id,
        command=command.text,
        status=status,
        exit_code=command.exit_code,
        hint=command.hint,
        offset=position.offset,
        seq=position.offset,
    )
    return Event(event, progress.model_dump(), str(position))
