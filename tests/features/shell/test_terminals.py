"""Terminals that are opened: which session they show, and why there is none."""

import asyncio

import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.drivers.shells.shells import ShellStart
from sandbox_server.features.shell.session import ShellProfile, ShellSession
from sandbox_server.features.shell.terminals import TerminalRequest
from tests.features.shell.conftest import Server, Shell
from tests.features.shell.test_terminal import Page

pytestmark = pytest.mark.anyio

CALL = Call(Caller("person", person=True), "request")


@pytest.fixture
async def session(shell: Shell, server: Server) -> ShellSession:
    """A person's session."""
    return await server.sessions.create(ShellProfile("main", personal=True), ShellStart(str(server.home)))


async def test_a_session_that_is_gone_is_refused_with_a_reason(session: ShellSession, shell: Shell, server: Server) -> None:
    await server.sessions.remove(session)
    page = Page()
    async with asyncio.timeout(30):
        await shell.terminals.terminal(TerminalRequest(session_id="main"), page, CALL)
    assert page.messages == [{"type": "error", "data": "Session not found"}]
    assert page.closed == (4404, "Session not found")


async def test_without_a_session_one_is_made(shell: Shell, server: Server) -> None:
    page = Page()
    shown = asyncio.create_task(shell.terminals.terminal(TerminalRequest(), page, CALL))
    await page.until(lambda: page.output)
    page.give(None)
    async with asyncio.timeout(30):
        await shown
    (made,) = await server.sessions.all()
    assert page.all("session_id")[0]["data"] == made.id
    assert made.profile.personal
