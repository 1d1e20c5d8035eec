import asyncio

import pytest

from sandbox_server.drivers.shells.shell_integration import Mark, MarkKind
from sandbox_server.drivers.spawn.process import LOST, Exit
from sandbox_server.features.shell.command import RunningCommand
from sandbox_server.features.shell.state import REPLAY, ShellState, describe_exit
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


class Onlooker:
    """A viewer that writes down what it is told."""

    def __init__(self) -> None:
        self.seen = b""

    def output(self, data: bytes) -> None:
        self.seen += data

    def stale(self) -> None:
        raise AssertionError("nothing was missed")

    def closed(self) -> None:
        raise AssertionError("the session goes on")


def say(state: ShellState, kind: MarkKind, *fields: str) -> None:
    state.marked(Mark(kind, fields))


@pytest.fixture
async def state() -> ShellState:
    """A shell at its first prompt."""
    state = ShellState()
    state.output(b"welcome\r\n")
    say(state, "prompt", "0", "/home/gem")
    state.output(b"two lines\r\n\x1b[32mgem\x1b[0m $ ")
    say(state, "ready")
    return state


@pytest.fixture
async def command(state: ShellState) -> RunningCommand:
    """A command that was given to the shell."""
    state.running = RunningCommand("make", "token")
    return state.running


async def test_the_prompt_is_its_last_line_as_plain_text(state: ShellState) -> None:
    assert (state.ps1, state.directory, state.ready, state.busy) == ("gem $ ", "/home/gem", True, False)


async def test_a_command_has_the_output_between_its_marks(state: ShellState, command: RunningCommand) -> None:
    say(state, "line")
    state.output(b"its echo\r\n")
    say(state, "start", "token")
    state.output(b"its output\r\n")
    say(state, "end", "token", "3", "/usr;bin")
    state.output(b"the next prompt")
    assert await command.output() == "its output\n"
    assert (command.status, command.exit_code) == ("completed", 3)
    assert (state.directory, state.busy, state.status(command)) == ("/usr;bin", False, "completed")


@pytest.mark.parametrize("token", ["", "another"])
async def test_marks_about_another_command_change_nothing(state: ShellState, command: RunningCommand, token: str) -> None:
    say(state, "start", token)
    say(state, "nowhere", token)
    say(state, "end", token, "0", "/elsewhere")
    assert not command.begun
    assert not command.nowhere
    assert (command.status, state.running, state.directory) == ("running", command, "/home/gem")


async def test_the_shell_says_what_kept_it_from_running_a_command(state: ShellState, command: RunningCommand) -> None:
    say(state, "unread")
    say(state, "nowhere", "token")
    assert (command.unread, command.nowhere, command.begun) == (True, True, False)


async def test_a_line_that_was_typed_makes_the_shell_busy_until_the_prompt(state: ShellState) -> None:
    say(state, "line")
    typed = (state.foreign, state.busy, state.ready, state.status(None))
    say(state, "prompt", "1", "/tmp")
    assert typed == (True, True, False, "running")
    assert (state.foreign, state.busy, state.directory) == (False, False, "/tmp")


async def test_a_line_that_was_typed_is_told_as_it_was_to_be_seen(state: ShellState) -> None:
    lines: list[str] = []
    state.entered = lines.append
    state.output(b"lz\b\x1b[Ks -l\r\n")
    say(state, "line")
    state.output(b"total 0\r\n")
    say(state, "prompt", "0", "/home/gem")
    state.output(b"gem $ ")
    say(state, "ready")
    state.output(b"\r\n")
    say(state, "line")
    assert lines == ["ls -l"]


async def test_what_was_typed_is_the_current_command_until_the_prompt(state: ShellState) -> None:
    before = state.current_command
    state.output(b"python3 -m http.server 3000\r\n")
    say(state, "line")
    typed = state.current_command
    say(state, "prompt", "0", "/home/gem")
    assert (before, typed, state.current_command) == (None, "python3 -m http.server 3000", None)


async def test_what_was_given_is_the_current_command_whatever_was_typed_before(state: ShellState, command: RunningCommand) -> None:
    assert state.current_command == "make"


async def test_a_line_that_nobody_heard_is_no_command(state: ShellState) -> None:
    state.foreign = True
    assert (state.busy, state.current_command) == (True, None)


async def test_an_input_is_noted_with_who_made_it(state: ShellState) -> None:
    assert state.last_input is None
    state.note_input(by_person=True)
    first = state.last_input
    state.note_input(by_person=False)
    assert first is not None
    assert state.last_input is not None
    assert (first.by_person, state.last_input.by_person) == (True, False)
    assert state.last_input.at >= first.at


