import asyncio
from collections.abc import AsyncIterator

import pytest

from sandbox_server.core import Conflict, Event
from sandbox_server.core.http import sse
from sandbox_server.core.http.sse import event_stream

pytestmark = pytest.mark.anyio


async def text(events: AsyncIterator[Event]) -> str:
    response = event_stream(events)
    return "".join([bytes(chunk).decode() async for chunk in response.body_iterator])  # type: ignore[arg-type]


async def test_an_event_carries_its_name_data_and_id() -> None:
    async def events() -> AsyncIterator[Event]:
        yield Event("output", {"text": "a\nü"}, "7")
        yield Event("exit", None)

    assert await text(events()) == 'id: 7\nevent: output\ndata: {"text":"a\\nü"}\n\nevent: exit\ndata: null\n\n'


async def test_text_that_is_no_unicode_is_escaped() -> None:
    async def events() -> AsyncIterator[Event]:
        yield Event("output", {"text": "\udcff"})

    assert 'data: {"text":"\\udcff"}' in await text(events())


async def test_silence_is_filled_so_that_proxies_keep_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.01)
    quiet = asyncio.Event()

    async def events() -> AsyncIterator[Event]:
        await quiet.wait()
        yield Event("exit", 0)

    heard = []
    async for chunk in event_stream(events()).body_iterator:
        heard.append(chunk)
        if len(heard) == 2:
            quiet.set()

    assert heard[:2] == [b": keep-alive\n\n"] * 2
    assert heard[-1] == b"event: exit\ndata: 0\n\n"


async def test_a_failure_half_way_is_an_event_of_the_stream() -> None:
    async def events() -> AsyncIterator[Event]:
        yield Event("output", 1)
        raise Conflict("the session ended", hint="open another")

    assert (await text(events())).endswith(
        'event: error\ndata: {"kind":"conflict","message":"the session ended","hint":"open another"}\n\n'
    )


async def test_a_defect_half_way_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    async def events() -> AsyncIterator[Event]:
        yield Event("output", 1)
        raise RuntimeError("a secret of ours")

    answer = await text(events())
    assert "secret" not in answer
    assert 'event: error\ndata: {"kind":"internal"' in answer
    assert "a secret of ours" in caplog.text


async def test_a_client_that_goes_closes_what_it_listened_to() -> None:
    closed = asyncio.Event()

    async def events() -> AsyncIterator[Event]:
        try:
            yield Event("output", 1)
            await asyncio.Event().wait()
        finally:
            closed.set()

    body = event_stream(events()).body_iterator
    await anext(body)  # type: ignore[call-overload]
    waiting = asyncio.ensure_future(anext(body))  # type: ignore[call-overload]
    await asyncio.wait([waiting], timeout=0.01)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert closed.is_set()
