import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.core import Conflict, NotFound, Tasks, Unavailable
from sandbox_server.drivers.shells.commands import Recall, ShellCommand
from sandbox_server.drivers.shells.shell_integration import Mark
from sandbox_server.drivers.shells.shells import ShellStart
from sandbox_server.drivers.spawn.process import LOST
from sandbox_server.features.shell import session as module
from sandbox_server.features.shell.capture import FOLDED
from sandbox_server.features.shell.command import RunningCommand
from sandbox_server.features.shell.session import MAX_COMMANDS, WHOLE_COMMANDS, ShellSession
from sandbox_server.features.shell.session_profile import ShellProfile
from tests.features.shell.conftest import Server, Shell
from tests.patience import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from sandbox_server.drivers.shells.shells import TmuxShells

pytestmark = pytest.mark.anyio


class Onlooker:
    """A viewer that counts what it is told."""

    def __init__(self) -> None:
        self.stales = 0
        self.closes = 0

    def output(self, data: bytes) -> None:
        pass

    def stale(self) -> None:
        self.stales += 1

    def closed(self) -> None:
        self.closes += 1


@pytest.fixture
async def session(shell: Shell, server: Server) -> ShellSession:
    return await server.sessions.create(ShellProfile("main"), ShellStart(str(server.home)))


async def run(session: ShellSession, text: str, hard_timeout: float | None = None) -> RunningCommand:
    async with asyncio.timeout(30):
        return await session.run(ShellCommand(RunningCommand.new_token(), text), hard_timeout)


async def ended(session: ShellSession, text: str) -> str:
    """Run a command to its end, and give its output."""
    command = await run(session, text)
    async with asyncio.timeout(30):
        await command.settle()
        return await command.output()


