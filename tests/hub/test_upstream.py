import asyncio
from collections.abc import AsyncIterator

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import Tool, ToolListChangedNotification

from sandbox_server.core import Conflict, Unavailable
from sandbox_server.hub import upstream as module
from sandbox_server.hub.configuration import ServerConfig
from sandbox_server.hub.upstream import Upstream
from tests.hub import sample_server
from tests.hub.conftest import Line
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
async def upstream(line: Line) -> AsyncIterator[Upstream]:
    """The sample behind the hub."""
    made = Upstream("sample", ServerConfig(command="sample"), line.connect, 0)
    yield made
    await made.close()


async def test_it_is_started_when_it_is_needed_and_once(upstream: Upstream, line: Line) -> None:
    assert (upstream.state, line.opened) == ("stopped", 0)

    names = await asyncio.gather(*(upstream.tools() for _ in range(3)))

    assert {tool.name for tool in names[0]} == {"echo", "sample_sum", "fail", "die", "wait"}
    assert (upstream.state, line.opened) == ("running", 1)


async def test_what_a_tool_gives_is_passed_on(upstream: Upstream) -> None:
    assert (await upstream.call("echo", {"text": "hello"}, None)).structured_content == {"result": "hello"}
    failed = await upstream.call("fail", {}, None)
    assert failed.is_error
    assert "fail" in str(failed.content)


async def test_progress_comes_through_and_cancelling_reaches_the_tool(upstream: Upstream) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    call = asyncio.create_task(upstream.call("wait", {"mark": "unit"}, report))
    await eventually(lambda: told)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    await eventually(lambda: "unit" in sample_server.cancelled)
    assert told == [(1, 3, "one of three")]


async def test_it_is_started_again_after_it_ended(upstream: Upstream, line: Line) -> None:
    await upstream.tools()
    line.ended.set()
    await eventually(lambda: upstream.state == "failed")

    assert (await upstream.call("echo", {"text": "again"}, None)).structured_content == {"result": "again"}
    assert (line.opened, upstream.state) == (2, "running")


async def test_one_that_does_not_start_is_tried_again_at_once_and_then_after_a_pause(
    upstream: Upstream, line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    line.fails = [OSError("no way"), OSError("no way"), OSError("no way")]

    for _ in range(2):
        with pytest.raises(Unavailable, match="no way; it said: no such thing"):
            await upstream.tools()
    with pytest.raises(Unavailable, match="does not work: no way") as paused:
        await upstream.tools()

    assert line.opened == 2
    assert "no way" in caplog.text
    assert "no such thing" not in caplog.text, "what a server says may hold a key"
    assert paused.value.retry_after
    assert upstream.state == "failed"


async def test_one_that_takes_too_long_is_given_up(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "START_SECONDS", 0.0)

    with pytest.raises(Unavailable, match="did not answer within"):
        await upstream.tools()


async def test_an_idle_one_is_stopped_and_its_tools_are_remembered(line: Line) -> None:
    upstream = Upstream("sample", ServerConfig(command="sample"), line.connect, 0.01)
    await upstream.tools()
    await eventually(lambda: line.closed)

    assert upstream.state == "stopped"
    assert upstream.known_tools
    assert (await upstream.call("echo", {"text": "back"}, None)).structured_content == {"result": "back"}
    await upstream.close()


async def test_tools_that_changed_are_asked_for_again(upstream: Upstream) -> None:
    upstream.remember([Tool(name="old", input_schema={"type": "object"})])
    assert [tool.name for tool in await upstream.tools()] == ["old"]

    upstream._on_notice(ToolListChangedNotification())

    assert "echo" in [tool.name for tool in await upstream.tools()]


async def test_resources_are_listed_and_read(upstream: Upstream) -> None:
    assert [str(resource.uri) for resource in await upstream.resources()] == ["sample://note"]
    assert [template.uri_template for template in await upstream.templates()] == ["sample://note/{name}"]
    assert "note x" in str(await upstream.read("sample://note/x"))


async def test_a_refusal_of_the_server_is_passed_on(upstream: Upstream) -> None:
    with pytest.raises(MCPError):
        await upstream.read("sample://nothing")


async def test_a_server_that_goes_away_during_a_call_is_no_invitation_to_repeat_it(line: Line) -> None:
    upstream = Upstream("sample", ServerConfig(command="sample"), line.connect, 0)
    call = asyncio.create_task(upstream.call("wait", {"mark": "gone"}, None))
    await eventually(lambda: upstream.state == "running")
    line.ended.set()

    with pytest.raises(Conflict, match="went away while wait ran"):
        await call
    await upstream.close()


async def test_the_box_goes_on_before_a_program_in_it_is_used(line: Line) -> None:
    woken: list[bool] = []

    async def wake() -> None:
        woken.append(True)

    upstream = Upstream("sample", ServerConfig(command="sample"), line.connect, 0, wake)
    await upstream.tools()
    await upstream.call("echo", {"text": "x"}, None)

    assert len(woken) >= 2
    await upstream.close()
