"""Bash as a caller sees it, with real processes."""

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from sandbox_server.core import Call, Caller, Conflict, Event, InvalidArgument, NotFound, Reply, ResourceExhausted, TooLarge, Unavailable
from sandbox_server.drivers.process import Processes
from sandbox_server.features.bash.feature import Bash
from sandbox_server.features.bash.wire import (
    BashExecRequest,
    BashExecResult,
    BashKillRequest,
    BashOutputRequest,
    BashOutputResult,
    BashSessionCreateRequest,
    BashSessionRef,
    BashWriteRequest,
)

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio

Until = Callable[..., None]


async def answered(bash: Bash, command: str, **fields: Any) -> Reply[BashExecResult]:
    with anyio.fail_after(10):
        reply: Reply[BashExecResult] = await bash.exec_command(BashExecRequest(command=command, **fields))
    return reply


async def run(bash: Bash, command: str, **fields: Any) -> BashExecResult:
    return (await answered(bash, command, **fields)).data


async def read(bash: Bash, session_id: str, **fields: Any) -> BashOutputResult:
    with anyio.fail_after(10):
        reply: Reply[BashOutputResult] = await bash.output(BashOutputRequest(session_id=session_id, **fields))
    return reply.data


async def begin(bash: Bash, command: str) -> BashExecResult:
    """Start a command that goes on, and wait for the first thing it says."""
    begun = await run(bash, command, async_mode=True)
    said = await read(bash, begun.session_id, wait=True, wait_timeout=5)
    return begun.model_copy(update={"stdout": said.stdout, "offset": said.offset})


async def ended(bash: Bash, started: BashExecResult) -> BashOutputResult:
    """Poll as the contract tells clients to, and give the last answer with all output since `started`."""
    stdout, stderr, offset, stderr_offset = "", "", started.offset, started.stderr_offset
    while True:
        got = await read(
            bash, started.session_id, command_id=started.command_id, offset=offset, stderr_offset=stderr_offset, wait=True, wait_timeout=5
        )
        stdout, stderr, offset, stderr_offset = stdout + got.stdout, stderr + got.stderr, got.offset, got.stderr_offset
        assert got.command
        if got.command.status != "running":
            return got.model_copy(update={"stdout": stdout, "stderr": stderr})


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


async def test_a_command_gives_its_exit_code_and_its_two_streams_apart(bash: Bash) -> None:
    done = await run(bash, "echo out; echo err >&2; exit 3")
    assert (done.status, done.exit_code, done.stdout, done.stderr) == ("completed", 3, "out\n", "err\n")
    assert (done.offset, done.stderr_offset) == (4, 4)


async def test_what_a_command_changes_in_its_shell_does_not_reach_the_next(bash: Bash, spawner: "SpawnerDaemon") -> None:
    first = await run(bash, "cd /usr; export LEFT=behind")
    second = await run(bash, 'pwd; echo "[$LEFT]"', session_id=first.session_id)
    assert second.stdout == f"{spawner.workspace}\n[]\n"


async def test_a_directory_given_once_becomes_the_session_s_own(bash: Bash) -> None:
    first = await run(bash, "pwd", exec_dir="/usr")
    second = await run(bash, "pwd", session_id=first.session_id)
    assert (first.stdout, second.stdout) == ("/usr\n", "/usr\n")
    assert [session.working_dir for session in await bash.sessions()] == ["/usr"]


async def test_variables_are_for_one_command_and_null_takes_one_away(bash: Bash) -> None:
    first = await run(bash, 'echo "$GIVEN ${LANG-none}"', env={"GIVEN": "here", "LANG": None})
    second = await run(bash, 'echo "$GIVEN"', session_id=first.session_id)
    assert (first.stdout, second.stdout) == ("here none\n", "\n")


@pytest.mark.parametrize("exec_dir", ["/no/such/dir", "/etc/passwd", "/root", "relative/dir"])
async def test_a_directory_that_cannot_be_entered_is_named_and_changes_nothing(bash: Bash, exec_dir: str) -> None:
    with pytest.raises(InvalidArgument, match=exec_dir):
        await run(bash, "pwd", exec_dir=exec_dir)
    assert await bash.sessions() == []
    done = await run(bash, "pwd", exec_dir="/usr")
    with pytest.raises(InvalidArgument):
        await run(bash, "pwd", exec_dir=exec_dir, session_id=done.session_id)
    assert (await run(bash, "pwd", session_id=done.session_id)).stdout == "/usr\n"


