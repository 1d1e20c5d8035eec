"""Windows are found with what they are, and raised."""

import os
import subprocess
from collections.abc import Callable, Iterator

import pytest

from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.windows import X11Window
from tests.drivers.x11.conftest import XServer
from tests.patience import PATIENCE_SECONDS, eventually

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("window_manager")]


@pytest.fixture
def terminals(xserver: XServer) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two real programs, `first` and `second` by title."""
    environ = os.environ | {"DISPLAY": xserver.name, "LANG": "C.UTF-8"}
    running = [
        subprocess.Popen(
            [
                "xterm",
                "-fa",
                "DejaVu Sans Mono",
                "-xrm",
                "XTerm*utf8Title: true",
                "-T",
                name,
                "-geometry",
                f"40x10+{x}+60",
                "-e",
                "sleep",
                "60",
            ],
            env=environ,
        )
        for name, x in (("first", 50), ("second", 500))
    ]
    yield running
    for process in running:
        process.kill()
        process.wait(PATIENCE_SECONDS)


async def titles(desktop: Desktop) -> dict[str, int]:
    return {window.title: window.xid for window in await desktop.windows.all()}


async def both(desktop: Desktop) -> dict[str, int]:
    """Wait for both windows."""
    return await eventually(lambda: titles(desktop), lambda found: len(found) == 2)


async def test_windows_are_listed_with_what_they_are(desktop: Desktop, terminals: object) -> None:
    await both(desktop)
    by_title = {window.title: window for window in await desktop.windows.all()}
    assert set(by_title) == {"first", "second"}
    found = by_title["second"]
    assert (found.program, found.dialog, found.hidden) == ("XTerm", False, False)
    assert found.width > 200
    assert (found.x, found.y) >= (0, 0)


async def test_a_window_is_raised_and_focused(desktop: Desktop, terminals: object) -> None:
    xids = await both(desktop)

    def is_top(title: str) -> Callable[[list[X11Window]], bool]:
        return lambda found: found[0].focused and found[0].title == title

    for title in ("first", "second", "first"):
        await desktop.windows.activate(xids[title])
        await eventually(desktop.windows.all, is_top(title))
    assert await desktop.windows.focused_program() == "XTerm"


async def test_a_window_that_is_gone_is_a_conflict(desktop: Desktop, terminals: list[subprocess.Popen[bytes]]) -> None:
    xids = await both(desktop)
    terminals[1].kill()
    terminals[1].wait(PATIENCE_SECONDS)
    await eventually(lambda: titles(desktop), lambda found: len(found) == 1)
    with pytest.raises(Conflict, match="is gone"):
        await desktop.windows.activate(xids["second"])


async def test_the_window_manager_is_named_while_it_runs(desktop: Desktop) -> None:
    assert await desktop.windows.manager() == "Openbox"
