from dataclasses import dataclass

import pytest
from starlette.requests import Request

from sandbox_server.core.tool_allow_list import NO_TOOL
from sandbox_server.mcp.tool_filter import ToolFilter, filter_of


@dataclass(frozen=True)
class Tool:
    name: str = "shop_buy"
    aliases: tuple[str, ...] = ("purchase",)
    server: str = "shop"
    tags: frozenset[str] = frozenset({"money", "shop"})
    scope: str = "code"
    read_only: bool = False


def filtered(query: str = "", scopes: str = "code", allowed: str | None = None) -> ToolFilter:
    headers = [(b"x-sandbox-caller", b"agent"), (b"x-sandbox-scopes", scopes.encode())] + (
        [(b"x-sandbox-tools", allowed.encode())] if allowed else []
    )
    return filter_of(Request({"type": "http", "method": "POST", "headers": headers, "query_string": query.encode(), "path": "/mcp"}))


def shows(query: str = "", scopes: str = "code", allowed: str | None = None, tool: Tool | None = None) -> bool:
    return filtered(query, scopes, allowed).shows(tool or Tool())


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


@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ("", False),
        ("readonly=0", False),
        ("toolsets=desktop", True),
        ("toolsets=default,desktop", True),
        ("toolsets=all", True),
        ("toolsets=default", False),
        ("toolsets=browser", False),
        ("search=window", True),
        ("servers=sandbox", True),
        ("tools=sandbox_screen_window", True),
        ("toolsets=all&tools=shop_buy", False),
    ],
)
def test_a_tool_that_is_no_default_is_listed_where_it_is_asked_for(query: str, listed: bool) -> None:  # a case
    tool = Tool(name="sandbox_screen_window", aliases=(), server="sandbox")
    assert filtered(query).lists(tool) is listed
    assert filtered("").shows(tool)


def test_a_token_that_names_its_tools_has_them_listed() -> None:
    assert filtered(allowed="sandbox_screen_window").lists(Tool(name="sandbox_screen_window", aliases=(), server="sandbox"))


def test_toolsets_that_do_not_exist_are_named_and_show_nothing() -> None:
    assert filtered("toolsets=all,b,a").unknown_toolsets == ["a", "b"]
    assert not filtered("toolsets=nothing").shows(Tool())
