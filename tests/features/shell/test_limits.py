"""How many sessions there may be, whoever asks for them at the same time."""

import asyncio
import subprocess

import pytest

from sandbox_server.core import NotFound, ResourceExhausted, Unavailable
from sandbox_server.drivers.session_table import RETRY_AFTER
from sandbox_server.drivers.shells.shells import ShellStart
from sandbox_server.features.shell.commands import ExecuteBashRequest, ShellExecRequest
from sandbox_server.features.shell.session import ShellSession
from sandbox_server.features.shell.session_management import ShellCreateSessionRequest
from sandbox_server.features.shell.session_profile import ShellProfile
from sandbox_server.features.shell.sessions import ShellSessions
from sandbox_server.features.shell.state import ShellState
from tests.features.shell.conftest import CALL, Runner, Server, Shell
from tests.patience import eventually

pytestmark = pytest.mark.anyio

AT_ONCE = 1e-9
"""Seconds for which every session is idle."""


async def create(sessions: ShellSessions, session_id: str) -> ShellSession:
    return await sessions.create(ShellProfile(session_id), ShellStart("/"))


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
        assert [type(result) for result in results] == [ShellSession, ResourceExhausted]


async def test_callers_at_once_never_make_more_sessions_than_allowed(server: Server) -> None:
    async with server.serving(limit=2, evict_after=AT_ONCE):
        await create(server.sessions, "one")
        await create(server.sessions, "two")
        wanted = [create(server.sessions, name) for name in ("three", "four", "five")]
        async with asyncio.timeout(30):
            results = await asyncio.gather(*wanted, return_exceptions=True)
        assert {type(result) for result in results} <= {ShellSession, ResourceExhausted}
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
        await server.sessions.create(ShellProfile("one", personal=True), ShellStart("/", environment={"HOME": str(server.home)}))
    assert await ids(server) == []
    assert await server.sessions.find("one") is None


