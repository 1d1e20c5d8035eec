import re
from pathlib import Path

import anyio
import pytest

from sandbox_server.drivers.ipc.json_lines import JsonLine
from sandbox_server.drivers.kernels import execution as module
from sandbox_server.drivers.kernels.execution import Execution
from sandbox_server.drivers.kernels.kernel import Kernel, OutputBounds
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.outputs import stream_text
from sandbox_server.drivers.kernels.relay_client import OnBegin, OnOutput
from sandbox_server.drivers.spawn.process import Processes
from tests.drivers.kernels.test_kernel import REPLY_THAT_CANNOT_BE_SENT
from tests.drivers.kernels.test_relay_client import KILL_THE_RELAY
from tests.patience import eventually

pytestmark = pytest.mark.anyio

STUBBORN = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    pass
"""


async def ran(kernels: Kernels, code: str, *, timeout: float = 30, room: int = 100_000) -> Execution:
    """Run code in a kernel of its own."""
    kernel = await kernels.take("python3")
    execution = Execution(code)
    with anyio.fail_after(60):
        await execution.run(kernel, OutputBounds(room), timeout)
        await execution.wait()
    await kernel.close()
    return execution


async def test_outputs_come_in_order_and_the_value_of_the_last_expression_is_one(kernels: Kernels) -> None:
    done = await ran(kernels, "import sys; print('out'); print('err', file=sys.stderr); 6 * 7")

    assert (done.status, done.exit_code, done.execution_count) == ("ok", 0, 1)
    assert (stream_text(done.shown, "stdout"), stream_text(done.shown, "stderr")) == ("out\n", "err\n")
    assert done.shown[-1].data == {"text/plain": "42"}


@pytest.mark.parametrize(("media", "code"), [
    ("image/png", "import matplotlib.pyplot as plt; plt.plot([1, 2]); None"),
    ("text/html", "import pandas; pandas.DataFrame({'a': [1]})"),
    ("application/json", "from IPython.display import JSON; JSON({'a': 1})"),
])  # fmt: skip
async def test_rich_outputs_come_by_their_media_type(kernels: Kernels, media: str, code: str) -> None:
    done = await ran(kernels, code)

    assert media in (done.shown[-1].data or {})


async def test_an_exception_has_its_name_its_text_and_a_plain_traceback(kernels: Kernels) -> None:
    done = await ran(kernels, "def f():\n    raise ValueError('bad')\nf()")

    error = done.shown[-1]
    assert (done.status, done.exit_code, error.ename, error.evalue) == ("error", 1, "ValueError", "bad")
    assert done.traceback
    assert "\x1b" not in "".join(done.traceback)


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("sys.exit(3)", 3),
        ("sys.exit()", 0),
        ("sys.exit('text')", 1),
        ("sys.exit(-1)", 255),
        ("sys.exit('--5')", 1),
        ("sys.exit('9' * 5000)", 1),
    ],
)
async def test_leaving_the_program_gives_its_exit_code(kernels: Kernels, code: str, exit_code: int) -> None:
    assert (await ran(kernels, f"import sys; {code}")).exit_code == exit_code


async def test_code_that_takes_too_long_is_interrupted(kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INTERRUPT_GRACE", 30.0)
    done = await ran(kernels, "print('on', flush=True)\nwhile True: pass", timeout=2)

    assert (done.status, done.exit_code, done.notes) == ("timeout", None, [])
    assert (stream_text(done.shown, "stdout"), done.shown[-1].ename) == ("on\n", "KeyboardInterrupt")


async def test_a_reply_that_is_lost_ends_the_execution(kernels: Kernels) -> None:
    done = await ran(kernels, REPLY_THAT_CANNOT_BE_SENT)

    assert (done.status, done.exit_code, done.shown[-1].ename) == ("error", None, "Unavailable")


async def test_an_interrupt_that_loses_the_reply_loses_no_kernel(kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INTERRUPT_GRACE", 30.0)
    code = f"try:\n    while True: pass\nexcept KeyboardInterrupt:\n    {REPLY_THAT_CANNOT_BE_SENT}"
    done = await ran(kernels, code, timeout=2)

    assert (done.status, done.exit_code, done.notes) == ("timeout", None, [])


async def test_a_kernel_that_a_nameless_signal_ends_is_told_of(kernels: Kernels) -> None:
    done = await ran(kernels, "import os; os.kill(os.getpid(), 40)")

    assert (done.status, done.exit_code, done.shown[-1].evalue) == ("error", None, "the kernel ended by signal 40")


async def test_code_that_ignores_that_loses_its_kernel(kernels: Kernels) -> None:
    done = await ran(kernels, STUBBORN, timeout=1)

    assert (done.status, done.exit_code) == ("timeout", None)
    assert "did not react" in done.notes[0]


async def test_a_kernel_that_ends_is_an_error_with_how(kernels: Kernels) -> None:
    killed = await ran(kernels, "import os; os.abort()")
    left = await ran(kernels, "import os; os._exit(7)")

    assert (killed.status, killed.exit_code, killed.shown[-1].evalue) == ("error", None, "the kernel ended by SIGABRT")
    assert (left.status, left.exit_code, left.shown[-1].evalue) == ("error", 7, "the kernel ended with exit code 7")
    assert "without its variables" in left.notes[0]


async def test_what_a_copy_of_the_kernel_prints_is_output_and_no_port_is_open_for_it(kernels: Kernels) -> None:
    code = "import os, sys\nchild = os.fork()\nprint('child' if not child else 'parent', flush=True)\nif child: os.waitpid(child, 0)"
    done = await ran(kernels, code)
    ports = "import psutil\nprint([one.laddr for one in psutil.Process().net_connections('inet')])"

    shown = stream_text(done.shown, "stdout")  # a copy sends the end of a line by itself, which may come after the parent's line
    assert sorted(shown.replace("child", "child ").split()) == ["child", "parent"]
    assert stream_text((await ran(kernels, ports)).shown, "stdout") == "[]\n"


async def test_what_many_copies_of_the_kernel_print_before_it_ends_is_all_output(kernels: Kernels) -> None:
    code = """
