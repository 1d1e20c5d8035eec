import signal
from pathlib import Path

import anyio
import pytest

from sandbox_server.core.errors import DeadlineExceeded, InvalidArgument, Unavailable
from sandbox_server.drivers.ipc.json_lines import JsonLine
from sandbox_server.drivers.kernels import kernel as module
from sandbox_server.drivers.kernels.kernel import TAIL_BYTES, Kernel, KernelEnded, OutputBounds, OutputTail
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.spawn.process import Processes
from tests.drivers.kernels.test_relay_client import KILL_THE_RELAY, relay_changed
from tests.patience import eventually

pytestmark = pytest.mark.anyio

BOUNDS = OutputBounds(100_000)


async def results(kernel: Kernel, code: str) -> list[str]:
    """Text of every result and stream that code puts out."""
    said: list[JsonLine] = []
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


REPLY_THAT_CANNOT_BE_SENT = "get_ipython().payload_manager.write_payload({'source': 'x', 'what': object()})"


async def test_a_reply_that_is_lost_is_not_waited_for(kernels: Kernels) -> None:
    kernel = await kernels.take("python3")
    with anyio.fail_after(60), pytest.raises(Unavailable, match="did not report how it ended"):
        await kernel.execute(REPLY_THAT_CANNOT_BE_SENT, BOUNDS, lambda _: None)
    assert await results(kernel, "1") == ["1"]
    await kernel.close()


NO_MESSAGES = """
kernel, parent = get_ipython().kernel, get_ipython().kernel.get_parent()
back = kernel.shell_channel_thread.manager.get_subshell_to_shell_channel_socket(None)
for content in (b"[]", b"null", b"{", b"[" * 1000000):
    kernel.session.send(kernel.iopub_socket, "stream", content, parent=parent)
    odd = {**parent["header"], "msg_id": []}
    kernel.session.send(back, "execute_reply", content, parent={"header": odd}, ident=kernel._shell_parent_ident.get())
"""


async def test_what_is_no_message_ends_nobody_s_listening(kernels: Kernels) -> None:
    kernel = await kernels.take("python3")
    with anyio.fail_after(60):
        assert (await kernel.execute(NO_MESSAGES, BOUNDS, lambda _: None))["evalue"] is None
    assert await results(kernel, "print(1)") == ["1\n"]
    await kernel.close()


OF_ANOTHER = """
kernel, parent = get_ipython().kernel, get_ipython().kernel.get_parent()
kernel.session.send(kernel.iopub_socket, "execute_input", {}, parent={"header": {**parent["header"], "msg_id": "another"}})
"""


async def test_the_beginning_of_another_s_code_is_not_that_of_this(kernels: Kernels) -> None:
    kernel = await kernels.take("python3")
    begun: list[None] = []
    with anyio.fail_after(60):
        await kernel.execute(OF_ANOTHER, BOUNDS, lambda _: None, lambda: begun.append(None))
    assert len(begun) == 1
    await kernel.close()


ABORT_FOR_A_WHILE = """
kernel = get_ipython().kernel
kernel._aborting = True
kernel.io_loop.call_later(0.3, setattr, kernel, "_aborting", False)
"""


async def test_code_that_is_put_back_because_another_s_failed_runs_all_the_same(kernels: Kernels) -> None:
    kernel = await kernels.take("python3")
    await results(kernel, ABORT_FOR_A_WHILE)
    assert await results(kernel, "print(1)") == ["1\n"]
    await kernel.close()


async def test_a_kernel_that_does_not_answer_is_not_waited_for_for_ever(kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = await kernels.take("python3")
    await kernel._process.kill(signal.SIGSTOP)
    state = Path(f"/proc/{kernel._process.pid}/stat")
    await eventually(lambda: state.read_text().rpartition(") ")[2].startswith("T"))  # the signal is on its way
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.5)
    with anyio.fail_after(30), pytest.raises(DeadlineExceeded, match="did not answer"):
        await kernel.enter("/")
    await kernel.close()
    assert kernel.exit


async def test_a_kernel_outlives_its_relay(kernels: Kernels, processes: Processes) -> None:
    kernel = await kernels.take("python3")
    await results(kernel, "x = 20")
    relay = await kernels.relayed()
    first = await relay.current()
    await processes.run(KILL_THE_RELAY, timeout=30, max_output=0)
    await eventually(lambda: relay_changed(relay, first))
    assert await results(kernel, "x + 1") == ["21"]
    await kernel.close()


async def test_what_a_kernel_leaves_behind_ends_with_it(kernels: Kernels, processes: Processes) -> None:
    kernel = await kernels.take("python3")
    with anyio.fail_after(30), pytest.raises(KernelEnded):
        await kernel.execute("import os, time; os.fork() and os._exit(3); time.sleep(600)", BOUNDS, lambda _: None)
    await eventually(lambda: nothing_is_left(processes))
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
    said: list[JsonLine] = []
    code = "import subprocess; print('on', flush=True); subprocess.run(['sleep', '1000'])"
    async with anyio.create_task_group() as group:

        async def run() -> None:
            with anyio.fail_after(30):
                assert (await kernel.execute(code, BOUNDS, said.append))["ename"] == "KeyboardInterrupt"

        group.start_soon(run)
        await eventually(lambda: said)
        await kernel.interrupt()
    assert await results(kernel, "1") == ["1"]
    await kernel.close()


def test_a_tail_keeps_the_end() -> None:
    tail = OutputTail()
    tail.take(b"x" * TAIL_BYTES)
    tail.take(b"end\n")
    assert tail.text().endswith("xend")
    assert len(tail.text()) == TAIL_BYTES - 1
