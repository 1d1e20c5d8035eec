"""The toolset in an agent's run, with a scripted model and a server that answers as a test says."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.clients.python.conftest import Server
from tests.clients.python.integrations.boxes import DONE, HELD, boxed
from tests.clients.python.test_sandbox import handoff

pytest.importorskip("pydantic_ai", reason="tests/image/test_integrations.py runs these with the framework")
Call = tuple[str, dict[str, Any]]


def run(server: Server, *calls: Call, asking: tuple[str, ...] = ()) -> tuple[list[Any], list[str]]:
    """Run an agent that makes these calls, and give what they returned, and the tools that it was offered."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel
    from tandem.integrations.pydantic_ai import SandboxToolset, asking_before

    left = list(calls)
    offered: list[str] = []

    def says(_: Any, info: Any) -> Any:
        offered[:] = [tool.name for tool in info.function_tools]
        return ModelResponse(parts=[ToolCallPart(*left.pop(0))] if left else [TextPart("done")])

    sandbox = boxed(server)
    toolset = asking_before(sandbox, SandboxToolset(sandbox, person_timeout=5), *asking, timeout=5)
    result = asyncio.run(Agent(FunctionModel(says), toolsets=[toolset]).run("go"))
    parts = [part for message in result.all_messages() for part in message.parts]
    return [part.content for part in parts if isinstance(part, ToolReturnPart)], offered


def test_a_call_answers_with_what_was_done_or_why_not(server: Server) -> None:
    server.then(200, DONE).then(423, HELD)
    answers, offered = run(server, ("run_command", {"command": "c"}), ("run_command", {"command": "c"}))
    assert answers[0] == "out\nerr\n\n[completed, exit code 3]"
    assert "A person has control of the computer now" in answers[1]
    assert offered == ["run_command", "read_file", "write_file", "open_page", "read_page", "ask_person", "take_screenshot"]


def test_the_model_sees_the_screen(server: Server) -> None:
    server.answers.append(httpx.Response(200, content=b"a picture", headers={"content-type": "image/png"}))
    server.then(423, {**HELD, "reason": "private"})
    [picture, hidden], _ = run(server, ("take_screenshot", {}), ("take_screenshot", {}))
    assert (picture.data, picture.media_type) == (b"a picture", "image/png")
    assert "A person types something private" in hidden


def test_a_call_is_made_after_a_yes_alone(server: Server) -> None:
    call = ("run_command", {"command": "x" * 2000})
    server.then(200, handoff()).then(200, handoff(status="closed", outcome="done", confirmed=True)).then(200, DONE)
    server.then(200, handoff()).then(200, handoff(status="closed", outcome="cannot", confirmed=False, note="not now"))
    server.then(200, handoff()).then(200, handoff(status="closed", outcome="timeout")).then(429, None, message="too many")
    [done, refused, late, failed], _ = run(server, *[call] * 4, asking=("run_command",))
    assert "exit code 3" in done
    assert refused == "run_command was not called. The person said no. Do not do it. They wrote: not now"
    assert late == "run_command was not called. Nobody answered in time. Do not take this for a yes."
    assert "too many" in failed
    assert "and 1015 characters more" in server.body(0)["reason"]
    assert [request.url.path for request in server.asked].count("/v1/bash/exec") == 1


def test_a_person_is_not_asked_about_other_calls(server: Server) -> None:
    server.then(200, DONE)
    run(server, ("run_command", {"command": "c"}), asking=("write_file",))
    assert len(server.asked) == 1
