"""Windows are changed and closed by reference."""

import os
import subprocess
from typing import Any

import pytest
from pydantic import ValidationError

from sandbox_server.core import Conflict
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.input_turns import InputTurns
from sandbox_server.features.browser.windows import window, windows
from sandbox_server.features.browser.windows.window import on_screen
from sandbox_server.features.browser.windows.windows import DesktopWindows, WindowChange, WindowRequest
from tests.drivers.x11.conftest import Program, XServer
from tests.patience import PATIENCE_SECONDS, eventually

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("window_manager")]


async def ref_of_one(desktop: Desktop) -> str:
    """The reference of the one window, once it has the focus."""
    return on_screen((await eventually(desktop.windows.all, lambda found: len(found) == 1 and found[0].focused))[0]).ref


async def test_a_place_makes_a_maximised_window_normal_and_is_what_the_answer_says(desktop: Desktop, xserver: XServer) -> None:
    program, changed = Program(xserver.name), DesktopWindows(desktop, InputTurns(desktop))
    ref = await ref_of_one(desktop)
    full = await changed.change_window(WindowChange(ref=ref, state="maximized"))
    assert (full.data.state, full.hint) == ("maximized", None)
    assert full.data.width > 3000
    placed = await changed.change_window(WindowChange(ref=ref, x=100, y=90, width=700, height=500))
    shown = placed.data
    assert (shown.state, shown.x, shown.y, shown.width, shown.height, placed.hint) == ("normal", 100, 90, 700, 500, None)
    hidden = await changed.change_window(WindowChange(ref=ref, state="minimized"))
    assert (hidden.data.hidden, hidden.data.focused) == (True, False)
    program.close()


async def test_a_size_that_a_program_does_not_take_is_said(desktop: Desktop, xserver: XServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "ACT_SECONDS", 0.3)
    program, changed = Program(xserver.name), DesktopWindows(desktop, InputTurns(desktop))
    program.window.set_wm_normal_hints(flags=0x10, min_width=300, min_height=200)
    program._display.sync()
    ref = await ref_of_one(desktop)
    placed = await changed.change_window(WindowChange(ref=ref, width=20, height=20))
    assert (placed.data.width, placed.data.height) == (300, 200)
    assert placed.hint
    assert "did not do all of it" in placed.hint
    program.close()


async def test_a_window_is_closed_and_one_that_stays_is_said(desktop: Desktop, xserver: XServer, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = DesktopWindows(desktop, InputTurns(desktop))
    environ = os.environ | {"DISPLAY": xserver.name}
    with subprocess.Popen(["xterm", "-e", "sleep", "60"], env=environ) as running:
        ref = await ref_of_one(desktop)
        assert (await changed.close_window(WindowRequest(ref=ref))).data.closed
        running.wait(PATIENCE_SECONDS)
    with pytest.raises(Conflict, match="is gone"):
        await changed.close_window(WindowRequest(ref=ref))
    stubborn = Program(xserver.name)
    stubborn.window.set_wm_protocols([stubborn._display.intern_atom("WM_DELETE_WINDOW")])
    stubborn._display.sync()
    monkeypatch.setattr(windows, "ACT_SECONDS", 0.3)
    stays = await changed.close_window(WindowRequest(ref=await ref_of_one(desktop)))
    assert not stays.data.closed
    assert stays.hint
    assert "still open" in stays.hint
    stubborn.close()


@pytest.mark.parametrize(
    ("change", "said"),
    [({}, "name a state"), ({"state": "maximized", "x": 1}, "for the state `normal`"), ({"width": 0}, "width"), ({"x": 99999}, "x")],
)
async def test_a_change_that_says_nothing_or_two_things_is_refused(change: dict[str, Any], said: str) -> None:  # a case
    with pytest.raises(ValidationError, match=said):
        WindowChange(ref="w1", **change)
