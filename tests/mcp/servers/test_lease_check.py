"""Whether servers may be asked, as the API says who has the shells."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.errors import HeldByHuman, Unavailable
from sandbox_server.mcp.client_requests.clients import PlainHttpClient
from sandbox_server.mcp.servers import lease_check as module
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.lease_check import LeaseCheck
from sandbox_server.mcp.servers.upstream import UpstreamServer
from sandbox_server.mcp.servers.upstreams import UpstreamServers
from tests.mcp.conftest import InProcessConnector, servers_of

pytestmark = pytest.mark.anyio

HELD = {"state": "human", "holder": "ann", "epoch": 3, "scope": ["shell"], "private": None}


@asynccontextmanager
async def api(folder: Path, answer: bytes) -> AsyncIterator[LeaseCheck]:
    """An API that answers this to anything."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_unix_server(serve, folder / "api.sock"):
        yield LeaseCheck(str(folder / "api.sock"))


def told(**control: Any) -> bytes:
    return b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps({"success": True, "data": HELD | control}).encode()


@pytest.mark.parametrize("control", [{"state": "agent", "holder": None}, {"state": "shared"}, {"scope": ["gui", "cdp"]}])
async def test_while_the_shells_are_left_to_programs_servers_are_asked(tmp_path: Path, control: dict[str, Any]) -> None:
    async with api(tmp_path, told(**control)) as turn:
        await turn()


@pytest.mark.parametrize("control", [{}, {"state": "frozen"}, {"private": "ann"}])
async def test_while_a_person_has_the_shells_they_are_not(tmp_path: Path, control: dict[str, Any]) -> None:
    async with api(tmp_path, told(**control)) as turn:
        with pytest.raises(HeldByHuman) as refused:
            await turn()
    assert refused.value.details["reason"] == "held_by_human"
    assert refused.value.details["epoch"] == 3


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 503 X\r\n\r\n{}", told(scope=None)])
async def test_what_cannot_be_told_counts_as_held(tmp_path: Path, answer: bytes) -> None:
    async with api(tmp_path, answer) as turn:
        with pytest.raises(Unavailable):
            await turn()


async def test_an_api_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.01)

    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_unix_server(silence, tmp_path / "api.sock"):
        with pytest.raises(Unavailable):
            await LeaseCheck(str(tmp_path / "api.sock"))()


async def test_a_held_server_is_neither_started_nor_fed(in_process: InProcessConnector) -> None:
    async def held() -> None:
        raise HeldByHuman("ann has control")

    upstream = UpstreamServer("sample", ServerConfig(command="x"), in_process.connect, 0, admit=held)
    for asked in (
        upstream.tools(),
        upstream.prompts(),
        upstream.resources(),
        upstream.templates(),
        upstream.read("sample://note"),
        upstream.subscribe("sample://note"),
        upstream.call("echo", {"text": "x"}, PlainHttpClient()),
        upstream.prompt("greet", None, PlainHttpClient()),
    ):
        with pytest.raises(HeldByHuman):
            await asked
    assert (in_process.opened, upstream.state) == (0, "stopped")
    await upstream.close()


async def test_the_servers_of_the_image_keep_to_the_gateways_rules_and_are_asked_all_the_time(in_process: InProcessConnector) -> None:
    async def held() -> None:
        raise HeldByHuman("ann has control")

    sources, _ = servers_of(in_process.connect, sample={"command": "x"})
    servers = UpstreamServers(sources, in_process.connect, idle_seconds=0, admit=held)
    async with servers.open():
        assert await servers.all()["sample"].tools()
