"""The line by which a shell runs a command isolated."""

import shlex

import pytest

from sandbox_server.core import Conflict, InvalidArgument, TooLarge
from sandbox_server.drivers.fence.policy import IsolationPolicy, WritePolicy
from sandbox_server.drivers.shells.isolated_shells import MAX_WORD, IsolatedShells
from sandbox_server.drivers.spawn.process import Processes

pytestmark = pytest.mark.anyio


@pytest.fixture
def fenced(processes: Processes) -> IsolatedShells:
    return IsolatedShells(processes, "/run/sandbox-agent")


async def test_the_line_runs_the_text_whatever_is_in_it(fenced: IsolatedShells, processes: Processes) -> None:
    line = await fenced.line('echo "it\'s" $((6 * 7))\ntrue', IsolationPolicy(), "/")
    done = await processes.run(["bash", "-c", line], cwd="/", timeout=30, max_output=1000)
    assert (done.exit.code, done.stdout) == (0, b"it's 42\n")


async def test_a_path_that_does_not_exist_is_refused_before_anything_runs(fenced: IsolatedShells) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await fenced.line("true", IsolationPolicy(write=WritePolicy(allow=("none",))), "/tmp")
    assert refused.value.details["field"] == "isolation.write.allow"


async def test_a_command_that_is_too_long_for_one_argument_is_refused(fenced: IsolatedShells) -> None:
    with pytest.raises(TooLarge):
        await fenced.line("x" * (MAX_WORD + 1), IsolationPolicy(), "/")


async def test_what_this_host_cannot_enforce_is_a_conflict(processes: Processes) -> None:
    class Elsewhere(Processes):
        async def run(self, argv, **more):  # type: ignore[no-untyped-def]
            refusal = shlex.quote('{"error": 1, "field": "network", "message": "no namespaces"}')
            return await super().run(["sh", "-c", f"printf %s {refusal}; exit 125"], **more)

    elsewhere = Elsewhere(processes._socket_path)
    with pytest.raises(Conflict, match=r"isolation\.network"):
        await IsolatedShells(elsewhere, "/run/sandbox-agent").line("true", IsolationPolicy(), "/")
