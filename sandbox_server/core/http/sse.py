"""Server-sent events: an async iterator of `Event` on the wire, kept alive while it is quiet."""

import asyncio
import logging
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse

from sandbox_server.core.errors import Failure, ResourceExhausted
from sandbox_server.core.http.response_encoding import json_bytes
from sandbox_server.core.quota import NEEDED
from sandbox_server.core.results import Event
from sandbox_server.core.tasks import start_task

HEARTBEAT_SECONDS = 15.0
"""A comment is sent after this much silence, so that proxies keep the connection."""

_log = logging.getLogger(__name__)


def event_stream(events: AsyncIterator[Event], evicted: asyncio.Event | None = None) -> StreamingResponse:
    """Stream events until the iterator ends, the client goes or a person has its place; in every case the iterator is closed."""
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(_frames(events, evicted or asyncio.Event()), media_type="text/event-stream", headers=headers)


async def _frames(events: AsyncIterator[Event], evicted: asyncio.Event) -> AsyncIterator[bytes]:
    pending: asyncio.Task[Event] | None = None
    leaving = start_task(evicted.wait())
    try:
        while True:
            pending = pending or start_task(anext(events))
            done, _ = await asyncio.wait({pending, leaving}, timeout=HEARTBEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if evicted.is_set():
                yield _failed(ResourceExhausted(NEEDED))
                return
            if not done:
                yield b": keep-alive\n\n"
                continue
            finished, pending = pending, None
            yield _frame(finished.result())
    except StopAsyncIteration:
        return
    except Failure as failure:
        yield _failed(failure)
    except Exception:  # noqa: BLE001 - the top of a stream: the client is told, the log has the trace
        _log.exception("an event stream failed")
        yield _frame(Event("error", {"kind": "internal", "message": "Internal error"}))
    finally:
        leaving.cancel()
        if pending is not None:
            pending.cancel()
            await asyncio.gather(pending, return_exceptions=True)
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


def _failed(failure: Failure) -> bytes:
    return _frame(Event("error", {"kind": failure.kind, "message": failure.message, "hint": failure.hint}))


def _frame(event: Event) -> bytes:
    lines = [b"event: " + event.event.encode(), b"data: " + json_bytes(event.data)]
    if event.id is not None:
        lines.insert(0, b"id: " + event.id.encode())
    return b"\n".join(lines) + b"\n\n"
