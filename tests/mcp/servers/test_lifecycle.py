"""The lifecycle of an upstream server."""

from collections.abc import AsyncIterator

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.mcp.client_requests.clients import PlainHttpClient
from sandbox_server.mcp.servers import lifecycle as module
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.upstream import UpstreamServer
from tests.mcp.conftest import InProcessConnector
from tests.patience import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
async def upstream(in_process: InProcessConnector) -> AsyncIterator[UpstreamServer]:
    """The sample as an upstream server."""
    made = UpstreamServer("sample", ServerConfig(command="sample"), in_process.connect, 0)
    yield made
    await made.close()


async def test_an_ended_server_is_restarted(upstream: UpstreamServer, in_process: InProcessConnector) -> None:
    await upstream.tools()
    in_process.ended.set()
    await eventually(lambda: upstream.state == "failed")

    assert (await upstream.call("echo", {"text": "again"}, PlainHttpClient())).structured_content == {"result": "again"}
    assert (in_process.opened, upstream.state) == (2, "running")


async def test_a_server_that_fails_to_start_is_retried_at_once_and_then_after_a_pause(
    upstream: UpstreamServer, in_process: InProcessConnector, caplog: pytest.LogCaptureFixture
) -> None:
    in_process.fails = [OSError("no way"), OSError("no way"), OSError("no way")]

    for _ in range(2):
        with pytest.raises(Unavailable, match="no way; it said: no such thing"):
            await upstream.tools()
    with pytest.raises(Unavailable, match="does not work: no way") as paused:
        await upstream.tools()

    assert in_process.opened == 2
    assert "no way" in caplog.text
    assert "no such thing" not in caplog.text, "what a server says may hold a key"
    assert paused.value.retry_after
    assert upstream.state == "failed"


async def test_a_server_that_starts_too_slowly_fails(upstream: UpstreamServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "START_SECONDS", 0.0)

    with pytest.raises(Unavailable, match="did not answer within"):
        await upstream.tools()


async def test_an_idle_one_is_stopped_and_its_tools_are_remembered(in_process: InProcessConnector) -> None:
    upstream = UpstreamServer("sample", ServerConfig(command="sample"), in_process.connect, 0.01)
    await upstream.tools()
    await eventually(lambda: in_process.closed)

    assert upstream.state == "stopped"
    assert upstream.known_tools
    assert (await upstream.call("echo", {"text": "back"}, PlainHttpClient())).structured_content == {"result": "back"}
    await upstream.close()


async def test_the_box_goes_on_before_a_program_in_it_is_used(in_process: InProcessConnector) -> None:
    woken: list[bool] = []

    async def wake() -> None:
        woken.append(True)

    upstream = UpstreamServer("sample", ServerConfig(command="sample"), in_process.connect, 0, wake)
    await upstream.tools()
    await upstream.call("echo", {"text": "x"}, PlainHttpClient())

    assert len(woken) >= 2
    await upstream.close()


def test_the_pause_has_a_most_however_often_a_server_fails() -> None:
    assert [module._backoff(failures) for failures in (0, 1, 2, 3, 8, 2000)] == [0.0, 0.0, 1.0, 2.0, module.MAX_BACKOFF, module.MAX_BACKOFF]
