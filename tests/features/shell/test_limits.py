"""How many sessions there may be, whoever asks for them at the same time."""

import asyncio
import subprocess

import pytest

from sandbox_server.core import NotFound, ResourceExhausted, Unavailable
from sandbox_server.drivers.shells.shells import Start
from sandbox_server.features.shell.feature import Shell
from sandbox_server.features.shell.session import Profile, Session
from sandbox_server.features.shell.sessions import RETRY_AFTER, Sessions
from sandbox_server.features.shell.wire import ShellExecRequest
from tests.features.shell.conftest import Runner, Server

pytestmark = pytest.mark.anyio

AT_ONCE = 1e-9
"""Seconds for which every session is idle."""


async def create(sessions: Sessions, session_id: str) -> Session:
    return await sessions.create(Profile(session_id), Start("/"))


async def ids(server: Server) -> list[str]:
    return sorted(session.id for session in await server.sessions.all())


async def test_one_session_too_many_is_told_when_to_try_again_and_how_to_make_room(server: Server) -> None:
    async with server.serving(limit=2):
        first = await create(server.sessions, "one")
        await create(server.sessions, "two")
        with pytest.raises(ResourceExhausted, match="all 2 shell sessions") as caught:
            await create(server.sessions, "three")
        await server.sessions.remove(first)
        await create(server.sessions, "three")
        assert await ids(server) == ["three", "two"]
    assert caught.value.retry_after == RETRY_AFTER
    assert "DELETE /v1/shell/sessions" in (caught.value.hint or "")


async def test_the_session_that_is_idle_longest_makes_room(server: Server) -> None:
    async with server.serving(limit=2, evict_after=AT_ONCE):
        await create(server.sessions, "one")
        await create(server.sessions, "two")
        await server.sessions.get("one")
        await create(server.sessions, "three")
        assert await ids(server) == ["one", "three"]
        with pytest.raises(NotFound, match="Session not found"):
            await server.sessions.find("two")


async def test_a_session_that_was_used_lately_is_not_closed_to_make_room(server: Server) -> None:
    async with server.serving(limit=1, evict_after=3600):
        await create(server.sessions, "one")
        with pytest.raises(ResourceExhausted):
            await create(server.sessions, "two")
        assert await ids(server) == ["one"]


async def test_a_busy_session_is_never_closed_to_make_room(server: Server) -> None:
    async with server.serving(limit=1, evict_after=AT_ONCE) as shell:
        await Runner(shell, "one")("sleep 600", timeout=0)
        with pytest.raises(ResourceExhausted):
            await create(server.sessions, "two")
        assert await ids(server) == ["one"]


async def test_a_session_that_is_being_opened_is_not_closed_to_make_room(server: Server) -> None:
    async with server.serving(limit=1, evict_after=AT_ONCE):
        results = await asyncio.gather(*(create(server.sessions, name) for name in ("one", "two")), return_exceptions=True)
        assert [type(result) for result in results] == [Session, ResourceExhausted]


async def test_callers_at_once_never_make_more_sessions_than_allowed(server: Server) -> None:
    async with server.serving(limit=2, evict_after=AT_ONCE):
        await create(server.sessions, "one")
        await create(server.sessions, "two")
        wanted = [create(server.sessions, name) for name in ("three", "four", "five")]
        async with asyncio.timeout(30):
            results = await asyncio.gather(*wanted, return_exceptions=True)
        assert {type(result) for result in results} <= {Session, ResourceExhausted}
        assert len(await ids(server)) == 2


async def test_callers_who_want_the_same_session_at_once_get_the_same(server: Server) -> None:
    async with server.serving(limit=1):
        one, other = await asyncio.gather(create(server.sessions, "one"), create(server.sessions, "one"))
        assert one is other
        assert await ids(server) == ["one"]


async def test_a_session_that_is_closed_while_it_opens_says_so_at_once(shell: Shell, server: Server) -> None:
    opening = asyncio.create_task(create(server.sessions, "one"))
    async with asyncio.timeout(30):
        while not (listed := await server.sessions.all()):
            await asyncio.wait([opening], timeout=0.001)
        await server.sessions.remove(listed[0])
        with pytest.raises(Unavailable):
            await opening
    assert await ids(server) == []


async def test_a_shell_that_does_not_start_takes_no_room(shell: Shell, server: Server) -> None:
    (server.home / ".bashrc").write_text("exit 1\n")
    with pytest.raises(Unavailable, match="exit code 1"):
        await server.sessions.create(Profile("one", personal=True), Start("/", environment={"HOME": str(server.home)}))
    assert await ids(server) == []
    assert await server.sessions.find("one") is None


async def test_commands_at_once_without_a_session_are_refused_beyond_the_limit_and_not_mixed(server: Server) -> None:
    async with server.serving(limit=2) as shell:
        requests = [shell.exec_command(ShellExecRequest(command=f"sleep 0.3; echo {number}")) for number in range(3)]
        replies = await asyncio.gather(*requests, return_exceptions=True)
        done = [reply.data for reply in replies if not isinstance(reply, BaseException)]
        assert len({result.session_id for result in done}) == len(done) == 2
        assert {result.output for result in done} < {"0\n", "1\n", "2\n"}
        assert [type(reply) for reply in replies if isinstance(reply, BaseException)] == [ResourceExhausted]


async def test_a_session_keeps_what_it_was_created_with_through_a_restart(server: Server) -> None:
    async with server.serving():
        before = await server.sessions.create(Profile("one", personal=True, no_change_timeout=7.0), Start("/usr"))
    async with server.serving():
        after = await server.sessions.get("one")
    assert after is not before
    assert (after.profile, after.state.directory) == (before.profile, "/usr")


async def test_a_session_whose_terminal_went_with_the_server_is_opened_again_where_it_was(server: Server) -> None:
    async with server.serving() as shell:
        await Runner(shell, "one")("cd /usr; lost=yes")
    subprocess.run(["tmux", "-S", str(server.shells_directory / "tmux.sock"), "kill-server"], check=True)
    async with server.serving() as shell:
        status = (await server.sessions.get("one")).status
        runner = Runner(shell, "one")
        result = await runner("echo $PWD:$lost")
    assert (status, result.output) == ("terminated", "/usr:\n")
    assert "a new one was opened in /usr" in (runner.hint or "")


async def test_a_server_that_stops_before_it_has_found_its_sessions_does_not_forget_them(server: Server) -> None:
    async with server.serving() as shell:
        await Runner(shell, "one")("kept=yes")
    async with server.serving():
        pass  # it has not even begun to look
    async with server.serving() as shell:
        assert (await Runner(shell, "one")("echo $kept")).output == "yes\n"
