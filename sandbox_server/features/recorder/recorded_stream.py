"""A command whose output is streamed: passed on as it is, and recorded once more when the stream ends, with exit code and output."""

from collections.abc import AsyncIterator, Callable
from typing import Any

from sandbox_server.core.results import Event
from sandbox_server.features.recorder.recorded_results import ending_of, piece_of

KEPT = 64 << 10
"""Characters of output that are remembered, the last ones."""

type Ended = Callable[[dict[str, Any], str], None]
"""Takes how a command ended, and the end of what it wrote."""


async def recorded_stream(events: AsyncIterator[Event], ended: Ended) -> AsyncIterator[Event]:
    """Give the events as they come; `ended` is called once, when the command ends or nobody follows it any more."""
    ending: dict[str, Any] = {}
    written = ""
    try:
        async for event in events:
            if isinstance(event.data, dict):
                if event.event in ("exit", "status"):
                    ending = ending_of(event.data)
                elif event.event == "output":
                    written += _text(event.data)
                    if len(written) > 2 * KEPT:
                        written = written[-KEPT:]
            yield event
    finally:
        ended(ending, written[-KEPT:])
        if close := getattr(events, "aclose", None):
            await close()


def _text(data: dict[str, Any]) -> str:
    """What one event says that a command wrote, whichever feature sent it."""
    for name in ("data", "output"):
        if isinstance(data.get(name), str):
            return str(data[name])
    return "".join(piece_of(data))
