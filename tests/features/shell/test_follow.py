import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sandbox_server.core import Event, InvalidArgument
from sandbox_server.features.shell.capture import HEAD, TAIL
from sandbox_server.features.shell.command import RunningCommand
from sandbox_server.features.shell.follow import CHUNK, EVENTS, ShellPosition, follow
from tests.event_types import assert_declared
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio

BEGIN = ShellPosition("main", "token", 0)


async def collected(stream: AsyncIterator[Event]) -> list[Event]:
    async with asyncio.timeout(30):
        found = [event async for event in stream]
    assert_declared(EVENTS, found)
    return found


def said(event: Event) -> dict[str, Any]:
    """What an event says."""
    assert isinstance(event.data, dict)
    return event.data


def names(events: list[Event]) -> list[str]:
    return [event.event for event in events]


def text(events: list[Event]) -> str:
    return "".join(said(event)["output"] for event in events if event.event == "output")


def test_a_position_survives_the_wire() -> None:
    position = ShellPosition("a session:1", "token", 12)
    assert ShellPosition.parse(str(position)) == position


@pytest.mark.parametrize("event_id", ["", "a/b", "a/b/x", "a/b/1/2", "17"])
def test_anything_else_is_no_position(event_id: str) -> None:
    with pytest.raises(InvalidArgument, match="Last-Event-ID"):
        ShellPosition.parse(event_id)


async def test_a_command_is_told_from_its_status_to_its_exit() -> None:
    command = RunningCommand("make", "token")
    stream = follow(command, BEGIN, None, 0)
    async with asyncio.timeout(30):
        first = await anext(stream)
        command.wrote(b"one\r\n")
        second = await anext(stream)
        command.wrote(b"two\r\n")
        command.finish("completed", 3)
    rest = await collected(stream)
    assert (first.event, said(first)["status"], said(first)["command"]) == ("status", "running", "make")
    assert (second.event, said(second)) == ("output", {"output": "one\n", "offset": 5, "seq": 5})
    assert names(rest) == ["output", "exit"]
    assert (said(rest[-1])["status"], said(rest[-1])["exit_code"], said(rest[-1])["seq"]) == ("completed", 3, 10)


async def test_the_sequence_only_grows_and_is_in_the_id() -> None:
    command = RunningCommand("make", "token")
    command.wrote(b"x" * (3 * CHUNK))
    command.finish("completed", 0)
    events = await collected(follow(command, BEGIN, None, 0))
    numbers = [said(event)["seq"] for event in events]
    assert names(events) == ["status", "output", "output", "output", "exit"]
    assert numbers == sorted(numbers)
    assert [ShellPosition.parse(event.id or "").offset for event in events] == numbers


async def test_after_any_event_the_stream_goes_on_where_it_was() -> None:
    command = RunningCommand("make", "token")
    raw = "".join(f"\x1b[3{number % 8}mline {number} é日本\x1b[0m\r\n" for number in range(8000))
    command.wrote(raw.encode())
    command.finish("completed", 0)
    events = await collected(follow(command, BEGIN, None, 0))
    whole = text(events)
    assert whole == "".join(f"line {number} é日本\n" for number in range(8000))
    for seen, event in enumerate(events, 1):
        resumed = await collected(follow(command, ShellPosition.parse(event.id or ""), None, 0))
        assert text(events[:seen]) + text(resumed) == whole
        assert resumed[-1].event == "exit"


async def test_bytes_that_are_not_kept_are_a_gap() -> None:
    command = RunningCommand("make", "token")
    for _ in range((HEAD + TAIL) // 1024 + 100):
        command.wrote(b"x" * 1023 + b"\n")
    command.finish("completed", 0)
    events = await collected(follow(command, BEGIN, None, 0))
    (gap,) = [event for event in events if event.event == "gap"]
    assert said(gap) == {"from": HEAD, "to": HEAD + 102_400, "bytes": 102_400}
    assert len(text(events)) == HEAD + TAIL
    assert text(await collected(follow(command, ShellPosition.parse(gap.id or ""), None, 0))) == text(events)[HEAD:]


async def test_a_character_that_comes_in_two_pieces_is_one() -> None:
    command = RunningCommand("make", "token")
    stream = follow(command, BEGIN, None, 0)
    async with asyncio.timeout(30):
        await anext(stream)
        command.wrote("é".encode()[:1])
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.wait([waiting], timeout=0.02)
        early = waiting.done()
        command.wrote("é".encode()[1:])
        event = await waiting
    await stream.aclose()  # type: ignore[attr-defined] # a generator
    assert not early
    assert said(event)["output"] == "é"


async def test_what_stays_unfinished_comes_at_the_end() -> None:
    command = RunningCommand("make", "token")
    command.wrote(b"done\xc3")
    command.finish("completed", 0)
    assert text(await collected(follow(command, BEGIN, None, 0))) == "done\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(("timeout", "silence", "status"), [(0.05, 0.0, "running"), (None, 0.05, "no_change_timeout")])
async def test_where_the_waiting_ends_first_the_last_event_is_a_status(timeout: float | None, silence: float, status: str) -> None:
    command = RunningCommand("make", "token")
    command.wrote(b"some\n")
    events = await collected(follow(command, BEGIN, timeout, silence))
    assert names(events) == ["status", "output", "status"]
    assert (said(events[-1])["status"], said(events[-1])["exit_code"]) == (status, None)
    assert not command.ended


async def test_who_leaves_the_stream_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()
    stream = follow(RunningCommand("make", "token"), BEGIN, None, 0)
    await anext(stream)
    during = asyncio.all_tasks()
    await stream.aclose()  # type: ignore[attr-defined] # a generator
    await asyncio.wait(during - before, timeout=PATIENCE_SECONDS)
    assert during > before
    assert asyncio.all_tasks() == before
