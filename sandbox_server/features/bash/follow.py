"""A command's output as events, from any offset on: `status`, `output`, `exit`."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from sandbox_server.core import Event, EventTypes, InvalidArgument, Model
from sandbox_server.features.bash.command import BashCommand, BashCommandState, StreamName
from sandbox_server.features.bash.output import read_text

STREAMS: tuple[StreamName, ...] = ("stdout", "stderr")
CHUNK = 64 << 10
"""Bytes of output in one event."""


class BashProgress(BashCommandState):
    """A command's status, and up to where its output was given."""

    session_id: str
    offset: int
    """Of the session's standard output."""
    stderr_offset: int
    seq: int
    """Bytes of both streams."""


class BashOutputPiece(Model):
    """A piece of a command's output."""

    stream: StreamName
    data: str
    offset: int
    """Up to where the stream was given with it."""
    seq: int
    """Bytes of both streams up to here."""


EVENTS = EventTypes("BashCommandEvent", {"status": BashProgress, "output": BashOutputPiece, "exit": BashProgress})


@dataclass(frozen=True, slots=True)
class BashPosition:
    """A reader's offsets. An event's `id` holds them, so that `Last-Event-ID` resumes there."""

    session_id: str
    command_id: str
    stdout: int
    stderr: int

    @property
    def seq(self) -> int:
        """Bytes of both streams so far, which grows with every `output` event."""
        return self.stdout + self.stderr

    def __str__(self) -> str:
        return f"{self.session_id}/{self.command_id}/{self.stdout}/{self.stderr}"

    @classmethod
    def parse(cls, event_id: str) -> "BashPosition":
        """Parse an event's `id`; raises InvalidArgument if it is malformed."""
        try:
            session_id, command_id, stdout, stderr = event_id.split("/")
            return cls(session_id, command_id, int(stdout), int(stderr))
        except ValueError:
            raise InvalidArgument(f"Last-Event-ID {event_id[:100]!r} is not an id of such a stream") from None


async def follow(command: BashCommand, position: BashPosition, timeout: float | None = None) -> AsyncIterator[Event]:
    """Yield a command's output from `position` until it has ended, or for `timeout` seconds.

    The last event is `exit`, or `status` with `running` after a timeout.
    """
    loop = asyncio.get_running_loop()
    deadline = None if timeout is None else loop.time() + timeout
    yield _described("status", command, position)
    while True:
        change, ended = command.change(), command.ended  # before reading: what comes after is another change
        progress = position
        for name in STREAMS:
            position, text = await _read(command, name, position, ended=ended)
            if text:
                yield _output(name, text, position)
        if ended and position == progress:
            yield _described("exit", command, position)
            return
        remaining = None if deadline is None else deadline - loop.time()
        if remaining is not None and remaining <= 0 and not ended:
            yield _described("status", command, position)
            return
        if position == progress:
            await asyncio.wait([change], timeout=remaining)


async def _read(command: BashCommand, name: StreamName, position: BashPosition, *, ended: bool) -> tuple[BashPosition, str]:
    stream = command.stream(name)
    at = position.stdout if name == "stdout" else position.stderr
    new = await read_text(stream.spool, max(0, at - stream.base), ended=ended, limit=CHUNK)
    end = stream.base + new.end
    return (replace(position, stdout=end) if name == "stdout" else replace(position, stderr=end)), new.text


def _output(name: StreamName, text: str, position: BashPosition) -> Event:
    offset = position.stdout if name == "stdout" else position.stderr
    piece = BashOutputPiece(stream=name, data=text, offset=offset, seq=position.seq)
    return Event("output", piece.model_dump(), str(position))


def _described(event: str, command: BashCommand, position: BashPosition) -> Event:
    progress = BashProgress(
        **dict(command.state()), session_id=position.session_id, offset=position.stdout, stderr_offset=position.stderr, seq=position.seq
    )
    return Event(event, progress.model_dump(), str(position))
