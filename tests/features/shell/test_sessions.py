"""Which sessions there are, and what becomes of them when the server starts again."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable

import pytest

from sandbox_server.core import Conflict, InvalidArgument, NotFound, ResourceExhausted
from sandbox_server.features.shell.command import RunningCommand
from sandbox_server.features.shell.commands import ExecuteBashRequest, ShellExecRequest
from sandbox_server.features.shell.processes import ShellViewRequest, ShellWaitRequest
from sandbox_server.features.shell.session import ShellSession
from sandbox_server.features.shell.session_management import ShellCreateSessionRequest, ShellSessionRef, ShellUpdateSessionRequest
from sandbox_server.features.shell.session_profile import ShellId
from tests.features.shell.asking import process_exists
from tests.features.shell.conftest import CALL, Runner, Server, Shell
from tests.patience import eventually

pytestmark = pytest.mark.anyio


async def implicit(shell: Shell, command: str, **options: object) -> str:
    """Run a command that names no session; gives the session it ran in."""
    request = ShellExecRequest.model_validate({"command": command, **options})
    session_id: str = (await shell.commands.exec_command(request)).data.session_id
    return session_id


async def test_a_session_that_was_never_seen_is_made_and_said(shell: Shell) -> None:
    runner = Runner(shell, "brand new")
    result = await runner("echo hi")

    assert (result.session_id, result.output) == ("brand new", "hi\n")
    assert "'brand new': it was created" in (runner.hint or "")


async def test_a_session_that_is_gone_is_not_found_with_the_message_of_the_contract(shell: Shell) -> None:
    runner = Runner(shell, "short")
    await runner("true")
    await shell.sessions.cleanup_session(ShellSessionRef(session_id="short"))

    with pytest.raises(NotFound) as raised:
        await runner("true")
    assert (raised.value.message, raised.value.hint, raised.value.details) == ("Session not found", None, {})


async def test_a_session_that_is_gone_can_be_created_again(shell: Shell) -> None:
    await Runner(shell, "again")("x=old")
    await shell.sessions.cleanup_session(ShellSessionRef(session_id="again"))
    await shell.sessions.create_session(ShellCreateSessionRequest(id="again"))

    assert (await Runner(shell, "again")("echo $x.")).output == ".\n"


@pytest.mark.parametrize(
    ("called", "request_"),
    [
        (lambda shell: shell.processes.view, ShellViewRequest(id="x")),
        (lambda shell: shell.processes.wait_for_process, ShellWaitRequest(id="x")),
        (lambda shell: shell.processes.kill_process, ShellId(id="x")),
        (lambda shell: shell.sessions.update_session, ShellUpdateSessionRequest(id="x")),
    ],
)
async def test_only_exec_makes_a_session(
    shell: Shell, called: Callable[[Shell], Callable[[ShellId], Awaitable[object]]], request_: ShellId
) -> None:
    with pytest.raises(NotFound, match="Session not found"):
        await called(shell)(request_)


@pytest.mark.parametrize("session_id", ["a/b", "a\nb", "x" * 129])
async def test_an_id_that_cannot_be_in_a_path_is_refused(shell: Shell, session_id: str) -> None:
    with pytest.raises(InvalidArgument):
        await shell.sessions.create_session(ShellCreateSessionRequest(id=session_id))


async def test_commands_without_a_session_share_one_while_it_is_idle(shell: Shell) -> None:
    first = await implicit(shell, "cd /usr")
    second = await implicit(shell, "pwd")

    assert first == second


async def test_commands_without_a_session_run_side_by_side(shell: Shell) -> None:
    used = await asyncio.gather(*(implicit(shell, "sleep 0.3") for _ in range(3)))

    assert len(set(used)) == 3


async def test_a_session_that_somebody_named_is_not_used_for_other_commands(shell: Shell) -> None:
    await Runner(shell, "mine")("true")

    assert await implicit(shell, "true") != "mine"


async def test_one_session_too_many_is_refused_and_none_is_closed(shell: Shell) -> None:
    for name in "abcd":
        await Runner(shell, name)("true")
    with pytest.raises(ResourceExhausted) as raised:
        await Runner(shell, "e")("true")

    assert raised.value.retry_after
    assert sorted(await shell.listed()) == ["a", "b", "c", "d"]
    assert (await Runner(shell, "a")("echo still")).output == "still\n"


async def test_an_idle_session_makes_room_where_that_was_asked_for(server: Server) -> None:
    async with server.serving(limit=2, evict_after=0.001) as shell:
        await Runner(shell, "a")("true")
        await Runner(shell, "b")("sleep 60", timeout=0)
        await Runner(shell, "c")("true")
        with pytest.raises(NotFound):
            await Runner(shell, "a")("true")

        assert sorted(await shell.listed()) == ["b", "c"]


async def test_a_tool_call_goes_on_in_the_same_shell_or_in_a_new_one(shell: Shell) -> None:
    await shell.commands.execute_bash(ExecuteBashRequest(cmd="x=1", cwd="/usr"), CALL)
    same = (await shell.commands.execute_bash(ExecuteBashRequest(cmd="echo $x $PWD"), CALL)).data
    other = (await shell.commands.execute_bash(ExecuteBashRequest(cmd="echo $x.", new_session=True), CALL)).data
    later = (await shell.commands.execute_bash(ExecuteBashRequest(cmd="echo $x."), CALL)).data

    assert same.output == "1 /usr\n"
    assert (other.output, later.output) == (".\n", ".\n")
    assert later.session_id == other.session_id != same.session_id


async def test_new_shells_of_tool_calls_make_room_for_each_other(shell: Shell) -> None:
    for _ in range(6):
        reply = await shell.commands.execute_bash(ExecuteBashRequest(cmd="true", new_session=True), CALL)

    assert "closed to make room" in (reply.hint or "")
    assert (await shell.sessions.get_session_stats()).total_sessions == 4


async def test_a_server_that_starts_again_finds_its_sessions(server: Server) -> None:
    async with server.serving() as shell:
        await Runner(shell, "kept")("cd /usr; x=1")
        await Runner(shell, "gone")("true")
        await shell.sessions.cleanup_session(ShellSessionRef(session_id="gone"))
    async with server.serving() as shell:
        result = await Runner(shell, "kept")("echo $x $PWD")
        with pytest.raises(NotFound):
            await Runner(shell, "gone")("true")

    assert result.output == "1 /usr\n"


async def test_a_command_that_ran_through_a_restart_is_still_known_to_run(server: Server) -> None:
    async with server.serving() as shell:
        await Runner(shell, "s")("sleep 60", timeout=0)
    async with server.serving() as shell:
        listed = (await shell.listed())["s"]
        with pytest.raises(Conflict, match="sleep 60"):
            await Runner(shell, "s")("true")
        await shell.processes.kill_process(ShellId(id="s"))
        after = await Runner(shell, "s")("echo after")

    assert (listed.status, listed.current_command) == ("running", "sleep 60")
    assert after.output == "after\n"


async def test_a_command_that_ended_during_a_restart_leaves_its_session_idle(server: Server) -> None:
    trigger = server.home / "go"
    os.mkfifo(trigger)
    trigger.chmod(0o666)
    async with server.serving() as shell:
        await Runner(shell, "s")(f"cd /usr; read <{trigger}; sh -c 'exit 7'", timeout=0)
    trigger.write_text("\n")
    status = await _status_file(server)
    async with server.serving() as shell:
        result = await Runner(shell, "s")("echo $? $PWD")

    assert status.split(b"\0")[1:3] == [b"7", b"/usr"]
    assert result.output == "7 /usr\n"


async def test_a_command_that_ends_after_a_restart_gives_its_code(server: Server) -> None:
    async with server.serving() as shell:
        await Runner(shell, "s")("read x; sh -c 'exit 9'", timeout=0)
    async with server.serving() as shell:
        session = await server.sessions.get("s")
        await session.type(b"\r")
        await shell.processes.wait_for_process(ShellWaitRequest(id="s", seconds=30))
        viewed = await shell.processes.view(ShellViewRequest(id="s"))

    assert (viewed.data.status, viewed.data.exit_code) == ("completed", 9)
    assert "missing" in (viewed.hint or "")


async def test_a_tmux_that_was_killed_is_said_and_replaced(server: Server) -> None:
    async with server.serving() as shell:
        runner = Runner(shell, "s")
        running = asyncio.create_task(runner("cd /usr; sleep 6001"))
        await eventually(lambda: process_exists("sleep 6001"))  # of no other test
        subprocess.run(["tmux", "-S", str(server.shells_directory / "tmux.sock"), "kill-server"], check=True)
        lost = await running
        after = await runner("pwd")

    assert (lost.status, lost.exit_code) == ("terminated", None)
    assert after.status == "completed"
    assert "a new one was opened" in (runner.hint or "")


async def test_a_broken_connection_to_tmux_is_made_again_without_losing_the_status(server: Server) -> None:
    async with server.serving() as shell:
        runner = Runner(shell, "s")
        await runner("true")
        session = await server.sessions.get("s")
        command = asyncio.create_task(runner("read x; echo got $x; sh -c 'exit 5'"))
        await eventually(lambda: _running_command(session), lambda running: running is not None and running.begun)
        subprocess.run(["tmux", "-S", str(server.shells_directory / "tmux.sock"), "detach-client", "-s", "tandem"], check=True)
        await eventually(lambda: _running_command(session), lambda running: running is not None and running.hints)
        await session.type(b"it\r")  # it has looked back after connecting again
        result = await command

    assert (result.status, result.exit_code) == ("completed", 5)


async def test_a_command_whose_caller_left_before_its_start_was_heard_is_known_to_run(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with server.serving() as shell:
        runner = Runner(shell, "s")
        await runner("true")
        session = await server.sessions.get("s")
        heard = session.state.marked
        monkeypatch.setattr(session.state, "marked", lambda mark: None if mark.kind == "start" else heard(mark))
        leaving = asyncio.create_task(runner("sleep 6002"))
        await eventually(lambda: process_exists("sleep 6002"))  # of no other test
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        with pytest.raises(Conflict, match="sleep 6002"):
            await runner("true")


async def _status_file(server: Server) -> bytes:
    async def found() -> list[bytes]:
        written = [file.read_bytes() for file in server.shells_directory.glob("*.status")]
        return [status for status in written if status.count(b"\0") == 3]  # whole: token, exit code, directory

    return (await eventually(found))[0]


async def _running_command(session: ShellSession) -> RunningCommand | None:
    return session.state.running


async def end_terminals(server: Server) -> None:
    """End the tmux server as the end of a box does: nothing of it is left."""
    pid = os.pidfd_open(int((await server.tmux.ask("display-message -p '#{pid}'"))[0]))
    signal.pidfd_send_signal(pid, signal.SIGKILL)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(pid, ended.set)
    await asyncio.wait_for(ended.wait(), 30)
    asyncio.get_running_loop().remove_reader(pid)
    os.close(pid)


async def test_shells_that_ended_with_their_box_come_back_with_what_they_exported(shell: Shell, server: Server) -> None:
    runner = Runner(shell, "kept")
    await runner("cd /usr; export MARK='a\nb'; other=1")
    noted = await server.sessions.note()
    assert b"MARK=" in noted["kept"]
    await end_terminals(server)
    assert server.sessions.reopen(noted) == ["kept"]
    assert (await runner('echo "$MARK,$other,$PWD"')).output == "a\nb,,/usr\n"


async def test_a_shell_that_is_being_opened_again_is_waited_for_before_its_variables_are_noted(shell: Shell, server: Server) -> None:
    runner = Runner(shell, "kept")
    await runner("export MARK=1")
    noted = await server.sessions.note()
    await end_terminals(server)
    server.sessions.reopen(noted)
    assert b"MARK=" in (await server.sessions.note())["kept"]
