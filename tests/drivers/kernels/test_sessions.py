import anyio
import pytest

from sandbox_server.core.errors import Conflict, InvalidArgument, NotFound, ResourceExhausted
from sandbox_server.drivers.kernels.kernel import OutputBounds
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.sessions import KernelSessions
from tests.patience import eventually

pytestmark = pytest.mark.anyio

BOUNDS = OutputBounds(100_000)


async def test_a_session_is_made_when_its_id_is_new_and_found_again(sessions: KernelSessions) -> None:
    made = await sessions.named("a", None)
    assert await sessions.named("a", "python3.13") is made is sessions.get("a")
    with pytest.raises(NotFound, match="Session not found"):
        sessions.get("b")


@pytest.mark.parametrize("session_id", ["x" * 129, "a/b", "a\nb"])
async def test_an_unusable_id_is_refused(sessions: KernelSessions, session_id: str) -> None:
    with pytest.raises(InvalidArgument):
        await sessions.named(session_id, None)


async def test_a_session_keeps_the_kernel_it_has(sessions: KernelSessions) -> None:
    await sessions.named("a", "python3.12")
    with pytest.raises(Conflict, match=r"python3\.12"):
        await sessions.named("a", "python3.11")


async def test_callers_that_name_none_share_an_idle_session_of_their_kernel(sessions: KernelSessions) -> None:
    with anyio.fail_after(60):
        first, execution = await sessions.begin(None, None, "import time; time.sleep(60)", timeout=300, bounds=BOUNDS)
        other, done = await sessions.begin(None, None, "1", timeout=30, bounds=BOUNDS)
        await done.wait()
        again, done = await sessions.begin(None, None, "1", timeout=30, bounds=BOUNDS)
        await done.wait()
        assert sessions.busy
        await first.interrupt()
        await execution.wait()
    assert first is not other
    assert again is other


async def test_a_new_session_takes_the_place_of_an_idle_one_that_nobody_named_else_there_are_too_many(sessions: KernelSessions) -> None:
    unnamed = await sessions.implicit(None)
    await sessions.named("a", None)
    await sessions.named("b", None)
    assert unnamed.id not in [session.id for session in sessions]
    with pytest.raises(ResourceExhausted, match="2 kernels"):
        await sessions.named("c", None)
    await sessions.clear()
    assert len(sessions) == 0


async def test_a_session_that_was_made_for_what_cannot_run_is_gone(sessions: KernelSessions) -> None:
    with anyio.fail_after(60):
        with pytest.raises(InvalidArgument):
            await sessions.begin("a", None, "1", timeout=30, bounds=BOUNDS, directory="/no/such")
        with pytest.raises(InvalidArgument):
            await sessions.create("b", None, "/no/such")
        assert len(sessions) == 0
        await sessions.create("b", None, "/usr")
        with pytest.raises(InvalidArgument):
            await sessions.create("b", None, "/no/such")
    assert [session.id for session in sessions] == ["b"]


async def test_a_session_for_one_execution_is_nobody_else_s_and_counts(sessions: KernelSessions) -> None:
    async with sessions.once(None) as first, sessions.once("python3.12") as second:
        assert (len(sessions), second.kernel_name) == (0, "python3.12")
        with pytest.raises(ResourceExhausted):
            async with sessions.once(None):
                pass
    await eventually(lambda: first.closed)


async def test_an_idle_session_is_closed_after_a_while_and_a_busy_one_is_not(kernels: Kernels) -> None:
    async with KernelSessions(kernels, limit=2, idle_timeout=0.5) as sessions:
        with anyio.fail_after(60):
            _, execution = await sessions.begin("busy", None, "import time; time.sleep(600)", timeout=300, bounds=BOUNDS)
            await sessions.named("idle", None)
            await eventually(lambda: len(sessions) == 1)
        assert [session.id for session in sessions] == ["busy"]
        assert not execution.ended