async def test_after_a_soft_timeout_the_command_goes_on_and_its_output_is_read_on(bash: Bash, spawner: "SpawnerDaemon") -> None:
    os.mkfifo(spawner.workspace / "gate", 0o666)
    os.chmod(spawner.workspace / "gate", 0o666)
    begun = await run(bash, "echo one; read line < gate; echo two $line; exit 4", timeout=1)
    assert (begun.status, begun.stdout, begun.exit_code) == ("running", "one\n", None)
    await asyncio.to_thread((spawner.workspace / "gate").write_text, "go\n")
    last = await ended(bash, begun)
    assert last.command
    assert (last.stdout, last.command.status, last.command.exit_code) == ("two go\n", "completed", 4)


async def test_an_asynchronous_command_is_answered_at_once(bash: Bash) -> None:
    begun = await run(bash, "echo hello; sleep 60", async_mode=True)
    assert (begun.status, begun.stdout, begun.offset) == ("running", "", 0)
    got = await read(bash, begun.session_id, wait=True, wait_timeout=5)
    assert (got.stdout, got.offset) == ("hello\n", 6)


async def test_waiting_for_output_ends_with_its_time(bash: Bash) -> None:
    begun = await run(bash, "sleep 60", async_mode=True)
    got = await read(bash, begun.session_id, wait=True, wait_timeout=0.1)
    assert got.command
    assert (got.stdout, got.command.status) == ("", "running")


async def test_a_hard_timeout_kills_the_whole_process_group(bash: Bash, until: Until) -> None:
    done = await run(bash, "sleep 60 & echo $!; wait", hard_timeout=1)
    assert (done.status, done.exit_code, done.signal) == ("timed_out", None, "SIGKILL")
    assert done.stdout
    until(lambda: not is_running(int(done.stdout or 0)))


async def test_a_killed_command_has_no_exit_code_and_keeps_its_output(bash: Bash) -> None:
    begun = await begin(bash, "echo partial; sleep 60; echo never")
    reply = await bash.kill(BashKillRequest(session_id=begun.session_id))
    assert reply.message == "SIGTERM sent; the command is killed"
    got = await read(bash, begun.session_id)
    assert got.command
    assert (got.stdout, got.command.status, got.command.exit_code, got.command.signal) == ("partial\n", "killed", None, "SIGTERM")


async def test_a_command_that_catches_the_signal_ends_as_it_says(bash: Bash) -> None:
    begun = await begin(bash, "trap 'echo bye; exit 5' INT; echo ready; while :; do sleep 0.01; done")
    await bash.kill(BashKillRequest(session_id=begun.session_id, signal="SIGINT"))
    last = await ended(bash, begun)
    assert last.command
    assert (last.command.status, last.command.exit_code, last.stdout) == ("completed", 5, "bye\n")


async def test_killing_where_nothing_runs_says_so(bash: Bash) -> None:
    done = await run(bash, "true")
    assert (await bash.kill(BashKillRequest(session_id=done.session_id))).message == "No command is running: nothing was signalled"


async def test_a_command_that_dies_of_a_signal_does_not_get_an_invented_exit_code(bash: Bash) -> None:
    reply = await answered(bash, "kill -SEGV $$")
    assert (reply.data.status, reply.data.exit_code, reply.data.signal) == ("killed", None, "SIGSEGV")
    assert reply.hint == "the command was ended by SIGSEGV"


async def test_a_command_whose_end_nobody_saw_says_so(bash: Bash, spawner: "SpawnerDaemon") -> None:
    begun = await begin(bash, "echo $$; exec sleep 60")
    waiting = asyncio.create_task(bash.output(BashOutputRequest(session_id=begun.session_id, offset=begun.offset, wait=True)))
    await asyncio.sleep(0)
    spawner.stop(signal.SIGKILL)
    with anyio.fail_after(5):
        reply = await waiting
    assert reply.data.command
    assert (reply.data.command.status, reply.data.command.exit_code, reply.data.command.signal) == ("killed", None, None)
    assert "was not observed" in (reply.hint or "")
    os.kill(int(begun.stdout or 0), signal.SIGKILL)


async def test_while_no_process_can_start_a_session_stays_usable(bash: Bash, spawner: "SpawnerDaemon") -> None:
    done = await run(bash, "echo one")
    spawner.stop(signal.SIGKILL)
    with pytest.raises(Unavailable):
        await run(bash, "echo two", session_id=done.session_id)
    spawner.start()
    again = await run(bash, "echo three", session_id=done.session_id)
    assert (again.stdout, again.offset) == ("three\n", 10)


async def test_characters_are_never_torn_between_two_reads(bash: Bash) -> None:
    begun = await run(bash, r"printf 'a\303'; read; printf '\244b\377'; read", async_mode=True)
    first = await read(bash, begun.session_id, wait=True, wait_timeout=5)
    assert (first.stdout, first.offset) == ("a", 1)
    nothing = await read(bash, begun.session_id, offset=1, wait=True, wait_timeout=0.1)
    assert (nothing.stdout, nothing.offset) == ("", 1)
    await bash.write(BashWriteRequest(session_id=begun.session_id, input="\n"))
    second = await read(bash, begun.session_id, offset=1, wait=True, wait_timeout=5)
    assert (second.stdout, second.offset) == ("äb�", 5)


