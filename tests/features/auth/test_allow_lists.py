"""Credentials that name the only tools that they are for."""

from collections.abc import Callable

import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.features.auth.auth import CreateTicket
from tests.features.auth.conftest import Gate, set_by

pytestmark = pytest.mark.anyio


async def test_a_token_may_be_for_some_tools_alone(gate: Gate, signed: Callable[..., str]) -> None:
    bearer = f"Bearer {signed(tools=['browser_*', 'sandbox_execute_bash'])}"
    passed = await gate.ask("/mcp", authorization=bearer)
    assert passed.headers["X-Sandbox-Tools"] == "browser_* sandbox_execute_bash"
    for path in ("/", "/terminal", "/websockify", "/devtools/browser/x", "/proxy/3000/", "/added/"):
        refused = await gate.ask(path, authorization=bearer)
        assert (refused.status, refused.headers["X-Sandbox-Reason"]) == (
            403,
            "this token allows only the tools that it names",
        ), path


async def test_a_token_that_names_no_tool_has_none(gate: Gate, signed: Callable[..., str]) -> None:
    for nothing in ([], "", ["two words", "x\r\ny"], {"a": 1}):
        assert (await gate.ask("/mcp", authorization=f"Bearer {signed(tools=nothing)}")).headers["X-Sandbox-Tools"] == "!"
    assert (await gate.ask("/mcp", authorization=f"Bearer {signed()}")).headers["X-Sandbox-Tools"] == ""


async def test_a_ticket_is_for_its_makers_tools(gate: Gate) -> None:
    caller = Caller("mia", frozenset({"view"}), ("sandbox_get_context",))
    made = await gate.auth.create_ticket(CreateTicket(), Call(caller, "1"))
    assert (await gate.ask(f"/mcp?ticket={made.ticket}")).headers["X-Sandbox-Tools"] == "sandbox_get_context"


async def test_a_token_may_be_for_some_profiles_alone_and_then_sees_no_screen(gate: Gate, signed: Callable[..., str]) -> None:
    bearer = f"Bearer {signed(profiles=['work-*', 'mail'])}"
    for path in ("/mcp", "/devtools/browser/x", "/"):
        assert (await gate.ask(path, authorization=bearer)).headers["X-Sandbox-Profiles"] == "work-* mail"
    for path in ("/stream/", "/stream", "/view", "/vnc/index.html", "/websockify"):
        refused = await gate.ask(path, authorization=bearer)
        assert (refused.status, "not the screen" in refused.headers["X-Sandbox-Reason"]) == (403, True), path
    for nothing in ([], "", ["two words"], {"a": 1}):
        assert (await gate.ask("/mcp", authorization=f"Bearer {signed(profiles=nothing)}")).headers["X-Sandbox-Profiles"] == "!"
    assert (await gate.ask("/mcp", authorization=f"Bearer {signed()}")).headers["X-Sandbox-Profiles"] == ""


async def test_a_ticket_and_the_session_that_it_becomes_are_for_its_makers_profiles(gate: Gate) -> None:
    caller = Caller("mia", frozenset({"view", "browser"}), profiles=("mail",))
    made = await gate.auth.create_ticket(CreateTicket(), Call(caller, "1"))
    answer = await gate.ask(f"/mcp?ticket={made.ticket}")
    assert answer.headers["X-Sandbox-Profiles"] == "mail"
    assert (await gate.ask("/mcp", cookie=set_by(answer))).headers["X-Sandbox-Profiles"] == "mail"


async def test_a_token_may_be_for_some_lanes_alone_and_then_sees_no_screen(gate: Gate, signed: Callable[..., str]) -> None:
    bearer = f"Bearer {signed(lanes=['ann', 'test-*'])}"
    for path in ("/mcp", "/devtools/browser/x", "/"):
        assert (await gate.ask(path, authorization=bearer)).headers["X-Sandbox-Lanes"] == "ann test-*"
    for path in ("/stream/", "/stream", "/view", "/vnc/index.html", "/websockify"):
        refused = await gate.ask(path, authorization=bearer)
        assert (refused.status, "not the screen" in refused.headers["X-Sandbox-Reason"]) == (403, True), path
    for nothing in ([], "", ["two words"], {"a": 1}):
        assert (await gate.ask("/mcp", authorization=f"Bearer {signed(lanes=nothing)}")).headers["X-Sandbox-Lanes"] == "!"
    assert (await gate.ask("/mcp", authorization=f"Bearer {signed()}")).headers["X-Sandbox-Lanes"] == ""


async def test_a_ticket_and_the_session_that_it_becomes_are_for_its_makers_lanes(gate: Gate) -> None:
    caller = Caller("mia", frozenset({"view", "browser"}), lanes=("ann",))
    made = await gate.auth.create_ticket(CreateTicket(), Call(caller, "1"))
    answer = await gate.ask(f"/mcp?ticket={made.ticket}")
    assert answer.headers["X-Sandbox-Lanes"] == "ann"
    assert (await gate.ask("/mcp", cookie=set_by(answer))).headers["X-Sandbox-Lanes"] == "ann"
