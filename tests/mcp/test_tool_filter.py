from dataclasses import dataclass

import pytest
from starlette.requests import Request

from sandbox_server.core.tool_allow_list import NO_TOOL
from sandbox_server.mcp.tool_filter import filter_of


@dataclass(frozen=True)
class Tool:
    name: str = "shop_buy"
    aliases: tuple[str, ...] = ("purchase",)
    server: str = "shop"
    tags: frozenset[str] = frozenset({"money", "shop"})
    scope: str = "code"
    read_only: bool = False


def shows(query: str = "", scopes: str = "code", allowed: str | None = None, tool: Tool | None = None) -> bool:
    headers = [(b"x-sandbox-caller", b"agent"), (b"x-sandbox-scopes", scopes.encode())] + (
        [(b"x-sandbox-tools", allowed.encode())] if allowed else []
    )
    request = Request({"type": "http", "method": "POST", "headers": headers, "query_string": query.encode(), "path": "/mcp"})
    return filter_of(request).shows(tool or Tool())


@pytest.mark.parametrize(
    "query",
    ["", "search=uy", "search=sho", "servers=shop", "servers=other,shop", "tools=shop_buy", "tools=purchase", "tags=money", "readonly=0"],
)
def test_a_tool_that_fits_the_query_is_shown(query: str) -> None:
    assert shows(query)


@pytest.mark.parametrize("query", ["search=sell", "servers=other", "tools=sell", "tags=food", "readonly=1", "servers=shop&tags=food"])
def test_a_tool_that_does_not_fit_the_query_is_not(query: str) -> None:
    assert not shows(query)


def test_the_server_counts_for_a_search_even_where_the_tools_name_does_not_have_it() -> None:
    assert shows("search=shop", tool=Tool(name="buy"))


@pytest.mark.parametrize(("scopes", "shown"), [("code", True), ("view files", False), ("", False)])
def test_a_caller_sees_what_its_scopes_allow(scopes: str, shown: bool) -> None:
    assert shows(scopes=scopes) is shown
    assert shows(scopes=scopes, tool=Tool(scope="any"))


@pytest.mark.parametrize(
    ("allowed", "shown"),
    [("shop_buy", True), ("shop_*", True), ("purchase", True), ("other shop_sell", False), (NO_TOOL, False), (None, True)],
)
def test_a_token_may_name_its_tools(allowed: str | None, shown: bool) -> None:
    assert shows(allowed=allowed) is shown
