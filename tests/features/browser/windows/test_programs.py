"""Programs are started, and their windows are shown."""

import asyncio

import pytest

from sandbox_server.composition.desktop_programs import BashPrograms
from sandbox_server.core import InvalidArgument
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.features.bash.commands import Bash, BashKillRequest
from sandbox_server.features.browser.windows.programs import DesktopPrograms, ProgramRequest
from tests.drivers.x11.conftest import XServer
from tests.patience import eventually

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("window_manager")]


async def test_a_program_is_answered_with_its_window_and_ended_by_bash(desktop: Desktop, bash: Bash, xserver: XServer) -> None:
    programs = DesktopPrograms(desktop, BashPrograms(bash))
    command = "echo starts >&2; exec xterm -T mine -e sleep 60"
    started = await programs.launch_program(ProgramRequest(command=command, env={"DISPLAY": xserver.name}, wait=60))
    assert [(window.title, window.program) for window in started.data.windows] == [("mine", "XTerm")]
    assert (started.data.program.status, started.data.program.stderr[:7], started.hint) == ("running", "starts\n", None)
    await bash.kill(BashKillRequest(session_id=started.data.program.session_id, signal="SIGKILL"))
    await eventually(desktop.windows.all, lambda found: not found)


async def test_a_program_that_ends_or_shows_nothing_is_said(desktop: Desktop, bash: Bash) -> None:
    programs = DesktopPrograms(desktop, BashPrograms(bash))
    failed = await programs.launch_program(ProgramRequest(command="echo no display >&2; exit 3", wait=60))
    assert (failed.data.windows, failed.data.program.exit_code, failed.data.program.stderr) == ([], 3, "no display\n")
    assert failed.hint == "it has ended without a window"
    silent = await programs.launch_program(ProgramRequest(command="exec sleep 60", wait=0))
    assert (silent.data.program.status, silent.data.windows) == ("running", [])
    assert silent.hint
    assert "no window yet" in silent.hint


async def test_a_directory_that_does_not_exist_is_named(desktop: Desktop, bash: Bash) -> None:
    with pytest.raises(InvalidArgument, match="nowhere"):
        await DesktopPrograms(desktop, BashPrograms(bash)).launch_program(ProgramRequest(command="true", exec_dir="/nowhere"))


# Xlib leaves the socket of a connection that was refused to the collector
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning")
async def test_a_program_whose_display_goes_is_answered_with_what_ends_it(desktop: Desktop, bash: Bash, xserver: XServer) -> None:
    programs = DesktopPrograms(desktop, BashPrograms(bash))
    starting = asyncio.create_task(programs.launch_program(ProgramRequest(command="exec sleep 60", wait=60)))
    await eventually(bash.sessions, lambda found: bool(found))
    xserver.kill()
    started = await starting
    assert (started.data.program.status, started.data.windows) == ("running", [])
    assert started.hint
    assert "not known" in started.hint
    await bash.kill(BashKillRequest(session_id=started.data.program.session_id, signal="SIGKILL"))
