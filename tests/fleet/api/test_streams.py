"""Answers that go on."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from fastapi import Request
from tandem_fleet.api import streams as module
from tandem_fleet.api.api_keys import ApiKeys
from tandem_fleet.api.app import build
from tandem_fleet.api.authorization import Scope, SharedKey
from tandem_fleet.api.streams import Streams, while_known
from tandem_fleet.errors import ConflictError
from tandem_fleet.fleet import Fleet
from tandem_fleet.store.tenants import TenantStore

pytestmark = pytest.mark.anyio


def asked(fleet: Fleet, *headers: tuple[str, str]) -> Request:
    """A request with these headers."""
    app = build(fleet, ApiKeys(TenantStore(fleet.database), SharedKey("operators")))
    raw = [(name.encode(), value.encode()) for name, value in headers]
    return Request({"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": raw, "app": app})


class Lines:
    """Lines that come when they are put, and what became of them."""

    def __init__(self) -> None:
        self.coming: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.closed = False

    async def __call__(self) -> AsyncIterator[bytes]:
        try:
            while (line := await self.coming.get()) is not None:
                yield line
        finally:
            self.closed = True


async def test_a_stream_ends_when_its_key_is_revoked_also_while_nothing_happens(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.02)
    store, lines = TenantStore(fleet.database), Lines()
    made, secret = await store.create_key("default", "ci", [Scope.READ], None)
    stream = while_known(asked(fleet, ("authorization", f"Bearer {secret}")), lines())
    lines.coming.put_nowait(b"one")
    assert await anext(stream) == b"one"
    waiting = asyncio.ensure_future(anext(stream, None))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    await store.revoke_key("default", made.id)
    assert await asyncio.wait_for(waiting, 30) is None
    assert lines.closed


async def test_a_stream_ends_with_its_session_also_while_lines_come(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.0)
    secret, _ = await fleet.people.begin_session(await fleet.people.make_ticket("default", "ann", ["people"]))
    lines = Lines()
    stream = while_known(asked(fleet, ("cookie", f"tandem_session={secret}"), ("host", "fleet")), lines())
    for line in (b"one", b"two", b"three"):
        lines.coming.put_nowait(line)
    assert await anext(stream) == b"one"
    await fleet.people.end_sessions("default")
    assert [line async for line in stream] == []
    assert lines.closed


async def test_lines_that_end_end_the_stream(fleet: Fleet) -> None:
    lines = Lines()
    lines.coming.put_nowait(b"one")
    lines.coming.put_nowait(None)
    stream = while_known(asked(fleet, ("authorization", "Bearer operators")), lines())
    assert [line async for line in stream] == [b"one"]


async def test_who_hangs_up_leaves_nothing_open(fleet: Fleet) -> None:
    lines, streams = Lines(), Streams()
    stream = streams.begin("default", while_known(asked(fleet, ("authorization", "Bearer operators")), lines()))
    lines.coming.put_nowait(b"one")
    assert await anext(stream) == b"one"
    await stream.aclose()  # type: ignore[attr-defined] # a generator
    assert lines.closed
    assert not streams._open["default"]


async def test_a_revoked_keys_events_end(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.05)
    store = TenantStore(fleet.database)
    made, secret = await store.create_key("default", "ci", [Scope.READ], None)
    app = build(fleet, ApiKeys(store, SharedKey("operators")))
    headers = {"Authorization": f"Bearer {secret}"}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://fleet", headers=headers) as http:
        reading = asyncio.ensure_future(http.get("/v1/events"))
        await asyncio.sleep(0.2)
        assert not reading.done()
        await store.revoke_key("default", made.id)
        assert (await asyncio.wait_for(reading, 30)).text == ": events\n\n"


async def test_a_tenant_has_so_many_streams_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = Streams()

    async def lines() -> AsyncIterator[bytes]:
        yield b"a"
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "MOST_STREAMS", 1)
    first, other = streams.begin("one", lines()), streams.begin("two", lines())
    assert (await anext(first), await anext(other)) == (b"a", b"a")
    with pytest.raises(ConflictError):
        streams.begin("one", lines())
    for stream in (first, other):
        await stream.aclose()  # type: ignore[attr-defined] # a generator
    again = streams.begin("one", lines())
    assert await anext(again) == b"a"
    await again.aclose()  # type: ignore[attr-defined] # a generator