async def test_the_line_of_a_command_is_not_told(state: ShellState, command: RunningCommand) -> None:
    lines: list[str] = []
    state.entered = lines.append
    state.output(b" __t\r\n")
    say(state, "line")
    assert lines == []


async def test_the_line_of_a_command_is_not_a_persons(state: ShellState, command: RunningCommand) -> None:
    say(state, "line")
    assert not state.foreign


async def test_a_command_that_is_being_stopped_ends_as_that_says_and_without_a_code(state: ShellState, command: RunningCommand) -> None:
    say(state, "start", "token")
    command.stopping = "hard_timeout"
    say(state, "end", "token", "130", "/")
    assert (command.status, command.exit_code) == ("hard_timeout", None)


async def test_a_shell_that_ends_ends_its_command_with_what_was_observed(state: ShellState, command: RunningCommand) -> None:
    say(state, "start", "token")
    state.ended(Exit(4, None))
    assert (command.status, command.exit_code) == ("terminated", 4)
    assert "exit code 4" in (command.hint or "")
    assert (state.busy, state.ready, state.status(None)) == (False, False, "terminated")


async def test_only_of_a_shell_that_took_leave_all_output_was_heard(state: ShellState, command: RunningCommand) -> None:
    say(state, "start", "token")
    say(state, "leave")
    state.ended(Exit(4, None))
    assert "may be missing" not in (command.hint or "")
    state.running = later = RunningCommand("exec true", "later")
    state.ended(Exit(0, None))
    assert "the end of its output may be missing" in (later.hint or "")


async def test_a_stopped_command_keeps_its_status_when_the_shell_ends_too(state: ShellState, command: RunningCommand) -> None:
    command.stopping = "hard_timeout"
    state.ended(Exit(None, 9))
    assert (command.status, command.exit_code) == ("hard_timeout", None)


@pytest.mark.parametrize(
    ("observed", "sentence"),
    [
        (Exit(0, None), "exit code 0"),
        (Exit(None, 9), "killed by SIGKILL"),
        (Exit(None, 40), "killed by signal 40"),
        (LOST, "its terminal is gone, as after a restart or a checkpoint"),
    ],
)
def test_an_end_is_told_as_it_was_seen(observed: Exit, sentence: str) -> None:
    assert describe_exit(observed) == sentence


async def test_a_closed_session_wakes_who_waits_for_its_shell(state: ShellState, command: RunningCommand) -> None:
    waiting = asyncio.ensure_future(state.until(lambda: not state.busy, PATIENCE_SECONDS))
    await asyncio.wait([waiting], timeout=0.02)
    state.close()
    async with asyncio.timeout(30):
        assert await waiting
    assert (state.over, state.ready, state.status(None)) == (LOST, False, "terminated")


async def test_viewers_hear_everything_and_how_it_ended(state: ShellState, command: RunningCommand) -> None:
    onlooker = Onlooker()
    state.viewers.add(onlooker)
    state.output(b"before")
    say(state, "start", "token")
    state.output(b"within")
    state.ended(Exit(None, 15))
    assert onlooker.seen.startswith(b"beforewithin")
    assert b"killed by SIGTERM" in onlooker.seen


async def test_the_log_has_the_latest_output(state: ShellState) -> None:
    for _ in range(REPLAY // 1000 + 10):
        state.output(b"x" * 1000)
    assert state.log.end - state.log.start <= REPLAY + 1000
    assert state.log.read(0, 5) == (state.log.start, b"xxxxx")


async def test_who_waits_is_woken_by_what_the_shell_says(state: ShellState, command: RunningCommand) -> None:
    asyncio.get_running_loop().call_later(0.02, say, state, "end", "token", "0", "/")
    async with asyncio.timeout(30):
        assert await state.until(lambda: not state.busy, PATIENCE_SECONDS)


async def test_who_waits_gives_up_in_time(state: ShellState, command: RunningCommand) -> None:
    loop = asyncio.get_running_loop()
    for delay in (0.02, 0.04):
        loop.call_later(delay, say, state, "start", "token")
    async with asyncio.timeout(30):
        assert not await state.until(lambda: not state.busy, 0.1)


async def test_who_waits_for_the_prompt_is_woken_by_it_or_by_the_shells_end(state: ShellState) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(30):
        state.ready = False
        loop.call_later(0.02, say, state, "ready")
        assert await state.until_ready(PATIENCE_SECONDS)
        state.ready = False
        loop.call_later(0.02, state.ended, LOST)
        assert not await state.until_ready(PATIENCE_SECONDS)
