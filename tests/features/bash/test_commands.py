"""Bash as a caller sees it, with real processes."""

import asyncio
import os
import resource
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from sandbox_server.core import Conflict, InvalidArgument, ResourceExhausted, TooLarge, Unavailable
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.bash.commands import Bash, BashKillRequest, BashWriteRequest
from sandbox_server.features.bash.output import BashOutputRequest
from tests.features.bash.asking import answered, begin, ended, is_running, read, run
from tests.patience import until

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio


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
    begun = await run(bash, "echo one; read line < gate; echo two $line; exit 4", timeout=2)
    assert (begun.status, begun.exit_code) == ("running", None)
    await asyncio.to_thread((spawner.workspace / "gate").write_text, "go\n")
    last = await ended(bash, begun)
    assert last.command
    written = (begun.stdout or "") + last.stdout  # how much of it came within the time is the machine's affair
    assert (written, last.command.status, last.command.exit_code) == ("one\ntwo go\n", "completed", 4)


async def test_an_asynchronous_command_is_answered_at_once(bash: Bash) -> None:
    begun = await run(bash, "echo hello; sleep 60", async_mode=True)
    assert (begun.status, begun.stdout, begun.offset) == ("running", "", 0)
    got = await read(bash, begun.session_id, wait=True, wait_timeout=30)
    assert (got.stdout, got.offset) == ("hello\n", 6)


async def test_waiting_for_output_ends_with_its_time(bash: Bash) -> None:
    begun = await run(bash, "sleep 60", async_mode=True)
    got = await read(bash, begun.session_id, wait=True, wait_timeout=0.1)
    assert got.command
    assert (got.stdout, got.command.status) == ("", "running")


async def test_a_hard_timeout_kills_the_whole_process_group(bash: Bash) -> None:
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
    with anyio.fail_after(30):
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
    first = await read(bash, begun.session_id, wait=True, wait_timeout=30)
    assert (first.stdout, first.offset) == ("a", 1)
    nothing = await read(bash, begun.session_id, offset=1, wait=True, wait_timeout=0.1)
    assert (nothing.stdout, nothing.offset) == ("", 1)
    await bash.write(BashWriteRequest(session_id=begun.session_id, input="\n"))
    second = await read(bash, begun.session_id, offset=1, wait=True, wait_timeout=30)
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


async def test_leaving_ends_every_command_and_closes_every_descriptor(spawner: "SpawnerDaemon", tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    bash = Bash(Processes(spawner.socket), workspace=str(spawner.workspace), max_sessions=4, output_bytes=1 << 20, spool=str(tmp_path))
    async with bash:
        begun = await begin(bash, "echo $$; exec sleep 60")
        left = await run(bash, "sleep 60 & echo $!")
    until(lambda: not is_running(int(begun.stdout or 0)))
    os.kill(int(left.stdout or 0), signal.SIGKILL)
    assert len(os.listdir("/proc/self/fd")) == before


async def test_an_isolated_command_is_kept_from_what_it_is_not_allowed(bash: Bash) -> None:
    isolated: dict[str, object] = {"write": {"allow": []}, "env": {"allow": []}}
    done = await run(bash, "echo x > made; ls; echo ${GIVEN-none}", isolation=isolated, env={"GIVEN": "given"})
    assert (done.stdout, done.exit_code) == ("given\n", 0)
    assert "Permission denied" in (done.stderr or "")


async def test_a_policy_with_a_path_that_is_missing_is_refused_and_no_session_is_left(bash: Bash) -> None:
    with pytest.raises(InvalidArgument, match=r"isolation\.write\.allow"):
        await run(bash, "true", isolation={"write": {"allow": ["missing"]}})
    assert await bash.sessions() == []
