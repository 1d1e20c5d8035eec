import asyncio

import pytest

from sandbox_server.features.shell.capture import HEAD, TAIL
from sandbox_server.features.shell.command import RunningCommand

pytestmark = pytest.mark.anyio


async def test_a_command_is_running_until_its_end_and_only_the_first_end_counts() -> None:
    command = RunningCommand("make", "token")
    begun = (command.status, command.exit_code, command.ended)
    command.finish("completed", 3)
    command.finish("terminated", None)
    assert begun == ("running", None, False)
    assert (command.status, command.exit_code, command.ended) == ("completed", 3, True)


async def test_an_end_wakes_who_waits_for_it() -> None:
    command = RunningCommand("make", "token")
    asyncio.get_running_loop().call_later(0.02, command.finish, "terminated", None)
    async with asyncio.timeout(30):
        assert await command.settle() == "terminated"


@pytest.mark.parametrize("timeout", [0, 0.02])
async def test_a_timeout_leaves_it_running(timeout: float) -> None:
    command = RunningCommand("make", "token")
    async with asyncio.timeout(30):
        assert await command.settle(timeout, no_change_timeout=60) == "running"
    assert not command.ended


async def test_silence_counts_from_the_last_output() -> None:
    command = RunningCommand("make", "token")
    loop = asyncio.get_running_loop()
    began = loop.time()
    loop.call_later(0.1, command.wrote, b"x")
    async with asyncio.timeout(30):
        assert await command.settle(None, no_change_timeout=0.2) == "no_change_timeout"
    assert loop.time() - began >= 0.29
    assert not command.ended


async def test_silence_counts_from_when_the_shell_began_it() -> None:
    command = RunningCommand("make", "token")
    loop = asyncio.get_running_loop()
    began = loop.time()
    loop.call_later(0.1, command.begin)
    async with asyncio.timeout(30):
        assert await command.settle(None, no_change_timeout=0.2) == "no_change_timeout"
    assert loop.time() - began >= 0.29
    assert command.begun


async def test_silence_of_zero_is_never_minded() -> None:
    command = RunningCommand("make", "token")
    asyncio.get_running_loop().call_later(0.1, command.finish, "completed", 0)
    async with asyncio.timeout(30):
        assert await command.settle(None, no_change_timeout=0) == "completed"


async def test_of_two_limits_the_first_that_passes_is_told() -> None:
    command = RunningCommand("make", "token")
    async with asyncio.timeout(30):
        assert await command.settle(0.02, no_change_timeout=60) == "running"
        assert await command.settle(60, no_change_timeout=0.05) == "no_change_timeout"


async def test_who_gives_up_waiting_leaves_the_command_as_it_is() -> None:
    command = RunningCommand("make", "token")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await command.settle()
    command.wrote(b"more")
    command.finish("completed", 0)
    assert await command.settle() == "completed"


async def test_output_is_plain_text_with_its_middle_left_out_where_asked() -> None:
    command = RunningCommand("make", "token")
    command.wrote(b"\x1b[1mbegin\x1b[0m\r\n" + b"x" * 40_000 + b"\r\nend\r\n")
    short, whole = await command.output(), await command.output(truncate=False)
    assert whole == f"begin\n{'x' * 40_000}\nend\n"
    assert len(short) <= 30_000
    assert "characters omitted" in short
    assert (short[:6], short[-5:]) == ("begin\n", "\nend\n")


async def test_bytes_that_were_not_kept_are_counted_where_they_were() -> None:
    command = RunningCommand("make", "token")
    line = b"x" * 1023 + b"\n"
    for _ in range((HEAD + TAIL) // 1024 + 100):
        command.wrote(line)
    head, _, tail = (await command.output(truncate=False)).partition("... [102400 bytes were not kept] ...")
    assert len(head) >= HEAD
    assert len(tail) >= TAIL


async def test_hints_are_given_together() -> None:
    command = RunningCommand("make", "token")
    assert command.hint is None
    command.add_hint("first")
    command.add_hint(None)
    command.add_hint("second")
    assert command.hint == "first; second"


async def test_tokens_differ() -> None:
    assert len({RunningCommand.new_token() for _ in range(100)}) == 100
