from collections.abc import AsyncIterator

import anyio
import pytest

from sandbox_server.core.errors import Conflict, InvalidArgument, NotFound, Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.kernels.execution import Execution
from sandbox_server.drivers.kernels.kernel import Kernel, KernelEnded, OutputBounds
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.session import KEPT_EXECUTIONS, JupyterSession
from sandbox_server.drivers.spawn.process import LOST

pytestmark = pytest.mark.anyio

BOUNDS = OutputBounds(100_000)


@pytest.fixture
async def session(kernels: Kernels) -> AsyncIterator[JupyterSession]:
    async with Tasks() as tasks:
        opened = JupyterSession("s", "python3", kernels, tasks)
        yield opened
        await opened.close()


async def run(session: JupyterSession, code: str, directory: str | None = None) -> Execution:
    with anyio.fail_after(60):
        execution = await session.begin(code, timeout=30, bounds=BOUNDS, directory=directory)
        await execution.wait()
    return execution


def value(execution: Execution) -> str:
    return str((execution.shown[-1].data or {}).get("text/plain"))


async def test_variables_and_the_directory_stay(session: JupyterSession) -> None:
    await run(session, "x = 1", directory="/usr")
    assert value(await run(session, "import os; (x, os.getcwd())")) == "(1, '/usr')"


@pytest.mark.parametrize("directory", ["/no/such", "relative"])
async def test_a_directory_that_cannot_be_entered_is_refused_and_nothing_runs(session: JupyterSession, directory: str) -> None:
    await session.open(None)
    with pytest.raises(InvalidArgument, match=directory):
        await run(session, "x = 1", directory=directory)
    assert (await run(session, "x")).status == "error"


async def test_a_kernel_that_ends_before_the_code_begins_is_unavailable(session: JupyterSession, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ended(self: Kernel, directory: str) -> None:
        raise KernelEnded(LOST)

    await session.open(None)
    with monkeypatch.context() as ending:
        ending.setattr(Kernel, "enter", ended)
        with pytest.raises(Unavailable, match="before the code began"):
            await run(session, "1", directory="/usr")
    assert value(await run(session, "2", directory="/usr")) == "2"


async def test_code_waits_for_its_turn_but_not_longer_than_its_timeout(session: JupyterSession) -> None:
    with anyio.fail_after(60):
        first = await session.begin("import time; time.sleep(60)", timeout=300, bounds=BOUNDS)
        with pytest.raises(Conflict, match="other code"):
            await session.begin("2", timeout=0.2, bounds=BOUNDS)
        assert await session.interrupt()
        await first.wait()
    assert (first.status, value(await run(session, "2"))) == ("error", "2")


async def test_an_idle_session_has_nothing_to_interrupt(session: JupyterSession) -> None:
    assert not await session.interrupt()
    assert not session.busy


async def test_after_its_kernel_ended_it_goes_on_with_another_and_says_so(session: JupyterSession) -> None:
    await run(session, "x = 1", directory="/usr")
    await run(session, "import os; os._exit(1)")
    after = await run(session, "import os; ('x' in globals(), os.getcwd())")
    assert value(after) == "(False, '/usr')"
    assert "without the variables" in after.notes[0]


async def test_the_last_executions_are_found_by_id(session: JupyterSession) -> None:
    ran = [await run(session, str(number)) for number in range(KEPT_EXECUTIONS + 1)]
    assert session.execution(ran[-1].id) is ran[-1]
    with pytest.raises(NotFound):
        session.execution(ran[0].id)


async def test_closing_ends_what_runs(session: JupyterSession) -> None:
    with anyio.fail_after(60):
        execution = await session.begin("while True: pass", timeout=300, bounds=BOUNDS)
        await session.close()
        await execution.wait()
        assert execution.status == "error"
        with pytest.raises(NotFound):
            await session.begin("1", timeout=1, bounds=BOUNDS)
