"""Processes started through a real spawner."""

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from sandbox_server.core.errors import (
    DeadlineExceeded,
    Failure,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    TooLarge,
    Unavailable,
)
from sandbox_server.drivers.spawn.process import LOST, Exit, Process, Processes
from tests.patience import until

pytestmark = pytest.mark.anyio

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon


@pytest.fixture
def processes(spawner: "SpawnerDaemon") -> Processes:
    return Processes(spawner.socket)


async def text(processes: Processes, *argv: str, **options: Any) -> str:
    completed = await processes.run(argv, timeout=30, max_output=1 << 20, **options)
    assert completed.exit == Exit(0, None), completed.stderr
    return completed.stdout.decode()


async def test_an_exit_code_is_the_one_that_was_observed(processes: Processes) -> None:
    process = await processes.start(["sh", "-c", "exit 7"])
    assert await process.wait() == Exit(7, None)
    assert process.exit == Exit(7, None)


async def test_a_signal_that_ended_a_process_is_told_apart_from_an_exit_code(processes: Processes) -> None:
    process = await processes.start(["sh", "-c", "kill -KILL $$"])
    assert await process.wait() == Exit(None, signal.SIGKILL)


async def test_the_pid_is_the_program_s_own(processes: Processes) -> None:
    process = await processes.start(["sleep", "60"])
    assert name_of(process.pid) == "sleep"
    await process.kill()
    assert await process.wait() == Exit(None, signal.SIGTERM)


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


async def test_two_waits_see_the_same_end_and_a_cancelled_one_does_not_disturb_it(processes: Processes) -> None:
    process = await processes.start(["sleep", "60"])
    waits = [asyncio.create_task(process.wait()) for _ in range(2)]
    abandoned = asyncio.create_task(process.wait())
    await asyncio.sleep(0)
    abandoned.cancel()
    await process.kill(signal.SIGINT)
    assert await asyncio.gather(*waits) == [Exit(None, signal.SIGINT)] * 2


async def test_a_signal_reaches_the_whole_group_or_the_process_alone(processes: Processes) -> None:
    script = "trap 'exit 3' TERM; sh -c 'echo $$; exec sleep 60' & while :; do wait; done"
    readable, writable = os.pipe()
    for group, child_lives in ((False, True), (True, False)):
        process = await processes.start(["sh", "-c", script], stdout=writable)
        child = int(os.read(readable, 100))
        await process.kill(group=group)
        assert await process.wait() == Exit(3, None)
        if child_lives:
            assert is_running(child)
            os.kill(child, signal.SIGKILL)
        else:
            await asyncio.to_thread(until, lambda pid=child: not is_running(pid))
    os.close(readable)
    os.close(writable)


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


async def test_what_a_process_leaves_of_its_group_is_killed_where_that_is_asked_for(processes: Processes) -> None:
    readable, writable = os.pipe()
    cases: list[tuple[Literal["keep", "kill"], bool]] = [("keep", True), ("kill", False)]
    for on_exit, lives in cases:
        process = await processes.start(["sh", "-c", "sleep 60 & echo $!"], stdout=writable, on_exit=on_exit)
        left = int(os.read(readable, 100))
        assert await process.wait() == Exit(0, None)
        if lives:
            assert is_running(left)
            os.kill(left, signal.SIGKILL)
        else:
            await asyncio.to_thread(until, lambda pid=left: not is_running(pid))
    os.close(readable)
    os.close(writable)


async def test_killing_a_process_that_has_ended_does_nothing(processes: Processes) -> None:
    process = await processes.start(["true"])
    await process.wait()
    await process.kill(signal.SIGKILL)
    assert process.exit == Exit(0, None)


@pytest.mark.parametrize(
    ("argv", "options", "kind", "named"),
    [
        (["no-such-program"], {}, NotFound, "program 'no-such-program'"),
        (["/etc/passwd"], {}, PermissionDenied, "program '/etc/passwd'"),
        (["true"], {"cwd": "/no/such/dir"}, NotFound, "working directory '/no/such/dir'"),
        (["true"], {"cwd": "/etc/passwd"}, NotFound, "working directory '/etc/passwd'"),
        (["true"], {"cwd": "/root"}, PermissionDenied, "working directory '/root'"),
        (["echo", "a\0b"], {}, InvalidArgument, "null byte"),
        (["true"], {"env": {"A=B": "c"}}, InvalidArgument, "environment"),
        (["true", "x" * (200 << 10)], {}, TooLarge, "Argument list too long"),
        (["true", "x" * (5 << 20)], {}, TooLarge, "exceeds"),
        ([], {}, InvalidArgument, "argv"),
    ],
)
async def test_a_process_that_cannot_start_says_what_was_wrong(
    processes: Processes, argv: list[str], options: dict[str, Any], kind: type[Failure], named: str
) -> None:
    with pytest.raises(kind) as caught:
        await processes.start(argv, **options)
    assert named in str(caught.value)


async def test_arguments_and_environment_larger_than_a_packet_arrive_whole(processes: Processes) -> None:
    words = [str(number) * 20_000 for number in range(10, 40)]
    env = {f"LARGE{number}": "y" * 100_000 for number in range(3)}
    script = 'import os, sys; print(sum(map(len, sys.argv[1:])), sum(len(v) for k, v in os.environ.items() if k.startswith("LARGE")))'
    assert await text(processes, "python3", "-c", script, *words, env=env) == "1200000 300000\n"


