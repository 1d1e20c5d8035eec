import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

from sandbox_server.core import TooLarge, Unavailable
from sandbox_server.mcp.tool_filter import ToolFilter
from sandbox_server.mcp.tools import api_client as api_module
from sandbox_server.mcp.tools.api_client import ApiClient
from sandbox_server.mcp.tools.catalog import ApiTool

pytestmark = pytest.mark.anyio

HEADERS = {"x-sandbox-caller": "test", "x-sandbox-scopes": "view code files"}


async def tool(api: ApiClient, name: str) -> ApiTool:
    found = (await api.catalog()).find(name, ToolFilter(frozenset({"view", "code", "files"})))
    assert found
    return found


async def test_path_query_and_body_each_get_their_arguments(api: ApiClient) -> None:
    shelf = await api.call(await tool(api, "sample_shelf"), {"shelf": "ü?#", "colours": ["a", "b"], "shiny": None}, HEADERS)
    added = await api.call(await tool(api, "sample_add"), {"left": 1}, HEADERS)

    assert shelf.json()["data"] == ["ü?#", "a", "b", "False"]
    assert added.json()["data"] == {"total": 2}


async def test_a_call_has_the_rights_of_its_headers_and_no_others(api: ApiClient) -> None:
    refused = await api.call(await tool(api, "sample_add"), {"left": 1}, {"x-sandbox-caller": "test", "x-sandbox-scopes": "view"})

    assert refused.status_code == 403


async def test_a_result_over_the_limit_is_refused(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "MAX_RESULT_BYTES", 10)

    with pytest.raises(TooLarge, match="sample_picture"):
        await api.call(await tool(api, "sample_picture"), {}, HEADERS)


async def test_the_tools_are_read_once_while_they_are_fresh(api: ApiClient) -> None:
    assert api.known_catalog() is None
    assert await api.catalog() is await api.catalog()
    assert api.known_catalog() is await api.catalog()


async def test_the_tools_are_read_again_when_they_are_old(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "CATALOG_SECONDS", -1.0)

    assert await api.catalog() is not await api.catalog()


async def test_while_the_api_restarts_the_tools_stay_known_and_a_call_says_so(
    app: ASGIApp, serving: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_module, "CATALOG_SECONDS", -1.0)
    async with ApiClient.connect(str(tmp_path / "api.sock")) as api:
        with serving(app, tmp_path / "api.sock"):
            known = await api.catalog()

        assert await api.catalog() is known
        with pytest.raises(Unavailable, match="did not answer"):
            await api.call(await tool(api, "sample_add"), {"left": 1}, HEADERS)


async def test_before_the_api_was_ever_up_there_are_no_tools(tmp_path: Path) -> None:
    async with ApiClient.connect(str(tmp_path / "none.sock")) as api:
        with pytest.raises(Unavailable, match="starting"):
            await api.catalog()


async def test_an_operation_that_is_gone_is_the_apis_own_answer(api: ApiClient) -> None:
    gone = dataclasses.replace(await tool(api, "sample_add"), path="/v1/gone")

    assert (await api.call(gone, {"left": 1}, HEADERS)).status_code == 404
