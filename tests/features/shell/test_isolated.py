"""Isolated commands of a shell session."""

import pytest

from sandbox_server.core import InvalidArgument
from tests.features.shell.conftest import Runner

pytestmark = pytest.mark.anyio


async def test_an_isolated_command_runs_in_the_session_and_leaves_it_as_it_was(run: Runner) -> None:
    await run("export GIVEN=x; mkdir -p d; cd d")
    done = await run("echo $GIVEN; cd /; echo y > y", isolation={"write": {"allow": []}})
    assert done.exit_code == 1
    assert done.output is not None
    assert done.output.startswith("x\n")
    assert "denied" in done.output
    assert (await run("basename $PWD; ls")).output == "d\n"


async def test_an_isolated_command_cannot_reach_the_session_s_own_files(run: Runner) -> None:
    done = await run(f"ls {run.shell.commands._isolated._private}; sudo -n true || echo kept", isolation={})
    assert done.output is not None
    assert "Permission denied" in done.output
    assert done.output.rstrip().endswith("kept")


async def test_a_policy_that_is_refused_runs_nothing_and_the_session_stays(run: Runner) -> None:
    await run("cd /tmp")
    with pytest.raises(InvalidArgument, match=r"isolation\.write\.allow"):
        await run("touch /tmp/ran", isolation={"write": {"allow": ["missing"]}})
    assert (await run("pwd; ls /tmp/ran 2>/dev/null")).output == "/tmp\n"
