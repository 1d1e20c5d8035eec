"""The workspace as the SDK calls it, with a server that answers as a test says; tests/image runs a whole agent in a sandbox."""

import asyncio
import io
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.python.conftest import Server
from tests.clients.python.integrations.boxes import DONE, HELD, boxed

pytest.importorskip("agents", reason="tests/image/test_integrations.py runs these with the framework")
OK = {"status": "completed", "exit_code": 0, "stdout": "/w/a\n", "stderr": ""}


async def session_of(server: Server) -> Any:
    """The adapter's own session, without what the SDK puts round it."""
    from agents.sandbox.manifest import Manifest
    from tandem.integrations.openai_sandbox import TandemSandboxClient

    session = await TandemSandboxClient(boxed(server)).create(manifest=Manifest(root="/w", environment={"value": {"NAME": "Ada"}}))
    return session._inner


def test_a_command_is_run_with_the_manifests_variables_within_its_time(server: Server) -> None:
    from agents.sandbox.errors import ExecTimeoutError

    async def go() -> None:
        session = await session_of(server)
        server.then(200, DONE).then(200, {**DONE, "status": "timed_out", "exit_code": None}).then(423, HELD)
        done = await session.exec("echo a b", timeout=7)
        assert (done.stdout, done.stderr, done.exit_code) == (b"out\n", b"err\n", 3)
        assert (server.body()["command"], server.body()["hard_timeout"]) == ("sh -lc 'echo a b'", 7)
        assert server.body()["env"] == {"NAME": "Ada"}
        with pytest.raises(ExecTimeoutError):
            await session.exec("c")
        held = await session.exec("c")
        assert held.exit_code == 126
        assert b"A person has control of the computer now" in held.stderr

    asyncio.run(go())


def test_a_file_is_read_and_written_once_its_path_was_checked(server: Server) -> None:
    from agents.sandbox.errors import WorkspaceArchiveWriteError, WorkspaceReadNotFoundError

    async def go() -> None:
        session = await session_of(server)
        server.then(200, OK).then(200, OK)
        server.answers.append(httpx.Response(200, content=b"\0\xff"))
        assert (await session.read(Path("a"))).read() == b"\0\xff"
        server.then(200, OK).then(200, OK).then(404)
        with pytest.raises(WorkspaceReadNotFoundError):
            await session.read(Path("a"))
        server.then(200, OK).then(200, OK).then(423, HELD)
        with pytest.raises(WorkspaceArchiveWriteError, match="A person has control"):
            await session.write(Path("a"), io.BytesIO(b"x"))

    asyncio.run(go())


def test_a_session_is_resumed_in_its_own_sandbox_alone_and_ends_none(server: Server) -> None:
    from tandem.integrations.openai_sandbox import TandemSandboxClient

    async def go() -> None:
        client = TandemSandboxClient(boxed(server))
        session = await client.create()
        state = client.deserialize_session_state(client.serialize_session_state(session.state))
        resumed = await client.resume(state)
        assert resumed.state.session_id == session.state.session_id
        await client.delete(session)
        with pytest.raises(ValueError, match="was not in"):
            await client.resume(state.model_copy(update={"url": "http://elsewhere"}))

    asyncio.run(go())
    assert server.asked == []