async def test_bytes_that_are_not_utf8_pass_through_arguments_and_environment(processes: Processes) -> None:
    odd = os.fsdecode(b"\xff\xfe")
    completed = await processes.run(["sh", "-c", 'printf "%s$ODD" "$0"', odd], env={"ODD": odd}, timeout=30, max_output=100)
    assert completed.stdout == b"\xff\xfe" * 2


async def test_input_larger_than_a_pipe_reaches_the_program_and_its_output_comes_back(processes: Processes) -> None:
    data = os.urandom(1 << 20)
    completed = await processes.run(["cat"], input=data, timeout=30, max_output=1 << 20)
    assert (completed.stdout, completed.truncated) == (data, False)


async def test_a_program_that_ignores_its_input_still_completes(processes: Processes) -> None:
    completed = await processes.run(["sh", "-c", "exec <&-; echo done"], input=b"x" * (1 << 20), timeout=30, max_output=100)
    assert completed.stdout == b"done\n"


async def test_output_beyond_the_limit_is_let_go_and_said_so(processes: Processes) -> None:
    completed = await processes.run(["sh", "-c", "head -c 10000000 /dev/zero; echo e >&2"], timeout=30, max_output=1000)
    assert (len(completed.stdout), completed.stderr, completed.truncated) == (1000, b"e\n", True)


async def test_all_output_is_there_however_fast_the_process_ends(processes: Processes) -> None:
    for _ in range(50):
        assert await text(processes, "sh", "-c", "printf %65536s x") == "x".rjust(65536)


async def test_a_program_may_open_its_streams_by_name(processes: Processes) -> None:
    script = "cat /dev/stdin > /dev/stdout; echo error > /dev/stderr"
    completed = await processes.run(["sh", "-c", script], input=b"in", timeout=30, max_output=100)
    assert (completed.stdout, completed.stderr) == (b"in", b"error\n")


async def test_an_environment_variable_can_be_taken_away(processes: Processes) -> None:
    assert "LANG=" not in await text(processes, "env", env={"LANG": None})


async def test_a_background_child_that_holds_the_output_does_not_delay_the_end(processes: Processes) -> None:
    background = (await text(processes, "sh", "-c", "sleep 600 & echo $!")).strip()
    assert is_running(int(background))
    os.kill(int(background), signal.SIGKILL)


def in_folder(folder: Path) -> list[str]:
    """The processes that work in a folder."""

    def works_there(pid: str) -> bool:
        try:
            return os.readlink(f"/proc/{pid}/cwd") == str(folder)
        except OSError:
            return False

    return [pid for pid in os.listdir("/proc") if pid.isdigit() and works_there(pid)]


async def test_a_program_that_takes_too_long_is_killed_with_its_children(processes: Processes, spawner: "SpawnerDaemon") -> None:
    with pytest.raises(DeadlineExceeded):
        await processes.run(["sh", "-c", "sleep 60 & wait"], timeout=0.5, max_output=100)
    until(lambda: not in_folder(spawner.workspace))


async def test_a_cancelled_run_kills_what_it_started(processes: Processes, spawner: "SpawnerDaemon") -> None:
    pid = spawner.workspace / "pid"
    command = ["sh", "-c", "echo $$ > pid.new; mv pid.new pid; exec sleep 60"]
    run = asyncio.create_task(processes.run(command, timeout=60, max_output=100))
    await asyncio.to_thread(until, pid.exists)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    until(lambda: not is_running(int(pid.read_text())))


async def test_a_spawner_that_dies_leaves_its_processes_lost_not_ended(processes: Processes, spawner: "SpawnerDaemon") -> None:
    process = await processes.start(["sleep", "60"])
    spawner.stop(signal.SIGKILL)
    assert await process.wait() == LOST
    assert process.exit == LOST
    assert is_running(process.pid)
    os.kill(process.pid, signal.SIGKILL)


async def test_starts_fail_while_the_spawner_is_down_and_work_once_it_is_back(processes: Processes, spawner: "SpawnerDaemon") -> None:
    spawner.stop(signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(Unavailable) as caught:
            await processes.start(["true"])
        assert caught.value.retry_after
    spawner.start()
    assert await text(processes, "echo", "back") == "back\n"


async def test_a_worker_runs_as_the_agent_and_ends_with_its_socket(processes: Processes) -> None:
    worker = await processes.worker()
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(worker, b"who")
    uid, pid, _ = map(int, (await loop.sock_recv(worker, 100)).split())
    assert (uid, is_running(pid)) == (1000, True)
    os.kill(pid, signal.SIGSTOP)  # stuck, as on a dead network file system
    worker.close()
    until(lambda: not is_running(pid))


async def test_a_worker_that_dies_ends_its_socket(processes: Processes) -> None:
    worker = await processes.worker("root")
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(worker, b"who")
    uid, pid, _ = map(int, (await loop.sock_recv(worker, 100)).split())
    assert uid == 0
    os.kill(pid, signal.SIGKILL)
    assert await asyncio.wait_for(loop.sock_recv(worker, 100), 30) == b""
    worker.close()


async def test_many_processes_at_once_all_report_their_own_end(processes: Processes) -> None:
    async def exits_with(code: int) -> None:
        process: Process = await processes.start(["sh", "-c", f"exit {code}"])
        assert await process.wait() == Exit(code, None)

    await asyncio.gather(*(exits_with(number % 200) for number in range(100)))
