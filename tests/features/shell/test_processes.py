"""What runs in a session, seen, waited for, typed into and stopped."""

import asyncio

import pytest

from sandbox_server.core import Conflict, TooLarge
from sandbox_server.features.shell.processes import MAX_INPUT, ShellViewRequest, ShellWaitRequest, ShellWriteToProcessRequest
from sandbox_server.features.shell.session_profile import ShellId
from tests.features.shell.conftest import Runner
from tests.patience import eventually

pytestmark = pytest.mark.anyio


async def test_async_mode_answers_at_once_and_the_rest_is_waited_for_and_viewed(run: Runner) -> None:
    begun = await run("echo working; read x; echo done; (exit 3)", async_mode=True)
    await eventually(lambda: run.shell.processes.view(ShellViewRequest(id=run.id)), lambda seen: "working" in seen.data.output.splitlines())
    await run.shell.processes.write_to_process(ShellWriteToProcessRequest(id=run.id, input="", press_enter=True))
    waited = await run.shell.processes.wait_for_process(ShellWaitRequest(id=run.id, seconds=30))
    viewed = (await run.shell.processes.view(ShellViewRequest(id=run.id))).data

    assert (begun.status, begun.output, begun.exit_code) == ("running", None, None)
    assert waited.status == "completed"
    assert (viewed.exit_code, viewed.command) == (3, "echo working; read x; echo done; (exit 3)")
    assert viewed.console[-1].output == "working\n\ndone\n"


async def test_waiting_ends_when_its_time_is_over(run: Runner) -> None:
    await run("sleep 60", timeout=0)
    short = await run.shell.processes.wait_for_process(ShellWaitRequest(id=run.id, seconds=60, max_wait_seconds=0))

    assert short.status == "running"


async def test_killing_what_does_not_run_gives_the_last_code(run: Runner) -> None:
    await run("sh -c 'exit 4'")
    reply = await run.shell.processes.kill_process(ShellId(id=run.id))

    assert (reply.data.status, reply.data.exit_code, reply.data.returncode) == ("completed", 4, 4)
    assert reply.hint == "nothing was running"


async def test_killing_gives_no_code_and_the_one_who_waits_for_the_command_learns_of_it(run: Runner) -> None:
    waiting = asyncio.create_task(run("echo begun; sleep 60"))
    await eventually(run.shell.listed, lambda listed: listed and listed[run.id].status == "running")
    reply = await run.shell.processes.kill_process(ShellId(id=run.id))
    result = await waiting

    assert (reply.data.status, reply.data.exit_code) == ("terminated", None)
    assert (result.status, result.exit_code) == ("terminated", None)


async def test_an_ended_shell_takes_no_keys(run: Runner) -> None:
    await run("exit")
    with pytest.raises(Conflict, match="has ended"):
        await run.shell.processes.write_to_process(ShellWriteToProcessRequest(id=run.id, input="ls", press_enter=True))


async def test_input_over_the_limit_is_refused(run: Runner) -> None:
    await run("true")
    with pytest.raises(TooLarge):
        await run.shell.processes.write_to_process(ShellWriteToProcessRequest(id=run.id, input="x" * (MAX_INPUT + 1), press_enter=False))


async def test_a_view_of_a_long_screen_is_truncated_unless_asked(run: Runner) -> None:
    await run("seq 1 9000")
    short = (await run.shell.processes.view(ShellViewRequest(id=run.id))).data
    long = (await run.shell.processes.view(ShellViewRequest(id=run.id, truncate=False))).data

    assert len(short.output) <= 30_000
    assert "characters omitted" in short.output
    assert "\n1\n2\n3\n" in long.output


@pytest.mark.parametrize(
    ("command", "kind", "prompt", "program"),
    [
        ("read -p 'Name: ' x", "line", "Name:", "bash"),
        ("read -s -p 'Password: ' x", "hidden", "Password:", "bash"),
        ("python3 -c 'input(\"Which one? \")'", "line", "Which one?", "python3"),
        ("cd /; less /etc/services", "keys", "/etc/services", "less"),
    ],
)
async def test_what_waits_for_input_is_named_with_its_prompt(run: Runner, command: str, kind: str, prompt: str, program: str) -> None:
    await run(command, timeout=0)
    seen = await eventually(
        lambda: run.shell.processes.view(ShellViewRequest(id=run.id)), lambda seen: seen.data.terminal and seen.data.terminal.waits
    )
    waits = seen.data.terminal.waits

    assert (waits.kind, waits.prompt, waits.program[:7]) == (kind, prompt, program)
    assert seen.data.terminal.alternate == (program == "less")


async def test_what_does_not_wait_for_input_is_not_said_to(run: Runner) -> None:
    await run("printf 'Password: '; sleep 60", timeout=0)
    seen = await eventually(lambda: run.shell.processes.view(ShellViewRequest(id=run.id)), lambda seen: "Password:" in seen.data.output)
    terminal = seen.data.terminal

    assert terminal.waits is None
    assert (terminal.cursor.visible, terminal.cursor.column) == (True, len("Password: "))
    assert 0 < terminal.cursor.row < terminal.rows