async def test_long_output_loses_its_middle_with_a_marker_and_only_where_asked(bash: Bash) -> None:
    command = "echo begin; seq 100000; echo end >&2; echo end"
    done = await run(bash, command, max_output_length=1000)
    assert done.stdout
    assert len(done.stdout) <= 1000
    assert done.stdout.startswith("begin\n1\n2\n")
    assert done.stdout.endswith("99999\n100000\nend\n")
    assert f"output truncated: {done.offset} bytes in all" in done.stdout
    assert done.stderr == "end\n"
    whole = await run(bash, command, max_output_length=0)
    assert whole.stdout == "begin\n" + "".join(f"{number}\n" for number in range(1, 100001)) + "end\n"
    assert (await read(bash, done.session_id)).stdout == whole.stdout


async def test_a_hundred_megabytes_of_output_do_not_grow_the_server(bash: Bash) -> None:
    await run(bash, "head -c 1000000 /dev/zero")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = await run(bash, "echo begin; head -c 100000000 /dev/zero | tr '\\0' x; echo end")
    assert (done.status, done.exit_code, done.offset) == ("completed", 0, 100_000_010)
    assert done.stdout
    assert done.stdout.startswith("begin\nxxx")
    assert done.stdout.endswith("xxx" + "end\n")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16_000


async def test_output_beyond_the_limit_is_named_where_it_is_missing(bash: Bash) -> None:
    done = await run(bash, "echo begin; head -c 9000000 /dev/zero | tr '\\0' x; echo end")
    got = await read(bash, done.session_id)
    assert got.stdout.startswith("begin\n")
    assert got.stdout.endswith("end\n")
    assert "bytes were not kept] ..." in got.stdout
    assert got.offset == 9_000_010


async def test_input_reaches_the_command_and_its_end_too(bash: Bash) -> None:
    begun = await run(bash, "cat; echo done", async_mode=True)
    await bash.write(BashWriteRequest(session_id=begun.session_id, input="one\n"))
    await bash.write(BashWriteRequest(session_id=begun.session_id, command_id=begun.command_id, input="zwei ü\n", eof=True))
    last = await ended(bash, begun)
    assert last.stdout == "one\nzwei ü\ndone\n"


async def test_input_that_nobody_reads_is_refused(bash: Bash) -> None:
    done = await run(bash, "true")
    for command_id in (None, done.command_id):
        with pytest.raises(Conflict, match="no command is running"):
            await bash.write(BashWriteRequest(session_id=done.session_id, command_id=command_id, input="x"))
    closed = await begin(bash, "exec <&-; echo closed; sleep 60")
    await bash.write(BashWriteRequest(session_id=closed.session_id, input="this learns of it"))
    with pytest.raises(Conflict, match="closed its input"):
        await bash.write(BashWriteRequest(session_id=closed.session_id, input="x"))


async def test_input_that_is_not_read_is_taken_whole_or_refused(bash: Bash) -> None:
    begun = await run(bash, "sleep 60", async_mode=True)
    with pytest.raises(TooLarge):
        await bash.write(BashWriteRequest(session_id=begun.session_id, input="x" * (1 << 21)))
    await bash.write(BashWriteRequest(session_id=begun.session_id, input="x" * (1 << 20)))
    with pytest.raises(ResourceExhausted):
        await bash.write(BashWriteRequest(session_id=begun.session_id, input="x" * (1 << 20)))


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


async def test_closing_a_session_ends_its_command_and_forgets_it(bash: Bash, until: Until) -> None:
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


async def test_what_runs_in_the_background_neither_holds_up_a_command_nor_ends_with_its_session(bash: Bash, until: Until) -> None:
    done = await run(bash, "(while :; do echo tick; sleep 0.01; done) & echo $!")
    background = next(int(line) for line in (done.stdout or "").splitlines() if line != "tick")
    await bash.close_session(BashSessionRef(session_id=done.session_id))
    with pytest.raises(AssertionError):
        until(lambda: not is_running(background), within=0.3)
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


async def test_a_command_longer_than_an_argument_may_be_runs_unchanged(bash: Bash) -> None:
    text = "ä" * 200_000
    done = await run(bash, f"cat <<'END' | wc -m\n{text}\nEND\necho \"$0 $# ${{_sandbox_script-unset}}\"; exit 7")
    assert (done.stdout, done.exit_code) == ("200001\nbash 0 unset\n", 7)
    with pytest.raises(TooLarge):
        await run(bash, f": {text * 20}")