import os
for number in range(20):
    child = os.fork()
    if not child:
        print(f"<{number}>", flush=True)
        break
    os.waitpid(child, 0)
"""
    for _ in range(3):
        done = await ran(kernels, code)
        shown = stream_text(done.shown, "stdout")
        assert sorted(re.findall(r"<(\d+)>", shown), key=int) == [str(number) for number in range(20)]


async def nothing_is_left(processes: Processes) -> bool:
    """Whether no kernel runs."""
    return (await processes.run(["pgrep", "-f", "[k]ernels/kernel"], timeout=30, max_output=10_000)).exit.code == 1


async def test_copies_of_the_kernel_that_code_made_end_with_its_time(kernels: Kernels, processes: Processes) -> None:
    bomb = """
import os
main = os.getpid()
while True:
    try:
        os.fork()
    except KeyboardInterrupt:
        if os.getpid() == main:
            raise
    except OSError:
        pass
"""
    kernel = await kernels.take("python3")
    execution, after = Execution(f"import resource; resource.setrlimit(resource.RLIMIT_NPROC, (90, 90))\n{bomb}"), Execution("1")
    with anyio.fail_after(60):
        await execution.run(kernel, OutputBounds(10_000), 2)
        if kernel.exit is None:
            await after.run(kernel, OutputBounds(10_000), 30)
    await kernel.close()
    await eventually(lambda: nothing_is_left(processes))

    assert (execution.status, after.status in ("ok", "running")) == ("timeout", True)


async def test_a_copy_of_the_kernel_ends_where_the_code_ends(kernels: Kernels) -> None:
    done = await ran(kernels, "import os\nchild = os.fork()\nif child: print(os.waitpid(child, 0)[1])")

    assert stream_text(done.shown, "stdout") == "0\n"


async def test_where_the_relay_ends_meanwhile_it_is_said_what_is_lost_and_the_code_goes_on(
    kernels: Kernels, processes: Processes, home: Path
) -> None:
    kernel, go = await kernels.take("python3"), home / "go"
    execution = Execution(f"x = 1; print('on', flush=True)\nimport os\nwhile not os.path.exists({str(go)!r}): pass\nx = 2")
    after = Execution("x")
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(execution.run, kernel, OutputBounds(1000), 60)
            await eventually(lambda: execution.outputs)
            await processes.run(KILL_THE_RELAY, timeout=30, max_output=0)
        go.touch()
        await after.run(kernel, OutputBounds(1000), 60)
    await kernel.close()

    assert (execution.status, execution.shown[-1].ename, "is lost" in execution.notes[0]) == ("error", "RelayEnded", True)
    assert after.shown[-1].data == {"text/plain": "2"}


async def test_endless_output_is_cut_and_said(kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INTERRUPT_GRACE", 30.0)
    done = await ran(kernels, "while True: print('x' * 100)", timeout=1, room=50_000)

    assert done.status == "timeout"
    assert 0 < len(stream_text(done.outputs, "stdout")) <= 50_000
    assert done.dropped > 0
    assert f"{done.dropped} bytes" in done.notes[0]


async def test_whoever_waits_hears_of_every_change(kernels: Kernels) -> None:
    execution = Execution("1")
    change = execution.change()
    assert not execution.ended
    execution.fail("Broken", "it is")
    assert change.done()
    assert (execution.status, execution.traceback) == ("error", ["Broken: it is"])


class Lying(Kernel):
    """A kernel behind a relay that passes on whatever it likes."""

    def __init__(self, said: list[JsonLine], reply: JsonLine) -> None:
        self._lines, self._reply = said, reply

    async def execute(self, code: str, bounds: OutputBounds, on_output: OnOutput, on_begin: OnBegin | None = None) -> JsonLine:
        for line in self._lines:
            on_output(line)
        return self._reply


async def told(said: list[JsonLine], reply: JsonLine | None = None, room: int = 100) -> Execution:
    execution = Execution("1")
    with anyio.fail_after(30):
        await execution.run(Lying(said, reply or {"status": "ok"}), OutputBounds(room, 10), 5)
    return execution


async def test_more_than_was_asked_for_is_not_kept_whoever_passes_it_on() -> None:
    streams: list[JsonLine] = [{"output_type": "stream", "name": "stdout", "text": "x" * 60}] * 3
    pictures: list[JsonLine] = [{"output_type": "display_data", "data": {}}] * 50

    assert (stream_text((done := await told(streams)).outputs, "stdout"), done.dropped) == ("x" * 60, 120)
    assert len((await told(pictures, room=100_000)).outputs) == 10


async def test_an_output_that_nests_too_deep_for_an_answer_is_left_out_and_said() -> None:
    deep: object = 1
    for _ in range(50_000):
        deep = [deep]
    done = await told([{"output_type": "display_data", "data": {"application/json": deep}}] * 2)

    assert (done.outputs, done.notes) == ([], ["an output with objects more than 100 deep in one another was not kept"])


@pytest.mark.parametrize("dropped", [-5, 10**4000, "7", None, 1.5])
async def test_a_number_of_dropped_bytes_that_cannot_be_is_not_believed(dropped: object) -> None:
    assert (await told([], {"status": "ok", "dropped": dropped})).dropped == 0


@pytest.mark.slow
async def test_an_exception_as_large_as_memory_leaves_the_relay_as_it_was(kernels: Kernels) -> None:
    kernel = await kernels.take("python3")
    for code in ("raise ValueError('x' * 100_000_000)", "'x' * 100_000_000"):
        execution = Execution(code)
        with anyio.fail_after(60):
            await execution.run(kernel, OutputBounds(1 << 20), 50)
        assert execution.dropped >= 100_000_000
        assert not any("lost" in note for note in execution.notes)
    await kernel.close()
