"""Terminals that are opened: which session they show, and why there is none."""

import asyncio

import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.drivers.shells.shells import ShellStart
from sandbox_server.features.shell.session import ShellSession
from sandbox_server.features.shell.session_profile import ShellProfile
from sandbox_server.features.shell.terminals import TerminalRequest
from tests.features.shell.conftest import Runner, Server, Shell
from tests.features.shell.test_terminal import Page, shown_by, terminal
from tests.patience import eventually

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
    await eventually(lambda: page.output)
    page.give(None)
    async with asyncio.timeout(30):
        await shown
    (made,) = await server.sessions.all()
    assert page.all("session_id")[0]["data"] == made.id
    assert made.profile.personal
    assert (made.profile.by_person, made.profile.owner) == (True, "person")


async def test_without_making_one_the_session_that_was_used_last_is_shown(shell: Shell, server: Server) -> None:
    await Runner(shell, "older")("true")
    await Runner(shell, "latest")("echo the agent was here")
    await server.sessions.create(ShellProfile("unused"), ShellStart("/"))
    async with terminal(shell, CALL, create=False) as page:
        await eventually(lambda: "the agent was here" in page.output)

    assert shown_by(page) == "latest"
    assert len(await server.sessions.all()) == 3


async def test_a_session_whose_shell_has_ended_is_shown_where_there_is_no_other(shell: Shell, server: Server) -> None:
    await Runner(shell, "older")("true")
    await Runner(shell, "ended")("exit 3")
    async with terminal(shell, CALL, create=False) as page:
        assert shown_by(page) == "older"
    await server.sessions.remove(await server.sessions.get("older"))
    async with terminal(shell, CALL, create=False) as page:
        assert shown_by(page) == "ended"


async def test_what_was_used_last_is_remembered_when_the_server_starts_again(server: Server) -> None:
    async with server.serving() as shell:
        await Runner(shell, "first")("true")
        await Runner(shell, "second")("true")
        await Runner(shell, "first")("true")
    async with server.serving() as shell, terminal(shell, CALL, create=False) as page:
        assert shown_by(page) == "first"


@pytest.mark.parametrize(("session_id", "reason"), [(None, "there is no session yet"), ("unknown", "Session not found")])
async def test_without_making_one_a_terminal_that_finds_none_says_so(
    shell: Shell, server: Server, session_id: str | None, reason: str
) -> None:
    async with terminal(shell, CALL, session_id, create=False) as page:
        assert page.closed == (4404, reason)
    assert await server.sessions.all() == []