@pytest.mark.parametrize("startup", ["exit 1", "exec sleep 600", "exec yes"])
async def test_a_person_gets_a_shell_whatever_the_start_up_files_do(
    shell: Shell, server: Server, startup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    until_ready, patience = ShellState.until_ready, iter((3.0,))  # of the first shell; what comes of the second one is waited for

    async def until_first_ready(state: ShellState, _: float) -> bool:
        return await until_ready(state, next(patience, 30.0))

    monkeypatch.setattr(ShellState, "until_ready", until_first_ready)
    (server.home / ".bashrc").write_text(f"{startup}\n")
    start = ShellStart("/", environment={"HOME": str(server.home)})
    made = await server.sessions.create(ShellProfile("hers", personal=True, by_person=True), start)
    assert (await Runner(shell, "hers")("echo in")).output == "in\n"
    assert b"left out" in b"".join((await made.started.capture()).lines)


async def at_once(shell: Shell, count: int, command: str, **options: object) -> list[object]:
    """Give so many commands without a session; their results, or what was raised."""
    requests = [ShellExecRequest.model_validate({"command": f"{command}; echo {number}", **options}) for number in range(count)]
    async with asyncio.timeout(60):
        replies = await asyncio.gather(*map(shell.commands.exec_command, requests), return_exceptions=True)
    return [reply if isinstance(reply, BaseException) else reply.data for reply in replies]


async def test_commands_at_once_without_a_session_wait_for_one_and_are_not_mixed(server: Server) -> None:
    async with server.serving(limit=2) as shell:
        done = await at_once(shell, 14, "sleep 0.1")
        assert [result.output for result in done] == [f"{number}\n" for number in range(14)]  # type: ignore[attr-defined]
        assert len({result.session_id for result in done}) == 2  # type: ignore[attr-defined]


async def test_tool_calls_at_once_wait_for_a_session_too(server: Server) -> None:
    async with server.serving(limit=2) as shell, asyncio.timeout(60):
        replies = await asyncio.gather(
            *(shell.commands.execute_bash(ExecuteBashRequest(cmd=f"echo n{number}n"), CALL) for number in range(12))
        )
        assert [reply.data.output for reply in replies] == [f"n{number}n\n" for number in range(12)]


async def test_a_command_waits_for_a_session_no_longer_than_for_its_end_and_is_told_when_to_try_again(server: Server) -> None:
    async with server.serving(limit=2) as shell:
        await at_once(shell, 2, "sleep 60", timeout=0)
        began = asyncio.get_running_loop().time()
        (refused,) = await at_once(shell, 1, "true", timeout=7)
        waited = asyncio.get_running_loop().time() - began
        assert isinstance(refused, ResourceExhausted)
        assert (refused.message, refused.retry_after) == ("all 2 shell sessions are in use", 7)
        assert 6.9 <= waited < 30
        (at_once_refused,) = await at_once(shell, 1, "true", timeout=0)
        assert isinstance(at_once_refused, ResourceExhausted)


async def test_what_was_spent_on_waiting_for_a_session_is_taken_from_the_time_of_the_command(server: Server) -> None:
    async with server.serving(limit=1) as shell:
        first = asyncio.create_task(at_once(shell, 1, "sleep 4"))
        await eventually(server.sessions.all, lambda sessions: sessions and sessions[0].state.busy)
        began = asyncio.get_running_loop().time()
        (second,) = await at_once(shell, 1, "sleep 600", timeout=8.0)
        waited = asyncio.get_running_loop().time() - began
        await first
        assert second.status == "running"  # type: ignore[attr-defined]
        assert waited < 11.5


async def test_who_stops_waiting_for_a_session_leaves_it_to_the_next(server: Server) -> None:
    async with server.serving(limit=1) as shell:
        await at_once(shell, 1, "read -r line", timeout=0)
        impatient = [asyncio.create_task(at_once(shell, 1, "true")) for _ in range(3)]
        await asyncio.sleep(0)
        patient = asyncio.create_task(at_once(shell, 1, "echo in"))
        await asyncio.sleep(0)
        for task in impatient:
            task.cancel()
        (busy,) = await server.sessions.all()
        await busy.type(b"\r")
        (result,) = await patient
        assert result.output.startswith("in\n")  # type: ignore[attr-defined]


async def test_idle_sessions_of_commands_without_one_make_room_for_everybody_else(server: Server) -> None:
    async with server.serving(limit=2) as shell:
        await at_once(shell, 2, "sleep 0.1")
        assert (await Runner(shell, "mine")("echo in")).output == "in\n"
        created = await shell.sessions.create_session(ShellCreateSessionRequest(id="other"))
        assert "was closed to make room" in (created.hint or "")
        assert await ids(server) == ["mine", "other"]
        (refused,) = await at_once(shell, 1, "true")  # nothing that could become free: it is told at once
        assert isinstance(refused, ResourceExhausted)


async def test_restarts_of_the_whole_machine_use_the_same_session_again(server: Server) -> None:
    used = set()
    for _ in range(11):
        async with server.serving(limit=2) as shell:
            (done,) = await at_once(shell, 1, "echo hi")
            used.add(done.session_id)  # type: ignore[attr-defined]
        subprocess.run(["tmux", "-S", str(server.shells_directory / "tmux.sock"), "kill-server"], check=True)
    assert len(used) == 1


async def test_sessions_that_died_make_room(server: Server) -> None:
    async with server.serving(limit=2) as shell:
        await at_once(shell, 2, "sleep 0.1")
    subprocess.run(["tmux", "-S", str(server.shells_directory / "tmux.sock"), "kill-server"], check=True)
    async with server.serving(limit=2) as shell:
        assert (await Runner(shell, "named")("echo in")).output == "in\n"
        assert len(await ids(server)) == 2


async def test_named_sessions_that_died_make_room_and_their_names_may_be_used_anew(server: Server) -> None:
    async with server.serving(limit=2) as shell:
        await Runner(shell, "one")("true")
        await Runner(shell, "two")("true")
    subprocess.run(["tmux", "-S", str(server.shells_directory / "tmux.sock"), "kill-server"], check=True)
    async with server.serving(limit=2) as shell:
        stats = await shell.sessions.get_session_stats()
        created = await shell.sessions.create_session(ShellCreateSessionRequest(id="three"))
        assert await ids(server) == ["three", "two"]
        again = Runner(shell, "one")
        assert (await again("echo in")).output == "in\n"
    assert (stats.total_sessions, stats.ended_sessions, stats.usage_ratio) == (2, 2, 0.0)
    assert created.hint == "a shell that had ended made room"
    assert "there was no session 'one': it was created" in (again.hint or "")


async def test_a_session_keeps_what_it_was_created_with_through_a_restart(server: Server) -> None:
    async with server.serving():
        before = await server.sessions.create(ShellProfile("one", personal=True, owner="ann", no_change_timeout=7.0), ShellStart("/usr"))
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
