import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.routing import BaseRoute, Match
from starlette.testclient import TestClient

from sandbox_server import app
from sandbox_server.composition.first import build_first
from sandbox_server.core.dispatch import Dispatcher
from sandbox_server.core.http import create_routes
from sandbox_server.core.openapi import document
from sandbox_server.core.operation import Operation
from sandbox_server.settings import load

SIGNED_IN = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "view"}


@pytest.fixture(scope="module")
def every() -> list[Operation]:
    """The operations of the whole product."""
    return list(app.build(load({})).operations)


BROWSER_TOOLS = [
    "navigate",
    "go_back",
    "go_forward",
    "close_tab",
    "tab_list",
    "get_markdown",
    "get_text",
    "read_links",
    "get_download_list",
    "get_clickable_elements",
    "new_tab",
    "switch_tab",
    "evaluate",
    "form_input_fill",
    "scroll",
    "press_key",
]
OTHER_BROWSER_TOOLS = [
    "browser_click",
    "browser_hover",
    "browser_select",
    "browser_close",
    "browser_screenshot",
    "browser_vision_screen_capture",
    "browser_vision_screen_click",
    "browser_element_click",
    "browser_element_hover",
    "browser_element_select",
    "browser_get_info",
    "browser_gui_screenshot",
    "sandbox_get_browser_info",
    "sandbox_browser_get_info",
    "sandbox_browser_screenshot",
    "sandbox_browser_execute_action",
    "sandbox_browser_element_click",
    "sandbox_browser_element_hover",
    "sandbox_browser_element_select",
]


def test_the_browser_has_the_tools_of_the_contract_by_their_older_names_too(every: list[Operation]) -> None:
    names = {name for operation in every for name in (operation.spec.tool, *operation.spec.aliases)}
    wanted = {f"{prefix}browser_{name}" for prefix in ("", "sandbox_") for name in BROWSER_TOOLS} | set(OTHER_BROWSER_TOOLS)
    assert wanted <= names


def test_composing_opens_nothing(every: list[Operation]) -> None:
    assert every


def test_no_two_operations_answer_one_route_or_share_a_tool_name(every: list[Operation]) -> None:
    routes = [(op.spec.verb, op.spec.path) for op in every]
    tools = [name for op in every for name in (op.spec.tool, *op.spec.aliases) if name]

    assert len(routes) == len(set(routes))
    assert len(tools) == len(set(tools))


def test_every_operation_can_be_described(every: list[Operation]) -> None:
    described = document(every, title="x", version="1")

    assert set(described["paths"]) == {op.spec.path for op in every if not op.spec.socket}


def test_an_operation_that_joins_later_is_answered_from_the_start_to_whoever_came_through_the_gateway(tmp_path: Path) -> None:
    settings = load({})
    paths = replace(settings.paths, run=str(tmp_path), recorder=str(tmp_path / "recorder"))
    with TestClient(app.create(replace(settings, paths=paths))) as client:
        assert client.get("/v1/openapi.json").status_code == 401
        assert client.get("/v1/openapi.json", headers=SIGNED_IN).status_code == 200
        assert client.get("/v1/nowhere", headers=SIGNED_IN).status_code == 404


def test_only_health_and_the_keys_of_tokens_need_nobody(every: list[Operation]) -> None:
    public = {op.spec.path for op in every if op.spec.scope == "public"}

    assert public <= {"/healthz", "/readyz", "/auth", "/.well-known/openid-configuration", "/.well-known/jwks.json"}


def test_no_first_route_takes_what_a_later_one_answers(every: list[Operation]) -> None:
    early = app.first_of(build_first(load({}))).operations
    first = create_routes(early, Dispatcher([]))
    known = {(op.spec.verb, op.spec.path) for op in early}
    later = [op for op in every if (op.spec.verb, op.spec.path) not in known]

    assert later
    assert [op.name for op in later if taken(op, first)] == []


def taken(operation: Operation, routes: list[BaseRoute]) -> bool:
    """Whether one of the routes matches the operation's path, as it is or with its parameters filled in."""
    kind = "websocket" if operation.spec.socket else "http"
    path = operation.spec.path.replace("{", "").replace("}", "")
    scope = {"type": kind, "method": operation.spec.verb, "path": path}
    return any(route.matches(scope)[0] is Match.FULL for route in routes)


def test_what_answers_the_first_calls_imports_nothing_of_the_rest() -> None:
    program = "import sys; from sandbox_server import app; print(*(name for name in sys.argv[1:] if name in sys.modules))"
    heavy = [
        "PIL",
        "Xlib",
        "websockets",
        "cryptography",
        "playwright",
        "mcp",
        "psutil",
        "sandbox_server.composition.rest",
    ]
    done = subprocess.run([sys.executable, "-c", program, *heavy], capture_output=True, text=True, check=True, cwd=os.getcwd())

    assert done.stdout.split() == []


def test_where_a_later_part_fails_the_server_is_told_to_stop_and_the_log_says_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[int] = []
    monkeypatch.setattr(signal, "raise_signal", told.append)

    async def fails() -> None:
        raise ImportError("no such part")

    asyncio.run(app._or_stop(fails()))

    assert told == [signal.SIGTERM]
    assert "no such part" in caplog.text
