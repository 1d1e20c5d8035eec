"""Servers over Streamable HTTP and on standard streams, both the SDK's own."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
import uvicorn
from pydantic import HttpUrl

from sandbox_server.core import Unavailable
from sandbox_server.drivers.process import Processes
from sandbox_server.hub.configuration import ServerConfig
from sandbox_server.hub.connection import connecting
from sandbox_server.hub.upstream import Upstream
from tests.hub.conftest import program
from tests.hub.sample_server import server
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """The sample over HTTP."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(server.streamable_http_app(), log_config=None)
        serving = uvicorn.Server(config)
        task = asyncio.create_task(serving.serve([listener]))
        await eventually(lambda: serving.started)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        serving.should_exit = True
        await task


async def test_a_url_is_reached_with_its_headers(url: str, spawner) -> None:  # type: ignore[no-untyped-def]
    connect = connecting(Processes(spawner.socket), "1")
    upstream = Upstream("remote", ServerConfig(url=HttpUrl(url), headers={"X-Key": "k"}), connect, 0)
    try:
        assert "echo" in [tool.name for tool in await upstream.tools()]
        assert (await upstream.call("echo", {"text": "far"}, None)).structured_content == {"result": "far"}
        assert [str(resource.uri) for resource in await upstream.resources()] == ["sample://note"]
    finally:
        await upstream.close()


async def test_a_url_where_nobody_listens_is_said(spawner) -> None:  # type: ignore[no-untyped-def]
    upstream = Upstream("remote", ServerConfig(url=HttpUrl("http://127.0.0.1:9/mcp")), connecting(Processes(spawner.socket), "1"), 0)
    try:
        with pytest.raises(Unavailable, match="remote"):
            await upstream.tools()
    finally:
        await upstream.close()


async def test_a_program_that_died_is_started_again(spawner) -> None:  # type: ignore[no-untyped-def]
    upstream = Upstream("sample", ServerConfig(**program()), connecting(Processes(spawner.socket), "1"), 0)
    try:
        with pytest.raises(Exception, match="went away while die ran"):
            await upstream.call("die", {}, None)
        await eventually(lambda: upstream.state == "failed")
        assert (await upstream.call("echo", {"text": "again"}, None)).structured_content == {"result": "again"}
    finally:
        await upstream.close()


async def test_a_program_that_ends_at_once_tells_why(spawner) -> None:  # type: ignore[no-untyped-def]
    upstream = Upstream("sample", ServerConfig(**program("--die")), connecting(Processes(spawner.socket), "1"), 0)
    try:
        with pytest.raises(Unavailable, match="it lacks a key"):
            await upstream.tools()
    finally:
        await upstream.close()
