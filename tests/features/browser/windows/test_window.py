"""The waits for a window manager."""

import pytest

from sandbox_server.core import Conflict
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.features.browser.windows import window
from sandbox_server.features.browser.windows.window import became, on_screen, raised, xid_of
from tests.drivers.x11.conftest import Program, XServer
from tests.patience import eventually

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("window_manager")]


async def test_a_reference_names_its_window(desktop: Desktop, xserver: XServer) -> None:
    program = Program(xserver.name, kind="First")
    found = (await eventually(desktop.windows.all, lambda found: len(found) == 1))[0]
    shown = on_screen(found)
    assert xid_of(shown.ref) == found.xid
    assert (shown.program, shown.state) == ("First", "normal")
    program.close()


async def test_what_a_window_does_not_become_is_said(desktop: Desktop, xserver: XServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "ACT_SECONDS", 0.1)
    program = Program(xserver.name)
    found = (await eventually(desktop.windows.all, lambda found: len(found) == 1))[0]
    seen, done = await became(desktop, found.xid, lambda seen: seen.width == 1)
    assert (seen.xid, done) == (found.xid, False)
    assert (await became(desktop, found.xid, lambda seen: seen.width > 1))[1]
    program.close()


async def test_a_window_is_raised_or_the_reason_is_said(desktop: Desktop, xserver: XServer) -> None:
    programs = [Program(xserver.name, kind=kind) for kind in ("First", "Second")]
    found = await eventually(desktop.windows.all, lambda found: len(found) == 2)
    for each in found:
        assert (await raised(desktop, each.xid)).focused
    for program in programs:
        program.close()
    await eventually(desktop.windows.all, lambda found: not found)
    with pytest.raises(Conflict, match="is gone"):
        await raised(desktop, found[0].xid)
