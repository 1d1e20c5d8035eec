"""What becomes a kernel is forked where it can be, and started where it cannot."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from sandbox_server.drivers.kernels.kernel_zygote import NAME, KernelZygote
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.spawn.process import NoZygote, Process, Processes
from tests.drivers.kernels.conftest import MEMORY

pytestmark = pytest.mark.anyio

INSTEAD = ["sh", "-c", "exit 9"]


@pytest.fixture
async def zygote(kernels: Kernels, processes: Processes) -> AsyncIterator[KernelZygote]:
    """One of the usual Python."""
    python = await kernels.pythons.get("python3")
    async with KernelZygote(processes, program=python.program, packages=python.packages, memory=MEMORY) as opened:
        yield opened


async def code(process: Process) -> int | None:
    """How it ended."""
    with anyio.fail_after(30):
        return (await process.wait()).code


async def test_a_role_is_forked(zygote: KernelZygote, sockets: Path) -> None:
    relay = await zygote.start(["kernels/relay", str(sockets)], INSTEAD)

    assert await code(relay) == 1  # it has no socket to serve on: the program instead would have ended with 9


async def test_what_shall_not_be_forked_is_started(zygote: KernelZygote, sockets: Path) -> None:
    assert await code(await zygote.start(["kernels/relay", str(sockets)], INSTEAD, forked=False)) == 9


async def test_where_the_zygote_was_killed_another_takes_its_place(zygote: KernelZygote, processes: Processes, sockets: Path) -> None:
    assert await code(await zygote.start(["kernels/relay", str(sockets)], INSTEAD)) == 1
    with anyio.fail_after(30):
        await processes.run(["pkill", "-KILL", "-f", "[k]ernels/zygote_program"], timeout=30, max_output=0)

    assert await code(await zygote.start(["kernels/relay", str(sockets)], INSTEAD)) == 1
    assert (await processes.run(["pgrep", "-f", "[k]ernels/zygote_program"], timeout=30, max_output=99)).exit.code == 0


async def test_where_nothing_can_be_forked_the_program_is_started_and_no_template_for_a_while(processes: Processes) -> None:
    async with KernelZygote(processes, program="python3", packages="/no/such/packages", memory=MEMORY) as zygote:
        assert await code(await zygote.start(["kernels/relay", "/"], INSTEAD)) == 9
        with pytest.raises(Exception, match="zygote"):
            await processes.start(["kernels/relay", "/"], forked_from=NAME)
        assert await code(await zygote.start(["kernels/relay", "/"], INSTEAD)) == 9
        with pytest.raises(Exception, match="there is no zygote"):
            await processes.start(["kernels/relay", "/"], forked_from=NAME)


async def test_where_the_kernel_cannot_fork_so_the_program_is_started_and_no_zygote_is_tried_again() -> None:
    asked: list[object] = []

    class Refusing:
        async def start(self, argv: list[str], **options: object) -> list[str]:
            asked.append(options.get("zygote"))
            if "zygote" in options:
                raise NoZygote("this kernel cannot")
            return argv

    zygote = KernelZygote(Refusing(), program="python3", packages="/", memory=MEMORY)  # type: ignore[arg-type]
    started: list[object] = [await zygote.start(["kernels/relay", "/"], INSTEAD) for _ in range(2)]
    assert started == [INSTEAD, INSTEAD]
    assert asked == [NAME, None, None]
