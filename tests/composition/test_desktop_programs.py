"""Programs of the desktop as commands of bash."""

import pytest

from sandbox_server.composition.desktop_programs import SHOWN, BashPrograms
from sandbox_server.features.bash.commands import Bash
from tests.features.bash.conftest import bash
from tests.patience import eventually

__all__ = ["bash"]
pytestmark = pytest.mark.anyio


async def test_a_command_runs_in_a_session_of_its_own_and_is_looked_at(bash: Bash) -> None:
    programs = BashPrograms(bash)
    script = f"head -c {SHOWN + 1} /dev/zero | tr '\\0' x >&2; echo $WORD; exit 7"
    started = [await programs.start(script, exec_dir="/", env={"WORD": "w"}) for _ in range(2)]
    assert started[0].session_id != started[1].session_id
    ended = await eventually(lambda: programs.look(started[0]), lambda seen: seen.status != "running")
    assert (ended.status, ended.exit_code, ended.signal, ended.stderr) == ("completed", 7, None, "x" * SHOWN)
