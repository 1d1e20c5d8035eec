"""Operations of the browser that name a lane."""

from typing import Any

import pytest

from sandbox_server.core import Call, Caller, InvalidArgument, PermissionDenied
from sandbox_server.core.operation import operation, operations
from sandbox_server.core.tool_allow_list import AllowList
from sandbox_server.features.browser.lane_guard import only_main

pytestmark = pytest.mark.anyio


class Acts:
    """Operations of each kind."""

    tag = "acts"

    @operation("GET /v1/acts/looks", scope="browser")
    async def looks(self) -> None:
        """Look."""

    @operation("POST /v1/acts/clicks", scope="control", acts="gui")
    async def clicks(self) -> None:
        """Click."""

    @operation("GET /v1/acts/shows", scope="view", shows=True)
    async def shows(self) -> None:
        """Show."""

    @operation("POST /v1/acts/runs", scope="shell", acts="shell")
    async def runs(self) -> None:
        """Run."""


OPERATIONS = {each.spec.name: each for each in operations(Acts())}


async def called(name: str, lanes: AllowList = None, **named: Any) -> bool:
    passed: list[bool] = []

    async def proceed() -> None:
        passed.append(True)

    await only_main(OPERATIONS[name], None, Call(Caller("ann", lanes=lanes), "r1", **named), proceed)
    return bool(passed)


@pytest.mark.parametrize("name", ["looks", "clicks"])
@pytest.mark.parametrize("named", [{"headers": {"x-lane": "ann"}}, {"query": {"lane": "ann"}}])
async def test_what_would_act_on_other_pages_than_meant_is_refused(name: str, named: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="and not in a lane"):
        await called(name, **named)


@pytest.mark.parametrize(("name", "named"), [("looks", {}), ("looks", {"query": {"lane": "main"}}), ("runs", {"query": {"lane": "ann"}})])
async def test_what_names_none_or_reaches_no_page_passes(name: str, named: dict[str, Any]) -> None:
    assert await called(name, **named)


@pytest.mark.parametrize("lanes", [("ann",), ("*",), ()])
async def test_a_token_that_names_lanes_reaches_no_operation_of_main_and_the_screen(lanes: tuple[str, ...]) -> None:
    for name in ("looks", "clicks", "shows"):
        with pytest.raises(PermissionDenied, match="your token names lanes"):
            await called(name, lanes)
    assert await called("runs", lanes)
