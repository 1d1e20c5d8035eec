"""Failures of the client; its requests are in tests/mcp/test_internal_api.py, with a real MCP process."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Conflict, InvalidArgument, NotFound, Unavailable
from sandbox_server.drivers.clients import mcp_process as module
from sandbox_server.drivers.clients.mcp_process import McpProcessClient

pytestmark = pytest.mark.anyio


async def asked(folder: Path, answer: bytes) -> Any:
    """Call a tool of an MCP process that answers this to anything."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_unix_server(serve, folder / "mcp.sock"):
        return await McpProcessClient(str(folder / "mcp.sock")).call("s", "t", {}, {})


def refusal(status: int, **told: Any) -> bytes:
    return f"HTTP/1.1 {status} X\r\n\r\n{json.dumps(told)}".encode()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal(404, kind="not_found", message="no MCP server 's'"), NotFound),
        (refusal(400, kind="invalid_argument", message="no"), InvalidArgument),
        (refusal(503, kind="unavailable", message="no", retry_after=2), Unavailable),
        (refusal(500, message="no"), Conflict),
        (b"", Conflict),
    ],
)
async def test_a_refusal_keeps_its_kind_and_a_broken_answer_is_no_invitation_to_repeat(
    tmp_path: Path, answer: bytes, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        await asked(tmp_path, answer)


async def test_a_hub_that_does_not_answer_about_its_servers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.01)

    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_unix_server(silence, tmp_path / "mcp.sock"):
        with pytest.raises(Unavailable):
            await McpProcessClient(str(tmp_path / "mcp.sock")).status({})
