"""Credentials that name the only tools that they are for."""

from collections.abc import Callable

import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.features.auth.auth import CreateTicket
from tests.features.auth.conftest import Gate

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
