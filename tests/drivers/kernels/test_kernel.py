from pathlib import Path

import anyio
import pytest

from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers.kernels.kernel import TAIL_BYTES, Bounds, Kernel, KernelEnded, Tail
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.lines import Line
from sandbox_server.drivers.process import Processes
from tests.drivers.kernels.test_relayed import KILL_THE_RELAY, relay_changed
from tests.drivers.kernels.waiting import until

pytestmark = pytest.mark.anyio

BOUNDS = Bounds(100_000)


async def results(kernel: Kernel, code: str) -> list[str]:
    """Text of every result and stream that code puts out."""
    said: list[Line] = []
    with anyio.fail_after(30):
        await kernel.execute(code, BOUNDS, said.append)
    return [str(line.get("text") or line["data"]["text/plain"]) for line in said]


async def test_variables_stay_and_quiet_code_leaves_no_trace(kernels: Kernels) -> None:
    kernel = await kernels.take("python3")
    await results(kernel, "x = 20")
    await kernel.enter("/usr")
    assert await results(kernel, "x + 1") == ["21"]
    assert await results(kernel, "import os; os.getcwd()") == ["'/usr'"]
    assert await results(kernel, "len(In)") == ["5"]
    await kernel.close()


async def test_a_directory_that_cannot_be_entered_is_named(kernels: Kernels) -> None:
    kernel = await kernels.take("python3")
    with pytest.raises(InvalidArgument, match="/no/such"):
        await kernel.enter("/no/such")
    await kernel.close()


async def test_a_kernel_that_dies_is_an_error_at_once(kernels: Kernels) -> None:
    kernel = await kernels.take("python3")
    with anyio.fail_after(30), pytest.raises(KernelEnded) as death:
        await kernel.execute("import os; os.kill(os.getpid(), 9)", BOUNDS, lambda _: None)
    assert (death.value.exit.signal, kernel.exit) == (9, death.value.exit)
    with anyio.fail_after(30), pytest.raises(KernelEnded):
        await kernel.execute("1", BOUNDS, lambda _: None)
    await kernel.close()


async def test_a_kernel_outlives_its_relay(kernels: Kernels, processes: Processes) -> None:
    kernel = await kernels.take("python3")
    await results(kernel, "x = 20")
    relay = await kernels.relayed()
    first = await relay.current()
    await processes.run(KILL_THE_RELAY, timeout=30, max_output=0)
    await until(lambda: relay_changed(relay, first))
    assert await results(kernel, "x + 1") == ["21"]
    await kernel.close()


async def test_what_a_kernel_leaves_behind_ends_with_it(kernels: Kernels, processes: Processes) -> None:
    kernel = await kernels.take("python3")
    with anyio.fail_after(30), pytest.raises(KernelEnded):
        await kernel.execute("import os, time; os.fork() and os._exit(3); time.sleep(600)", BOUNDS, lambda _: None)
    await until(lambda: nothing_is_left(processes))
    await kernel.close()


async def nothing_is_left(processes: Processes) -> bool:
    """Whether no kernel runs."""
    return (await processes.run(["pgrep", "-f", "[k]ernels/kernel"], timeout=30, max_output=1000)).exit.code == 1


async def test_what_runs_goes_before_what_idles_when_memory_runs_out(kernels: Kernels) -> None:
    kernel = await kernels.take("python3")
    assert await results(kernel, "print(open('/proc/self/oom_score_adj').read().strip())") == ["700\n"]
    assert Path(f"/proc/{kernel._process.pid}/oom_score_adj").read_text() == "500\n"
    await kernel.close()


async def test_an_interrupt_reaches_the_code_and_its_children(kernels: Kernels) -> None:
    kernel = await kernels.take("python3")
    said: list[Line] = []
    code = "import subprocess; print('on', flush=True); subprocess.run(['sleep', '1000'])"
    async with anyio.create_task_group() as group:

        async def run() -> None:
            with anyio.fail_after(30):
                assert (await kernel.execute(code, BOUNDS, said.append))["ename"] == "KeyboardInterrupt"

        group.start_soon(run)
        await until(lambda: said)
        await kernel.interrupt()
    assert await results(kernel, "1") == ["1"]
    await kernel.close()


def test_a_tail_keeps_the_end() -> None:
    tail = Tail()
    tail.take(b"x" * TAIL_BYTES)
    tail.take(b"end\n")
    assert tail.text().endswith("xend")
    assert len(tail.text()) == TAIL_BYTES - 1
