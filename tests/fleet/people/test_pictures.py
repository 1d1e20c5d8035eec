"""Pictures of screens: few, small, and nothing that is no picture."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tandem_fleet.people import pictures as module
from tandem_fleet.people.answers import UnusableAnswer
from tandem_fleet.people.pictures import Pictures, UnusablePicture
from tandem_fleet.people.sandbox_calls import SandboxCalls

from tests.fleet.people.sandboxes import ready
from tests.fleet.stub_sandbox import StubSandbox, jpeg
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
async def pictures(calls: SandboxCalls) -> AsyncIterator[Pictures]:
    """Pictures whose changes nobody hears."""
    made = Pictures(calls, lambda _: None)
    yield made
    await made.close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        b"\x89PNG\r\n\x1a\n" + b"x" * 100,
        b"\xff\xd8\xff",
        jpeg()[:12],
        jpeg(1281, 10),
        jpeg(10, 65_535),
        jpeg(0, 10),
        b"\xff\xd8\xff\xe0\x00\x00" * 50,
    ],
)
async def test_what_is_no_small_jpeg_is_not_shown(pictures: Pictures, stub: StubSandbox, content: bytes) -> None:
    stub.picture = content
    one = ready(stub.address)
    with pytest.raises(UnusablePicture):
        await pictures.take(one)
    assert pictures.get(one.id) is None


async def test_a_picture_that_did_not_change_is_not_sent_again(pictures: Pictures, stub: StubSandbox) -> None:
    one = ready(stub.address)
    assert await pictures.take(one)
    version = pictures.version(one.id)
    assert not await pictures.take(one)
    assert stub.captures == 1
    stub.picture = jpeg(mark=b"another")
    assert await pictures.take(one)
    assert pictures.version(one.id) != version


async def test_who_is_private_is_seen_no_more_and_who_is_away_as_last_seen(pictures: Pictures, stub: StubSandbox) -> None:
    one = ready(stub.address)
    await pictures.take(one)
    stub.answers["GET /v1/screen"] = (503, {})
    with pytest.raises(UnusablePicture):
        await pictures.take(one)
    assert pictures.get(one.id)
    stub.answers["GET /v1/screen"] = (423, {"message": "private"})
    with pytest.raises(UnusablePicture, match="private"):
        await pictures.take(one)
    assert pictures.get(one.id) is None


async def test_what_is_in_sight_is_looked_at_again_and_nothing_else(
    calls: SandboxCalls, stub: StubSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.01)
    monkeypatch.setattr(module, "STILL_SECONDS", 0.01)
    told: list[str] = []
    pictures = Pictures(calls, told.append)
    one = ready(stub.address)
    await pictures.look_at({one.id: one})
    await eventually(lambda: len(stub.requests) > 3)
    assert told == [one.id]
    stub.picture = jpeg(mark=b"another")
    await eventually(lambda: told == [one.id] * 2)
    await pictures.look_at({})
    count = len(stub.requests)
    await pictures.close()
    assert len(stub.requests) == count


async def test_what_is_in_sight_may_change_while_it_is_changed(calls: SandboxCalls, stub: StubSandbox) -> None:
    pictures = Pictures(calls, lambda _: None)
    several = {one.id: one for one in (ready(stub.address, f"s{number}") for number in range(5))}
    await asyncio.gather(*(pictures.look_at(several if at % 2 else {}) for at in range(8)), pictures.close())
    assert pictures._looking == {}


async def test_one_that_hangs_holds_up_no_other(calls: SandboxCalls, stub: StubSandbox) -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    hung = ready(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "hung")
    one = ready(stub.address)
    told: list[str] = []
    pictures = Pictures(calls, told.append)
    await pictures.look_at({hung.id: hung, one.id: one})
    await eventually(lambda: told == [one.id], 4)
    await pictures.close()
    server.close()


async def test_an_answer_that_does_not_come_is_said(pictures: Pictures) -> None:
    with pytest.raises(UnusableAnswer):
        await pictures.take(ready("http://127.0.0.1:9"))
