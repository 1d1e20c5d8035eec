"""Sessions of bash as a caller sees them, with real processes."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest

from sandbox_server.core import Conflict, InvalidArgument, NotFound, ResourceExhausted
from sandbox_server.features.bash.commands import Bash, BashExecRequest, BashKillRequest, BashWriteRequest
from sandbox_server.features.bash.output import BashOutputRequest
from sandbox_server.features.bash.session import BashExecResult, BashSessionCreateRequest, BashSessionRef
from tests.features.bash.asking import begin, ended, is_running, read, run
from tests.patience import until

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio


async def test_a_session_runs_one_command_and_names_it_to_the_next(bash: Bash) -> None:
    begun = await run(bash, "sleep 60", async_mode=True)
    with pytest.raises(Conflict, match=f"{begun.command_id}.*sleep 60"):
        await run(bash, "echo", session_id=begun.session_id)


async def test_of_commands_that_come_at_once_one_runs_and_the_others_are_refused(bash: Bash) -> None:
    session = await bash.create_session(BashSessionCreateRequest())
    commands = [run(bash, f"sleep 0.2; echo {number}", session_id=session.session_id) for number in range(5)]
    results = await asyncio.gather(*commands, return_exceptions=True)
    assert [type(result) for result in results].count(BashExecResult) == 1
    assert [type(result) for result in results].count(Conflict) == 4


@pytest.mark.parametrize(
    "ask",
    [
        lambda bash: bash.exec_command(BashExecRequest(command="true", session_id="missing")),
        lambda bash: bash.output(BashOutputRequest(session_id="missing")),
        lambda bash: bash.write(BashWriteRequest(session_id="missing", input="")),
        lambda bash: bash.kill(BashKillRequest(session_id="missing")),
        lambda bash: bash.close_session(BashSessionRef(session_id="missing")),
    ],
)
async def test_a_missing_session_is_named_as_the_contract_has_it(bash: Bash, ask: Callable[[Bash], Awaitable[object]]) -> None:
    with pytest.raises(NotFound) as caught:
        await ask(bash)
    assert caught.value.message == "Session not found"


async def test_a_missing_command_is_not_taken_for_another(bash: Bash) -> None:
    done = await run(bash, "true")
    with pytest.raises(NotFound, match="Command not found"):
        await read(bash, done.session_id, command_id="missing")


async def test_a_session_is_created_once_and_then_found_again(bash: Bash) -> None:
    first = await bash.create_session(BashSessionCreateRequest(session_id="mine", exec_dir="/usr"))
    again = await bash.create_session(BashSessionCreateRequest(session_id="mine", exec_dir="/etc"))
    assert first == again
    assert (first.session_id, first.status, first.working_dir, first.command_count) == ("mine", "ready", "/usr", 0)
    assert first.created_at.tzinfo is not None


async def test_a_session_tells_what_it_does(bash: Bash) -> None:
    session = await bash.create_session(BashSessionCreateRequest(session_id=""))
    await run(bash, "true", session_id=session.session_id)
    await run(bash, "sleep 60", session_id=session.session_id, async_mode=True)
    (told,) = await bash.sessions()
    assert (told.session_id, told.current_command, told.command_count) == (session.session_id, "sleep 60", 2)
    assert told.last_used_at > session.last_used_at


@pytest.mark.parametrize("fields", [{"exec_dir": "/no/such"}, {"exec_dir": "usr"}, {"snapshot_path": "/no/such"}, {"snapshot_path": "x"}])
async def test_a_session_is_not_created_from_what_does_not_exist(bash: Bash, fields: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(fields.values()))):
        await bash.create_session(BashSessionCreateRequest(**fields))
    assert await bash.sessions() == []


async def test_every_command_starts_from_the_session_s_snapshot(bash: Bash, spawner: "SpawnerDaemon") -> None:
    snapshot = spawner.workspace / "snap shot.sh"
    snapshot.write_text("shopt -s expand_aliases\nalias greet='echo hello'\nexport FROM=snapshot\nhelper() { echo helped; }\n")
    session = await bash.create_session(BashSessionCreateRequest(snapshot_path=str(snapshot)))
    for _ in range(2):
        done = await run(bash, 'greet; helper; echo "$FROM"; FROM=changed', session_id=session.session_id)
        assert done.stdout == "hello\nhelped\nsnapshot\n"


async def test_closing_a_session_ends_its_command_and_forgets_it(bash: Bash) -> None:
    begun = await begin(bash, "echo $$; exec sleep 60")
    waiting = asyncio.create_task(ended(bash, begun))
    await asyncio.sleep(0)
    await bash.close_session(BashSessionRef(session_id=begun.session_id))
    last = await waiting
    assert last.command
    assert last.command.status == "killed"
    until(lambda: not is_running(int(begun.stdout or 0)))
    with pytest.raises(NotFound):
        await read(bash, begun.session_id)


async def test_what_runs_in_the_background_neither_holds_up_a_command_nor_ends_with_its_session(bash: Bash) -> None:
    done = await run(bash, "(while :; do echo tick; sleep 0.01; done) & echo $!")
    background = next(int(line) for line in (done.stdout or "").splitlines() if line != "tick")
    await bash.close_session(BashSessionRef(session_id=done.session_id))
    await asyncio.sleep(0.3)
    assert is_running(background)
    os.kill(background, signal.SIGKILL)


async def test_later_output_of_the_background_belongs_to_its_own_command(bash: Bash, spawner: "SpawnerDaemon") -> None:
    gate = spawner.workspace / "gate"
    os.mkfifo(gate)
    gate.chmod(0o666)
    first = await run(bash, "(read line < gate; echo late; echo > gate) & echo first")
    second = await run(bash, "echo second", session_id=first.session_id)
    assert (second.stdout, second.offset) == ("second\n", 13)
    await asyncio.to_thread(gate.write_text, "go\n")
    await asyncio.to_thread(gate.read_text)
    late = await read(bash, first.session_id, command_id=first.command_id, offset=first.offset)
    assert late.stdout == "late\n"
    assert (await read(bash, first.session_id)).stdout == "first\nsecond\n"


async def test_without_a_command_the_output_of_the_session_is_one_stream(bash: Bash) -> None:
    session = await bash.create_session(BashSessionCreateRequest())
    offset, stderr_offset = 0, 0
    for number in range(3):
        await run(bash, f"echo out {number}; echo error {number} >&2", session_id=session.session_id)
        got = await read(bash, session.session_id, offset=offset, stderr_offset=stderr_offset)
        assert (got.stdout, got.stderr) == (f"out {number}\n", f"error {number}\n")
        offset, stderr_offset = got.offset, got.stderr_offset
    assert (await read(bash, session.session_id)).stdout == "out 0\nout 1\nout 2\n"


async def test_an_old_command_is_forgotten_and_its_output_named_as_missing(bash: Bash) -> None:
    first = await run(bash, "echo command 00")
    for number in range(1, 17):
        last = await run(bash, f"echo command {number:02}", session_id=first.session_id)
    with pytest.raises(NotFound, match="Command not found"):
        await read(bash, first.session_id, command_id=first.command_id)
    got = await read(bash, first.session_id)
    assert got.stdout.startswith("\n... [11 bytes were not kept] ...\ncommand 01\n")
    assert (last.offset, got.offset) == (17 * 11, 17 * 11)


async def test_finished_commands_share_the_room_for_output(bash: Bash) -> None:
    first = await run(bash, "head -c 1000000 /dev/zero | tr '\\0' a")
    later = [await run(bash, "head -c 1000000 /dev/zero | tr '\\0' b", session_id=first.session_id) for _ in range(4)]
    with pytest.raises(NotFound, match="Command not found"):
        await read(bash, first.session_id, command_id=first.command_id)
    for command in later:
        assert (await read(bash, first.session_id, command_id=command.command_id)).stdout == "b" * 1_000_000


async def test_sessions_that_commands_made_make_room_for_others(bash: Bash) -> None:
    busy = await run(bash, "sleep 60", async_mode=True)
    first, *others = [await run(bash, f"echo {number}") for number in range(3)]
    await run(bash, "true", session_id=first.session_id)  # used last: not the first to go
    await run(bash, "true")
    left = {session.session_id for session in await bash.sessions()}
    assert left >= {busy.session_id, first.session_id, others[1].session_id}
    with pytest.raises(NotFound):
        await run(bash, "true", session_id=others[0].session_id)


async def test_sessions_created_by_name_are_never_evicted(bash: Bash) -> None:
    for number in range(4):
        await bash.create_session(BashSessionCreateRequest(session_id=f"mine-{number}"))
    with pytest.raises(ResourceExhausted) as caught:
        await run(bash, "true")
    assert caught.value.retry_after
    with pytest.raises(ResourceExhausted):
        await bash.create_session(BashSessionCreateRequest())
    await bash.close_session(BashSessionRef(session_id="mine-0"))
    assert (await run(bash, "echo room")).stdout == "room\n"
