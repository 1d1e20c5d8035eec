"""Where there is no desktop, what needs one says so, and everything else runs."""

import pytest

from sandbox_server.core import Call, Caller, Unavailable, operation
from sandbox_server.core.dispatch import Dispatcher
from sandbox_server.core.operation import operations
from sandbox_server.features.browser.desktop_guard import DesktopGuard
from sandbox_server.settings import load

pytestmark = pytest.mark.anyio


class Things:
    tag = "things"

    @operation("GET /look", scope="browser")
    async def look(self) -> str:
        """Look at a page."""
        return "done"

    @operation("POST /press", scope="control", acts="gui")
    async def press(self) -> str:
        """Press on the screen."""
        return "done"

    @operation("POST /halt", scope="shell", acts=("shell", "gui", "cdp"))
    async def halt(self) -> str:
        """Halt everything, a desktop too."""
        return "done"

    @operation("POST /run", scope="shell", acts="shell")
    async def run(self) -> str:
        """Run a command."""
        return "done"


async def called(name: str, settings: dict[str, str]) -> object:
    things = {each.spec.name: each for each in operations(Things())}
    return await Dispatcher([DesktopGuard(load(settings).components)]).call(things[name], {}, Call(Caller("agent"), "1"))


@pytest.mark.parametrize("name", ["look", "press"])
async def test_what_needs_a_desktop_is_refused_with_a_hint_where_there_is_none(name: str) -> None:
    with pytest.raises(Unavailable, match="the desktop was left out") as refused:
        await called(name, {"DISABLE_DESKTOP": "true"})
    assert refused.value.hint == "unset DISABLE_DESKTOP"

    assert await called(name, {}) == "done"


@pytest.mark.parametrize("name", ["run", "halt"])
async def test_what_needs_none_runs(name: str) -> None:
    assert await called(name, {"DISABLE_DESKTOP": "true"}) == "done"
