"""Lists of servers: every page, within bounds."""

from typing import Any

import pytest
from mcp_types import ListToolsResult, Prompt, Tool

from sandbox_server.mcp.servers.pagination import MAX_LIST_BYTES, MAX_NAME, every_page, with_valid_names

pytestmark = pytest.mark.anyio


def page(cursor: str | None, **more: Any) -> ListToolsResult:
    return ListToolsResult(tools=[Tool(name=f"t{cursor}", input_schema={"type": "object"}, **more)], next_cursor=cursor)


async def test_pages_are_asked_for_until_there_is_no_more() -> None:
    following = {None: "1", "1": "2", "2": None}

    async def ask(cursor: str | None) -> ListToolsResult:
        return page(following[cursor])

    assert [tool.name for tool in await every_page(ask, "tools")] == ["t1", "t2", "tNone"]


async def test_a_list_that_is_short_and_heavy_is_refused() -> None:
    async def ask(_: str | None) -> ListToolsResult:
        return page(None, description="x" * MAX_LIST_BYTES)

    with pytest.raises(ValueError, match="take more than"):
        await every_page(ask, "tools")


def test_names_that_cannot_be_shown_are_left_out_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    names = ("fine", "x" * MAX_NAME, "x" * (MAX_NAME + 1), "", "a b", "a\n", "\u202e")
    assert [prompt.name for prompt in with_valid_names([Prompt(name=name) for name in names], "s")] == ["fine", "x" * MAX_NAME]
    assert "5 names" in caplog.text
