"""Servers that do their worst, as real programs: each fails alone, in time, with a reason; the others go on."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ElicitRequest, ElicitResult, InputRequest

from sandbox_server.core import Conflict, Unavailable
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.mcp import message_limits
from sandbox_server.mcp.client_requests.capabilities import ClientAnswer, refused
from sandbox_server.mcp.client_requests.clients import PlainHttpClient
from sandbox_server.mcp.client_requests.correlation import MAX_REQUESTS
from sandbox_server.mcp.servers import stdio_transport, upstream
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.connection import connector
from sandbox_server.mcp.servers.pagination import MAX_LISTED, MAX_PAGES
from sandbox_server.mcp.servers.upstream import UpstreamServer
from sandbox_server.mcp.servers.upstreams import UpstreamServers
from sandbox_server.mcp.tool_filter import ToolFilter
from tests.mcp.conftest import servers_of
from tests.mcp.fake_client import FakeClient
from tests.patience import eventually

pytestmark = pytest.mark.anyio

PROGRAM = str(Path(__file__).parent.parent / "hostile_server.py")

type Start = Callable[[str], UpstreamServer]


@pytest.fixture
async def start(spawner: Any) -> AsyncIterator[Start]:
    """Gives a server of one kind, which runs as a program of its own."""
    made: list[UpstreamServer] = []

    def started(kind: str) -> UpstreamServer:
        config = ServerConfig(command=sys.executable, args=(PROGRAM, kind))
        made.append(UpstreamServer(kind, config, connector(Processes(spawner.socket), "1"), 0))
        return made[-1]

    yield started
    await asyncio.gather(*(each.close() for each in made))


async def text_of(asked: UpstreamServer, calling_client: Any = None) -> str:
    result = await asked.call("fine", {}, calling_client or PlainHttpClient())
    return result.content[0].text  # type: ignore[union-attr] # it is text


async def within[T](seconds: float, work: Awaitable[T]) -> T:
    async with asyncio.timeout(seconds):
        return await work


@pytest.mark.parametrize(("kind", "reason"), [("many", f"more than {MAX_LISTED}"), ("pages", f"more than {MAX_PAGES} pages")])
async def test_a_list_without_end_is_refused_whole_and_not_cut(start: Start, kind: str, reason: str) -> None:
    with pytest.raises(Unavailable, match=reason):
        await within(30, start(kind).tools())


async def test_a_list_that_does_not_come_is_given_up(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "ANSWER_SECONDS", 0.1)
    with pytest.raises(Unavailable, match="nothing came"):
        await within(30, start("slow").tools())


async def test_names_that_hide_something_are_not_shown(start: Start) -> None:
    assert [tool.name for tool in await start("names").tools()] == ["fine", "../../v1/control/take", "sample_add"]


@pytest.mark.parametrize(
    ("kind", "bound", "reason"),
    [
        ("long", {"MAX_MESSAGE": 1 << 16}, "more than 65536 bytes"),
        ("deep", {}, "in more of them than can be read"),
        ("parts", {"MAX_PARTS": 4000}, "more than 4000 lists and objects"),
        ("deaf", {}, "does not read its answers"),
    ],
)
async def test_a_server_that_sends_too_much_is_ended_and_its_call_with_it(
    start: Start, kind: str, bound: dict[str, int], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in bound.items():
        for module in (message_limits, stdio_transport):
            monkeypatch.setattr(module, name, value, raising=False)
    hostile = start(kind)

    with pytest.raises(Conflict, match="went away"):
        await within(60, text_of(hostile))

    await eventually(lambda: hostile.state == "failed")
    assert reason in hostile.reason


async def test_a_server_that_reads_nothing_is_ended_when_something_waits_for_it(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_transport, "WRITE_SECONDS", 0.3)
    hostile = start("stuck")
    calls = [hostile.call("fine", {"text": "x" * (1 << 20)}, PlainHttpClient()) for _ in range(3)]  # it reads one, and no more

    failures = await within(30, asyncio.gather(*calls, return_exceptions=True))

    assert [type(failure) for failure in failures] == [Conflict] * 3
    await eventually(lambda: "has not read its standard input" in hostile.reason)


async def test_a_call_that_is_never_answered_ends_with_its_client(start: Start) -> None:
    call = asyncio.create_task(text_of(start("never")))
    await asyncio.wait([call], timeout=0.5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(10, call)


@pytest.mark.parametrize("kind", ["notices", "ids", "stderr"])
async def test_a_flood_before_an_answer_holds_up_nobody_else(start: Start, kind: str) -> None:
    flooding, calm = start(kind), start("names")
    await calm.tools()
    call = asyncio.create_task(text_of(flooding))
    slowest = 0.0
    while not call.done():
        began = time.thread_time()  # what this loop does meanwhile: how often it has its turn is the machine's affair
        await within(30, text_of(calm))
        slowest = max(slowest, time.thread_time() - began)
    assert await call == f"done {kind}"
    assert slowest < 3


async def test_of_many_questions_at_once_few_reach_the_client(start: Start) -> None:
    client = FakeClient()
    assert await within(60, text_of(start("asks"), client)) == "done asks"
    assert len(client.asked) <= MAX_REQUESTS


class ClientWithoutModel(FakeClient):
    """A client that asks its person, and has no model."""

    async def ask(self, request: InputRequest) -> ClientAnswer:
        return await super().ask(request) if isinstance(request, ElicitRequest) else refused("there is no model")


async def test_a_question_that_pretends_to_be_ours_says_whose_it_is(start: Start) -> None:
    client = ClientWithoutModel(answer=ElicitResult(action="decline"))
    await within(60, text_of(start("asks"), client))
    said = [question.params.message for question in client.asked if isinstance(question, ElicitRequest)]
    assert said
    assert {*said} == {"The MCP server 'asks' asks: Tandem needs your API key"}


async def test_last_words_are_short_and_move_nothing_in_a_terminal(start: Start) -> None:
    hostile = start("dies")
    with pytest.raises(Unavailable):
        await within(30, hostile.tools())
    assert len(hostile.reason) < stdio_transport.MAX_STDERR + message_limits.MAX_REASON + 100
    assert "\x1b" not in hostile.reason


async def test_one_server_of_several_that_does_its_worst_leaves_the_list_of_the_others(spawner: Any) -> None:
    kinds = ("many", "dies", "names")
    configs: dict[str, Any] = {kind: {"command": sys.executable, "args": [PROGRAM, kind]} for kind in kinds}
    _, servers = servers_of(connector(Processes(spawner.socket), "1"), **configs)
    opened: UpstreamServers
    async with servers.open() as opened:
        found = await within(60, opened.listed(ToolFilter(frozenset({"code"}))))
    assert [foreign.name for foreign in found] == ["names_fine", "names_../../v1/control/take", "names_sample_add"]
