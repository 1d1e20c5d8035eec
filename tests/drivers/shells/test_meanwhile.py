from typing import cast

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.drivers.shells.meanwhile import MeanwhileServers
from sandbox_server.drivers.shells.tmux import Tmux
from sandbox_server.drivers.spawn.process import Processes

pytestmark = pytest.mark.anyio
NOBODY = cast("Processes", None)


async def test_each_pause_has_a_server_of_its_own_which_the_next_one_stops() -> None:
    pause: list[object | None] = [object()]
    async with MeanwhileServers(NOBODY, "/nonexistent", lambda: pause[0]) as servers:
        first = servers.server()
        assert servers.server() is first
        assert not first.paused
        pause[0] = None
        assert not first.paused
        pause[0] = object()
        assert first.paused
        second = servers.server()
        assert (second is first, second.paused) == (False, False)
        servers.ended()


async def test_nothing_is_asked_of_a_server_that_stands_still() -> None:
    stopped = Tmux(NOBODY, "/nonexistent", lambda: True)
    with pytest.raises(Unavailable, match="paused with the agent"):
        await stopped.ask("list-panes")
    with pytest.raises(Unavailable, match="paused with the agent"):
        stopped.tell(["send-keys x"])
