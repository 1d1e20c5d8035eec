"""A zygote forks processes that are the spawner's, and like any other."""

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

import sandbox_server
from sandbox_server.core.errors import NotFound
from sandbox_server.drivers.spawn.pipes import Capture, PipeReader
from sandbox_server.drivers.spawn.process import Exit, NoZygote, Process, Processes, put_down

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio

ROOT = str(Path(sandbox_server.__file__).parent.parent)
PROGRAM = """
import os, sys
sys.path.append(sys.argv[1])
import random, threading, time
from sandbox_server.drivers.spawn import zygote
words = zygote.serve(lambda: os.path.exists(sys.argv[2]))
if words:
    exec(words[0])
"""


@asynccontextmanager
async def zygote(processes: Processes, outdated: str = "/no/such/file") -> AsyncIterator[Process]:
    """A zygote, named t, whose forks execute the Python that they are told."""
    process = await processes.start([sys.executable, "-I", "-c", PROGRAM, ROOT, outdated], zygote="t", env={"OLD": "1"})
    try:
        yield process
    finally:
        await put_down(process)


async def said(processes: Processes, code: str, **options: object) -> str:
    """What code prints in a process that the zygote forks, once that has ended well."""
    told = Capture(10_000)
    with anyio.fail_after(30), PipeReader(told.take) as output:
        process = await processes.start([code], forked_from="t", stdout=output.theirs, stderr=output.theirs, **options)  # type: ignore[arg-type]
        output.release()
        ended = await process.wait()
        await output.settle()
    text = told.bytes().decode()
    assert ended == Exit(0, None), text
    return text.strip()


async def test_what_is_forked_is_a_child_of_the_spawner_and_leads_a_group_of_its_own(
    processes: Processes, spawner: "SpawnerDaemon"
) -> None:
    async with zygote(processes) as origin:
        who = await said(processes, "print(os.getppid(), os.getsid(0) == os.getpgid(0) == os.getpid(), os.getuid())")
        uid = os.stat(f"/proc/{origin.pid}").st_uid

    assert who == f"{spawner.pid} True {uid}"


async def test_a_forked_process_has_only_the_given_environment_directory_limits_and_descriptors(processes: Processes) -> None:
    code = "import resource; print(os.environ['NEW'], 'OLD' in os.environ, os.getcwd(), resource.getrlimit(resource.RLIMIT_NOFILE)[0], "
    code += "sorted(map(int, os.listdir('/proc/self/fd')))[:3], len(os.listdir('/proc/self/fd')))"
    async with zygote(processes):
        found = await said(processes, code, env={"NEW": "n"}, cwd="/usr", limits={"nofile": 77})

    assert found == "n False /usr 77 [0, 1, 2] 4"  # the fourth lists


async def test_two_of_them_draw_other_random_numbers_and_know_their_own_thread(processes: Processes) -> None:
    code = "time.clock_gettime(time.pthread_getcpuclockid(threading.get_ident())); print(random.random())"
    async with zygote(processes):
        assert await said(processes, code) != await said(processes, code)


@pytest.mark.parametrize(
    ("code", "ended"),
    [("sys.exit(7)", Exit(7, None)), ("os.kill(os.getpid(), 9)", Exit(None, 9)), ("os._exit(0)", Exit(0, None))],
)
async def test_how_it_ended_is_observed(processes: Processes, code: str, ended: Exit) -> None:
    async with zygote(processes):
        with anyio.fail_after(30):
            assert await (await processes.start([code], forked_from="t")).wait() == ended


async def test_a_forked_process_outlives_its_zygote_and_can_be_killed(processes: Processes) -> None:
    async with zygote(processes):
        process = await processes.start(["time.sleep(1000)"], forked_from="t")
    await process.kill(signal.SIGKILL)
    with anyio.fail_after(30):
        assert await process.wait() == Exit(None, signal.SIGKILL)


async def test_a_directory_that_is_not_there_is_the_caller_s_mistake(processes: Processes) -> None:
    async with zygote(processes):
        with anyio.fail_after(30), pytest.raises(NotFound, match="/no/such/place") as refusal:
            await processes.start(["1"], forked_from="t", cwd="/no/such/place")
    assert not isinstance(refusal.value, NoZygote)


async def test_an_outdated_zygote_forks_nothing_and_ends(processes: Processes, home: Path) -> None:
    async with zygote(processes, str(home / "flag")) as process:
        assert await said(processes, "print(1)") == "1"
        (home / "flag").write_text("")
        with anyio.fail_after(30), pytest.raises(NoZygote):
            await processes.start(["1"], forked_from="t")
        with anyio.fail_after(30):
            assert (await process.wait()).code == 0
