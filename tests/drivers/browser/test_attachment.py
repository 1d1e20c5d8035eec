from typing import Any

import pytest

from sandbox_server.core.errors import Conflict, Unavailable
from sandbox_server.drivers.browser import attachment
from sandbox_server.drivers.browser.attachment import attached

pytestmark = pytest.mark.anyio

Process = Any


async def test_every_page_is_known_by_its_target(shared: Process) -> None:
    seen: list[str] = []

    async def on_page(page: Any, target: str) -> None:
        seen.append(target)

    async with attached(shared.socket, [], [on_page], 30) as link:
        assert await link.alive()
        assert list(link.pages) == seen
        assert link.targets == set(seen)
        assert (await link.page(seen[0])).url


async def test_a_hook_that_fails_keeps_no_page_from_being_driven(shared: Process) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a hook")

    async with attached(shared.socket, [broken], [broken], 30) as link:
        [target] = link.pages
        assert await (await link.page(target)).evaluate("1") == 1


async def test_a_page_that_is_never_seen_is_a_conflict(shared: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachment, "APPEAR_SECONDS", 0.1)
    async with attached(shared.socket, [], [], 30) as link:
        with pytest.raises(Conflict, match="crashed, or hangs"):
            await link.page("nothing")


async def test_nothing_is_attached_where_there_is_no_browser() -> None:
    with pytest.raises(Unavailable, match="the browser cannot be reached"):
        async with attached("/nowhere/cdp.sock", [], [], 30):
            pass
