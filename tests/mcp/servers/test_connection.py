"""Servers over Streamable HTTP and on standard streams, both the SDK's own."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from mcp.shared.exceptions import MCPError
from pydantic import HttpUrl

from sandbox_server.core import Failure, Unavailable
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.mcp.client_requests.clients import PlainHttpClient
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.connection import connector
from sandbox_server.mcp.servers.upstream import UpstreamServer
from tests.mcp.conftest import SAMPLE, program
from tests.patience import eventually, until

pytestmark = pytest.mark.anyio


@contextmanager
def served(port: int) -> Iterator[str]:
    """The sample over HTTP, in a process of its own."""
    process = subprocess.Popen([sys.executable, SAMPLE, "--http", str(port)], stderr=subprocess.DEVNULL)
    try:
        until(lambda: connects(port))
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free: int = probe.getsockname()[1]
        return free


async def test_a_url_is_reached_with_its_headers(port: int, spawner) -> None:  # type: ignore[no-untyped-def]
    with served(port) as url:
        config = ServerConfig(url=HttpUrl(url), headers={"X-Key": "k"})
        upstream = UpstreamServer("remote", config, connector(Processes(spawner.socket), "1"), 0)
        try:
            assert "echo" in [tool.name for tool in await upstream.tools()]
            assert (await upstream.call("echo", {"text": "far"}, PlainHttpClient())).structured_content == {"result": "far"}
            assert [str(resource.uri) for resource in await upstream.resources()] == ["sample://note"]
        finally:
            await upstream.close()


async def test_a_server_over_http_that_was_away_is_reached_again(port: int, spawner) -> None:  # type: ignore[no-untyped-def]
    upstream = UpstreamServer(
        "remote", ServerConfig(url=HttpUrl(f"http://127.0.0.1:{port}/mcp")), connector(Processes(spawner.socket), "1"), 0
    )
    try:
        with served(port):
            assert (await upstream.call("echo", {"text": "one"}, PlainHttpClient())).structured_content == {"result": "one"}
        with pytest.raises((Failure, MCPError)):
            await upstream.call("echo", {"text": "two"}, PlainHttpClient())
        with served(port):
            await eventually(lambda: answers(upstream))
    finally:
        await upstream.close()


async def answers(upstream: UpstreamServer) -> bool:
    try:
        return not (await upstream.call("echo", {"text": "x"}, PlainHttpClient())).is_error
    except (Failure, MCPError):
        return False


async def test_a_url_where_nobody_listens_is_said(spawner) -> None:  # type: ignore[no-untyped-def]
    upstream = UpstreamServer("remote", ServerConfig(url=HttpUrl("http://127.0.0.1:9/mcp")), connector(Processes(spawner.socket), "1"), 0)
    try:
        with pytest.raises(Unavailable, match="remote"):
            await upstream.tools()
    finally:
        await upstream.close()


async def test_a_program_that_died_is_started_again(spawner) -> None:  # type: ignore[no-untyped-def]
    upstream = UpstreamServer("sample", ServerConfig(**program()), connector(Processes(spawner.socket), "1"), 0)
    try:
        with pytest.raises(Exception, match="went away while die ran"):
            await upstream.call("die", {}, PlainHttpClient())
        await eventually(lambda: upstream.state == "failed")
        assert (await upstream.call("echo", {"text": "again"}, PlainHttpClient())).structured_content == {"result": "again"}
    finally:
        await upstream.close()


async def test_a_program_that_ends_at_once_tells_why(spawner) -> None:  # type: ignore[no-untyped-def]
    upstream = UpstreamServer("sample", ServerConfig(**program("--die")), connector(Processes(spawner.socket), "1"), 0)
    try:
        with pytest.raises(Unavailable, match="it lacks a key"):
            await upstream.tools()
    finally:
        await upstream.close()


def connects(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
