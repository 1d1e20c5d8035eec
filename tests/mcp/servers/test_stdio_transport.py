"""The sample server as a program of the agent's, started by a real spawner, spoken to by the SDK's client."""

import asyncio
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from sandbox_server.core import NotFound
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.stdio_transport import MAX_STDERR, StderrTail, stdio_transport
from tests.mcp.conftest import program
from tests.patience import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
def processes(spawner) -> Processes:  # type: ignore[no-untyped-def]
    return Processes(spawner.socket)


async def test_the_sdk_speaks_with_a_program_of_the_agents(processes: Processes, tmp_path: Path) -> None:
    said, ended = StderrTail(), asyncio.Event()
    config = ServerConfig(**program("--noise"), env={"MARK": "x"})
    async with Client(stdio_transport(processes, config, ended, said), mode="legacy", cache=None) as client:
        large = "ü" * 300_000
        answered = await client.call_tool("echo", {"text": large})
        assert answered.structured_content == {"result": large}
        assert not ended.is_set()
        with pytest.raises(MCPError):
            await client.call_tool("die", {})
        await asyncio.wait_for(ended.wait(), 30)
    assert "this is the sample" in str(said)


async def test_a_program_that_cannot_be_started_says_so(processes: Processes) -> None:
    with pytest.raises(NotFound, match="no-such-program"):
        async with stdio_transport(processes, ServerConfig(command="/no-such-program"), asyncio.Event(), StderrTail()):
            pass


async def test_the_program_ends_with_the_connection(processes: Processes, tmp_path: Path) -> None:
    note = "import sys, os; print(os.getpid(), file=sys.stderr, flush=True); sys.stdin.read(); import time; time.sleep(1000)"
    said = StderrTail()
    async with stdio_transport(processes, ServerConfig(command=sys.executable, args=("-c", note)), asyncio.Event(), said):
        await eventually(lambda: str(said))
        assert Path(f"/proc/{said}").exists()
    await eventually(lambda: not Path(f"/proc/{said}").exists())


def test_the_last_words_are_kept() -> None:
    said = StderrTail()
    said.take(b"first" * MAX_STDERR)
    said.take(b" last\n")

    assert str(said).endswith("first last")
    assert len(str(said)) <= MAX_STDERR