@pytest.mark.parametrize(
    ("command", "code", "stdout"),
    [
        ("-l; echo next", 0, "next\n"),
        ("exit", 0, ""),
        ("exec true", 0, ""),
        ("cat <<X\nheredoc\nX", 0, "heredoc\n"),
        ("echo 'unclosed", 2, ""),
        ("if true", 2, ""),
        ("no-such-program-at-all", 127, ""),
        ("(exit 9)", 9, ""),
        ("set -e; false; echo never", 1, ""),
        ("echo named > /dev/stdout", 0, "named\n"),
        ("", 0, ""),
    ],
)
async def test_any_text_gives_a_true_status(bash: Bash, command: str, code: int, stdout: str) -> None:
    done = await run(bash, command)
    assert (done.status, done.exit_code, done.stdout) == ("completed", code, stdout)


async def collect(events: AsyncIterator[Event]) -> list[Any]:
    with anyio.fail_after(10):
        return [event async for event in events]


def call(last_event_id: str | None = None) -> Call:
    return Call(Caller("test"), "request", last_event_id=last_event_id)


async def test_a_stream_gives_the_output_as_events_and_then_the_exit(bash: Bash) -> None:
    events = await collect(await bash.stream_exec(BashExecRequest(command="echo out; echo err >&2; exit 3"), call()))
    first, *output, last = events
    assert (first.event, first.data["status"]) == ("status", "running")
    assert {event.data["stream"]: event.data["data"] for event in output} == {"stdout": "out\n", "stderr": "err\n"}
    assert (last.event, last.data["status"], last.data["exit_code"]) == ("exit", "completed", 3)
    assert (last.data["offset"], last.data["stderr_offset"], last.data["seq"]) == (4, 4, 8)
    assert [event.data["seq"] for event in output] == [4, 8]


async def test_a_stream_resumes_after_any_event_and_runs_nothing_twice(bash: Bash, spawner: "SpawnerDaemon") -> None:
    request = BashExecRequest(command="echo x >> ran; for i in $(seq 50); do echo line $i; echo error $i >&2; sleep 0.001; done")
    events = await collect(await bash.stream_exec(request, call()))
    whole = {name: "".join(e.data["data"] for e in events if e.data.get("stream") == name) for name in ("stdout", "stderr")}
    assert whole["stdout"] == "".join(f"line {number}\n" for number in range(1, 51))
    for position, seen in enumerate(events):
        rest = await collect(await bash.stream_exec(request, call(seen.id)))
        both = events[: position + 1] + rest
        assert {name: "".join(e.data["data"] for e in both if e.data.get("stream") == name) for name in whole} == whole
        assert rest[-1].event == "exit"
    assert (spawner.workspace / "ran").read_text() == "x\n"


async def test_the_output_of_a_running_command_can_be_streamed_from_an_offset(bash: Bash) -> None:
    begun = await begin(bash, "echo 0123456789; read; echo more")
    stream = asyncio.create_task(collect(await bash.stream_output(BashOutputRequest(session_id=begun.session_id, offset=5), call())))
    await bash.write(BashWriteRequest(session_id=begun.session_id, input="\n"))
    events = await stream
    assert "".join(event.data["data"] for event in events if event.event == "output") == "56789\nmore\n"


async def test_a_stream_ends_with_running_after_a_soft_timeout(bash: Bash) -> None:
    events = await collect(await bash.stream_exec(BashExecRequest(command="echo one; sleep 60", timeout=1), call()))
    assert [event.event for event in events] == ["status", "output", "status"]
    assert events[-1].data["status"] == "running"


async def test_a_stream_that_cannot_begin_fails_before_its_first_event(bash: Bash) -> None:
    with pytest.raises(InvalidArgument):
        await bash.stream_exec(BashExecRequest(command="true", exec_dir="/no/such"), call())
    with pytest.raises(InvalidArgument, match="Last-Event-ID"):
        await bash.stream_exec(BashExecRequest(command="true"), call("nonsense"))
    with pytest.raises(NotFound, match="Session not found"):
        await bash.stream_exec(BashExecRequest(command="true"), call("a/b/0/0"))
    session = await bash.create_session(BashSessionCreateRequest())
    with pytest.raises(Conflict, match="no command"):
        await bash.stream_output(BashOutputRequest(session_id=session.session_id), call())


async def test_leaving_ends_every_command_and_closes_every_descriptor(spawner: "SpawnerDaemon", tmp_path: Path, until: Until) -> None:
    before = len(os.listdir("/proc/self/fd"))
    bash = Bash(Processes(spawner.socket), workspace=str(spawner.workspace), max_sessions=4, output_bytes=1 << 20, spool=str(tmp_path))
    async with bash:
        begun = await begin(bash, "echo $$; exec sleep 60")
        left = await run(bash, "sleep 60 & echo $!")
    until(lambda: not is_running(int(begun.stdout or 0)))
    os.kill(int(left.stdout or 0), signal.SIGKILL)
    assert len(os.listdir("/proc/self/fd")) == before