def members(leader: int) -> list[Path]:
    """The processes that belong to the terminal of a shell."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int((process / "stat").read_text().rpartition(")")[2].split()[3]) == leader:
                found.append(process)
    return found


async def test_a_command_has_begun_when_it_is_returned(session: ShellSession) -> None:
    command = await run(session, "sleep 600")
    assert (command.begun, command.status, session.status, session.latest) == (True, "running", "running", command)
    assert command.ps1.endswith("$ ")


async def test_a_running_command_refuses_another_and_says_what_can_be_done(session: ShellSession) -> None:
    await run(session, "sleep 600")
    with pytest.raises(Conflict, match=r"session .main. is running a command since .*sleep 600") as caught:
        await run(session, "true")
    assert "/v1/shell/wait" in (caught.value.hint or "")


async def test_a_command_that_is_refused_is_not_run_later(session: ShellSession, server: Server) -> None:
    command = await run(session, "sleep 600")
    with pytest.raises(Conflict):
        await run(session, "touch refused")
    await session.stop("terminated")
    await ended(session, "true")
    assert command.status == "terminated"
    assert not (server.home / "refused").exists()


async def test_something_that_reads_the_keys_refuses_a_command_which_never_runs(
    session: ShellSession, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await session.type(b"read -r one\r")
    assert await session.state.until(lambda: session.state.foreign, PATIENCE_SECONDS)
    with monkeypatch.context() as impatient:
        impatient.setattr("sandbox_server.features.shell.session.BEGIN_SECONDS", 0.3)
        with pytest.raises(Conflict, match="something else reads its keys"):
            await run(session, "touch refused")
    assert await session.state.until(lambda: not session.state.busy, PATIENCE_SECONDS)
    assert await session.state.until_ready(PATIENCE_SECONDS)
    assert await ended(session, "ls") == ""


async def test_directory_and_prompt_follow_the_shell(session: ShellSession) -> None:
    await ended(session, "cd /usr; PS1='> '")
    assert (session.state.directory, await session.state.until_ready(PATIENCE_SECONDS), session.state.ps1) == ("/usr", True, "> ")


async def test_a_hard_timeout_stops_a_command(session: ShellSession) -> None:
    command = await run(session, "sleep 600", hard_timeout=0.1)
    async with asyncio.timeout(30):
        assert await command.settle() == "hard_timeout"
    assert await ended(session, "echo on") == "on\n"


async def test_a_hard_timeout_does_not_touch_the_next_command(session: ShellSession) -> None:
    first = await run(session, "true", hard_timeout=1)
    await first.settle()
    second = await run(session, "sleep 1.5; echo whole")
    async with asyncio.timeout(30):
        assert (first.status, await second.settle(), await second.output()) == ("completed", "completed", "whole\n")


async def test_stopping_an_idle_session_does_nothing(session: ShellSession) -> None:
    await ended(session, "kept=yes")
    await session.stop("terminated")
    assert await ended(session, "echo $kept") == "yes\n"


async def test_the_latest_commands_are_remembered_and_only_the_last_of_them_whole(session: ShellSession) -> None:
    for number in range(MAX_COMMANDS + 1):
        await ended(session, f"echo {number}; head -c 100000 /dev/zero | tr '\\0' x")
    commands = list(session.commands.values())
    assert len(commands) == MAX_COMMANDS
    assert commands[0].text.startswith("echo 1;")
    assert [command.capture.omitted > 0 for command in commands] == [True] * (MAX_COMMANDS - WHOLE_COMMANDS) + [False] * WHOLE_COMMANDS
    assert sum(map(len, commands[0].capture.parts())) == 2 * FOLDED


async def test_an_agents_shell_has_no_pager_and_a_persons_has_their_own(session: ShellSession, server: Server) -> None:
    person = await server.sessions.create(ShellProfile("person", personal=True), ShellStart(str(server.home)))
    assert await ended(session, "echo $PAGER/$GIT_PAGER") == "cat/cat\n"
    assert await ended(person, "echo $PAGER/$GIT_PAGER") == "/\n"


async def test_a_shell_that_ended_is_opened_again_where_it_was(session: ShellSession) -> None:
    alive = await session.reopen()
    await ended(session, "cd /usr")
    await ended(session, "exit 3")
    assert await session.state.until(lambda: session.state.over, PATIENCE_SECONDS)
    sentence = await session.reopen()
    assert alive is None
    assert "exit code 3" in (sentence or "")
    assert await ended(session, "pwd") == "/usr\n"


async def test_a_shell_that_exported_too_much_is_opened_again_without_it(session: ShellSession) -> None:
    await ended(session, "export MARK=$(head -c 100000 /dev/zero | tr '\\0' x) A1=$MARK A2=$MARK")
    assert await session.variables()
    await ended(session, "for n in {1..12}; do export B$n=$MARK; done")
    assert await session.variables() == b""


async def test_an_ended_shell_takes_no_keys(session: ShellSession) -> None:
    await ended(session, "exit")
    assert await session.state.until(lambda: session.state.over, PATIENCE_SECONDS)
    with pytest.raises(Conflict, match="has ended"):
        await session.type(b"x")


async def test_a_shell_killed_by_a_signal_without_a_name_has_ended(session: ShellSession) -> None:
    command = await run(session, "kill -40 $$")
    async with asyncio.timeout(30):
        assert await command.settle() == "terminated"
    assert (command.exit_code, "signal 40" in (command.hint or "")) == (None, True)
    assert await ended(session, "echo back") == "back\n"


async def test_a_start_up_file_that_ends_the_shell_is_named(server: Server, shell: Shell) -> None:
    (server.home / ".bashrc").write_text("exit 7\n")
    with pytest.raises(Unavailable, match="exit code 7") as caught:
        await server.sessions.create(ShellProfile("broken", personal=True), ShellStart("/", environment={"HOME": str(server.home)}))
    assert ".bashrc" in (caught.value.hint or "")


async def test_a_start_up_file_that_never_ends_is_named(server: Server, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox_server.features.shell.session.OPEN_SECONDS", 0.3)
    (server.home / ".bashrc").write_text("sleep 600\n")
    with pytest.raises(Unavailable, match=r"no prompt within 0\.3 s"):
        await server.sessions.create(ShellProfile("broken", personal=True), ShellStart("/", environment={"HOME": str(server.home)}))


@pytest.mark.parametrize("command", ["sleep 600", "sh -c 'trap \"\" HUP INT TERM; while :; do sleep 0.1; done'", "cat"])
async def test_closing_ends_the_command_the_viewers_and_what_runs(session: ShellSession, server: Server, command: str) -> None:
    onlooker = Onlooker()
    session.state.viewers.add(onlooker)
    begun = await run(session, f"echo $$ > pid; {command}")
    pid = server.home / "pid"
    until(lambda: pid.exists() and pid.read_text())
    await session.close()
    assert (begun.status, begun.exit_code, onlooker.closes) == ("terminated", None, 1)
    assert "closed" in (begun.hint or "")
    until(lambda: not members(int(pid.read_text())))


async def test_who_waits_for_a_command_is_woken_when_the_session_closes(session: ShellSession) -> None:
    await run(session, "sleep 600")
    waiting = asyncio.ensure_future(session.state.until(lambda: not session.state.busy, PATIENCE_SECONDS))
    await asyncio.wait([waiting], timeout=0.02)
    await session.close()
    async with asyncio.timeout(30):
        assert await waiting


async def test_a_closed_session_opens_no_shell_again(session: ShellSession) -> None:
    await session.close()
    with pytest.raises(NotFound, match="Session not found"):
        await session.reopen()
    with pytest.raises(NotFound, match="Session not found"):
        await run(session, "true")


async def test_a_resize_is_told_to_everyone_who_looks(session: ShellSession) -> None:
    onlooker = Onlooker()
    session.state.viewers.add(onlooker)
    await session.resize(77, 11)
    assert onlooker.stales == 1
    assert await ended(session, "stty size") == "11 77\n"


async def test_after_a_lost_connection_a_command_still_gets_its_own_status(session: ShellSession, server: Server) -> None:
    os.mkfifo(server.home / "go", 0o666)
    (server.home / "go").chmod(0o666)
    command = await run(session, "read -r line <go; (exit 5)")
    connection = server.tmux._connection
    assert connection
    connection.close()
    with open(os.open(server.home / "go", os.O_RDWR), "w") as file:
        file.write("now\n")
        file.flush()
        async with asyncio.timeout(30):
            assert await command.settle() == "completed"
    assert command.exit_code == 5
    assert await ended(session, "echo on") == "on\n"


async def test_what_was_missed_is_looked_up_again_where_it_cannot_be_just_now(
    session: ShellSession, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(server.home / "go", 0o666)
    (server.home / "go").chmod(0o666)
    command, recall = await run(session, "read -r line <go; (exit 5)"), session.started.recall
    attempts: list[None] = []
    missed: list[Mark] = []

    async def recalled() -> Recall:
        attempts.append(None)
        if len(attempts) == 1:
            raise Unavailable("no files just now")
        return await recall()

    async with asyncio.timeout(30):
        with monkeypatch.context() as deaf:
            deaf.setattr(session.state, "marked", missed.append)
            with open(os.open(server.home / "go", os.O_RDWR), "w") as file:
                file.write("now\n")
                file.flush()
                await asyncio.to_thread(until, lambda: "ready" in [mark.kind for mark in missed])
        monkeypatch.setattr(session.started, "recall", recalled)
        monkeypatch.setattr(module, "RECALL_SECONDS", 0.01)
        session.missed()
        assert await command.settle() == "completed"
    assert (command.exit_code, len(attempts)) == (5, 2)


async def test_without_a_shell_there_is_nothing_to_use(server: Server, shell: Shell) -> None:
    shells: TmuxShells = server.sessions._shells
    async with asyncio.timeout(30):
        session = ShellSession(ShellProfile("new"), shells, Tasks(), lambda: None)
        with pytest.raises(Unavailable, match="'new' is not open"):
            _ = session.started
        await session.adopt(None, "/usr")
    assert (session.state.over, session.state.directory, session.status) == (LOST, "/usr", "terminated")
