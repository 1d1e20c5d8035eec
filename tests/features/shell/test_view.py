import asyncio
import subprocess
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest

from sandbox_server.core import Event
from sandbox_server.features.shell.follow import ShellPosition
from sandbox_server.features.shell.session import ShellSession
from sandbox_server.features.shell.state import REPLAY
from sandbox_server.features.shell.view import EVENTS, follow_terminal, screen_text
from tests.event_types import assert_declared
from tests.features.shell.conftest import Runner, Server
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.anyio


@pytest.fixture
async def session(run: Runner, server: Server) -> ShellSession:
    """The session of `run`, with one command done and the prompt shown."""
    await run("echo begin")
    session = await server.sessions.get(run.id)
    assert await session.state.until_ready(PATIENCE_SECONDS)
    return session


def said(event: Event) -> dict[str, Any]:
    """What an event says."""
    assert isinstance(event.data, dict)
    return event.data


async def until(stream: AsyncIterator[Event], text: str) -> list[Event]:
    """Events up to the one whose output, with that of those before, has a text."""
    events: list[Event] = []
    async with asyncio.timeout(30):
        while text not in "".join(said(event).get("output", "") for event in events):
            events.append(await anext(stream))
    assert_declared(EVENTS, events)
    return events


async def test_the_picture_has_commands_and_their_output(run: Runner, session: ShellSession) -> None:
    await run("printf '\\033[31mred\\033[0m\\n'")
    text, hint = await screen_text(session, truncate=True)
    assert "echo begin\nbegin\n" in text
    assert "\nred" in text
    assert hint is None


async def test_what_has_scrolled_away_is_in_the_picture_as_long_as_it_is_remembered(run: Runner, session: ShellSession) -> None:
    await run("seq 1000")
    scrolled = await screen_text(session, truncate=False)
    await run("seq 20000")
    lost = await screen_text(session, truncate=False)
    assert "".join(f"\n{number}" for number in range(1, 1001)) in scrolled[0]
    assert scrolled[1] is None
    assert "20000" in lost[0].splitlines()
    assert "older lines" in (lost[1] or "")


async def test_a_long_picture_is_cut_where_asked(run: Runner, session: ShellSession) -> None:
    await run("seq 9000")
    short, _ = await screen_text(session, truncate=True)
    whole, _ = await screen_text(session, truncate=False)
    assert len(short) <= 30_000 < len(whole)
    assert "characters omitted" in short


async def test_a_terminal_that_is_gone_says_so(server: Server, session: ShellSession) -> None:
    subprocess.run(["tmux", "-S", str(server.shells_directory / "tmux.sock"), "kill-server"], check=True)
    assert await session.state.until(lambda: session.state.over, PATIENCE_SECONDS)
    text, hint = await screen_text(session, truncate=True)
    assert text == ""
    assert "gone" in (hint or "")


async def test_a_viewer_sees_the_screen_then_what_comes_then_the_end(run: Runner, session: ShellSession, server: Server) -> None:
    stream = follow_terminal(session, None)
    async with asyncio.timeout(30):
        first = await anext(stream)
        await run("echo $((6 * 7))")
        await until(stream, "\n42\n")
        await server.sessions.remove(session)
        rest = [event async for event in stream]
    assert (first.event, said(first)["status"]) == ("screen", "completed")
    assert "begin" in said(first)["output"]
    assert rest[-1].event == "exit"
    assert session.state.viewers == set()


async def test_after_an_event_the_stream_goes_on_with_what_came_since(run: Runner, session: ShellSession) -> None:
    stream: AsyncGenerator[Event] = follow_terminal(session, None)  # type: ignore[assignment] # it is one
    seen = await until(stream, "begin")
    await stream.aclose()
    await run("echo meanwhile")
    resumed = await until(follow_terminal(session, ShellPosition.parse(seen[-1].id or "")), "\nmeanwhile\n")
    assert {event.event for event in resumed} == {"output"}
    assert "begin" not in "".join(said(event)["output"] for event in resumed)
    assert [said(event)["seq"] for event in resumed] == sorted(said(event)["seq"] for event in resumed)


async def test_a_viewer_that_fell_behind_is_told_of_the_gap_and_sees_the_screen_anew(session: ShellSession) -> None:
    position = ShellPosition(session.id, "", session.state.log.end)
    for _ in range(REPLAY // 1000 + 10):
        session.output(b"x" * 1000)
    async with asyncio.timeout(30):
        stream = follow_terminal(session, position)
        gap, screen = await anext(stream), await anext(stream)
    assert (gap.event, screen.event) == ("gap", "screen")
    assert said(gap)["from"] == position.offset
    assert said(gap)["to"] == said(gap)["from"] + said(gap)["bytes"] == session.state.log.start
    assert said(screen)["offset"] == session.state.log.end


async def test_after_output_was_missed_the_screen_is_shown_anew(session: ShellSession) -> None:
    stream = follow_terminal(session, None)
    async with asyncio.timeout(30):
        await anext(stream)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.wait([waiting], timeout=0.05)
        session.missed()
        events = [await waiting, await anext(stream)]
    assert [event.event for event in events] == ["gap", "screen"]


async def test_a_position_that_never_was_becomes_the_end(run: Runner, session: ShellSession) -> None:
    stream = follow_terminal(session, ShellPosition(session.id, "", 10**12))
    waiting = asyncio.ensure_future(until(stream, "\nnews\n"))
    async with asyncio.timeout(30):
        while not session.state.viewers:
            await asyncio.wait([waiting], timeout=0.001)
    await run("echo news")
    events = await waiting
    assert events[0].event == "output"
    assert said(events[-1])["offset"] <= session.state.log.end
