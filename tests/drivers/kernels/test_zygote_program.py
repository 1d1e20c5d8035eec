"""A kernel that was forked is one that was started, but sooner."""

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from sandbox_server.drivers.ipc.json_lines import JsonLine
from sandbox_server.drivers.kernels.kernel import Kernel, OutputBounds
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.spawn.process import Processes
from tests.drivers.kernels.conftest import MEMORY

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio

SEEN = """
import json, os, resource, signal, sys
print(json.dumps([sys.path, sys.argv, os.getcwd(), sorted(os.environ), resource.getrlimit(resource.RLIMIT_DATA), os.umask(0o22),
    signal.getsignal(signal.SIGINT) is signal.default_int_handler, sys.flags.isolated, sys.stdout.encoding, os.nice(0)]))
"""


async def said(kernel: Kernel, code: str) -> str:
    """What code prints."""
    told: list[JsonLine] = []
    with anyio.fail_after(60):
        await kernel.execute(code, OutputBounds(100_000), told.append)
    return "".join(str(line.get("text") or line.get("evalue")) for line in told)


async def test_a_forked_kernel_finds_what_one_finds_that_was_started(
    kernels: Kernels, processes: Processes, sockets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked = await kernels.take("python3")
    assert (await said(forked, "print(open('/proc/self/cmdline').read())")).startswith("kernels/kernel ")
    first = await said(forked, SEEN)
    await forked.close()
    async with Kernels(processes, folder=str(sockets), default="python3", memory=MEMORY, warm=False) as others:
        await others.relayed()
        monkeypatch.setattr(others, "_zygote", None)
        started = await others.take("python3")
        assert "launch.py" in await said(started, "print(open('/proc/self/cmdline').read())")
        assert await said(started, SEEN) == first
        await started.close()


async def test_what_was_installed_since_is_found_by_the_next_kernel_and_by_one_that_runs(kernels: Kernels, home: Path) -> None:
    before = await kernels.take("python3")
    await said(before, "1")
    make = "import site; from pathlib import Path; own = Path(site.getusersitepackages()); own.mkdir(parents=True)"
    await said(before, f"{make}; (own / 'installed.py').write_text('x = 41'); (own / 'six.py').write_text('x = 1')")
    after = await kernels.take("python3")
    found = [await said(kernel, "import installed; print(installed.x + 1)") for kernel in (before, after)]
    newer = await said(after, "import six; print(six.x)")
    await before.close()
    await after.close()

    assert (found, newer) == (["42\n", "42\n"], "1\n")


async def test_a_kernel_may_be_given_more_memory_than_other_processes_have(
    spawner: "SpawnerDaemon", processes: Processes, sockets: Path
) -> None:
    spawner.stop()
    spawner.start("--max-memory", str(MEMORY // 2))
    async with Kernels(processes, folder=str(sockets), default="python3", memory=MEMORY, warm=False) as others:
        kernel = await others.take("python3")
        seen = await said(
            kernel, "import resource; print(resource.getrlimit(resource.RLIMIT_DATA)[1], open('/proc/self/cmdline').read()[:14])"
        )
        await kernel.close()

    assert seen == f"{MEMORY} kernels/kernel\n"
