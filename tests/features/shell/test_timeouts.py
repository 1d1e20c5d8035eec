"""What a session says of commands that take too long, and of who else uses it."""

import asyncio
import time

import pytest

from sandbox_server.core import Conflict, InvalidArgument
from sandbox_server.features.shell.session_profile import ShellId
from tests.features.shell.asking import shows, status_of, type_into
from tests.features.shell.conftest import Runner, Server, Shell
from tests.patience import eventually

pytestmark = pytest.mark.anyio


async def test_a_soft_timeout_leaves_the_command_running(run: Runner) -> None:
    running = await run("echo begun; read -r line; echo ended", timeout=1)
    await type_into(run, "")
    status = await status_of(run)

    assert (running.status, running.exit_code) == ("running", None)
    assert (running.output or "begun\n") == "begun\n", "it may not have come so far"
    assert status == "completed"
    assert "ended" in await shows(run, "ended")


async def test_no_change_timeout_counts_from_the_last_output(run: Runner) -> None:
    began = time.monotonic()
    result = await run("for i in 1 2 3 4; do echo $i; sleep 0.6; done; sleep 60", no_change_timeout=2)

    assert result.status == "no_change_timeout"
    assert result.output == "1\n2\n3\n4\n"
    assert time.monotonic() - began > 2
    assert "still runs" in (run.hint or "")


async def test_no_change_timeout_of_zero_is_off(run: Runner) -> None:
    result = await run("sleep 1.2; echo late", no_change_timeout=0)

    assert (result.status, result.output) == ("completed", "late\n")


@pytest.mark.parametrize(
    "command",
    [
        "sleep 60",
        "while :; do :; done",
        "while :; do sleep 0.1; done",
        "trap '' INT; sleep 60",
        "sh -c 'trap \"\" INT TERM; while :; do sleep 0.1; done'",
        "while :; do sh -c 'trap \"\" INT TERM; sleep 0.2'; done",
        "cat",
        "sleep 60 | cat",
        "stty -isig; sleep 60",
        "(sleep 60; sleep 60)",
    ],
)
async def test_a_hard_timeout_stops_the_command_and_keeps_the_shell(run: Runner, command: str) -> None:
    await run("kept=yes")
    stopped = await run(f"echo begun; {command}", hard_timeout=0.3)
    after = await run("echo $kept; trap - INT; stty isig")

    assert (stopped.status, stopped.exit_code) == ("hard_timeout", None)
    assert (stopped.output or "begun\n").startswith("begun\n"), "it may have been stopped before it wrote that"
    assert after.output == "yes\n"


async def test_a_hard_timeout_ends_a_shell_that_cannot_be_interrupted(run: Runner) -> None:
    stopped = await run("trap '' INT; while :; do :; done", hard_timeout=0.3)

    assert (stopped.status, stopped.exit_code) == ("hard_timeout", None)
    assert "shell ended" in (run.hint or "")
    assert (await run("echo back")).output == "back\n"


async def test_a_running_command_refuses_another(run: Runner) -> None:
    await run("sleep 60", timeout=0)
    with pytest.raises(Conflict, match="sleep 60"):
        await run("echo no")
    await run.shell.processes.kill_process(ShellId(id=run.id))

    assert (await run("echo yes")).output == "yes\n"


async def test_what_a_person_runs_refuses_a_command(run: Runner) -> None:
    await run("true")
    await type_into(run, "sleep 60")
    await shows(run, "sleep 60")
    await eventually(run.shell.listed, lambda listed: listed[run.id].status == "running")
    with pytest.raises(Conflict, match="typed at its terminal"):
        await run("echo no")
    await run.shell.processes.kill_process(ShellId(id=run.id))

    assert (await run("echo yes")).output == "yes\n"


async def test_half_a_line_that_was_typed_does_not_become_part_of_a_command(run: Runner) -> None:
    await run("true")
    await type_into(run, "echo half a li", enter=False)
    await shows(run, "half a li")

    assert (await run("echo whole")).output == "whole\n"


async def test_exec_dir_is_where_a_command_runs(run: Runner, server: Server) -> None:
    (server.home / "real").mkdir()
    (server.home / "link").symlink_to("real")
    physical = await run("pwd", exec_dir=f"{server.home}/link")
    logical = await run("pwd", exec_dir=f"{server.home}/link", preserve_symlinks=True)

    assert physical.output == f"{server.home}/real\n"
    assert logical.output == f"{server.home}/link\n"


async def test_a_missing_exec_dir_is_said_or_refused(run: Runner) -> None:
    await run("cd /usr")
    lenient = await run("pwd", exec_dir="/nowhere")
    hint = run.hint
    with pytest.raises(InvalidArgument, match="/nowhere"):
        await run("touch /tmp/ran", exec_dir="/nowhere", strict=True)
    with pytest.raises(InvalidArgument, match="absolute"):
        await run("pwd", exec_dir="relative")

    assert lenient.output == "/usr\n"
    assert "/nowhere" in (hint or "")
    assert (await run("ls /tmp/ran")).exit_code == 2


async def test_two_commands_at_once_never_mix(shell: Shell) -> None:
    runner = Runner(shell, "shared")
    await runner("true")
    results = await asyncio.gather(*(runner(f"echo {n}{n}{n}; sleep 1") for n in range(5)), return_exceptions=True)

    done = [result for result in results if not isinstance(result, BaseException)]
    assert len(done) == 1
    assert all(isinstance(result, Conflict) for result in results if isinstance(result, BaseException))
