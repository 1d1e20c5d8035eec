"""The adapter in the loop of OpenAI's own SDK, with a scripted model and a server that answers as a test says."""

import asyncio
import base64
from typing import Any

import httpx
import pytest
from tandem.errors import HeldByPerson

from tests.clients.python.conftest import Server
from tests.clients.python.integrations.boxes import DONE, HELD, boxed
from tests.clients.python.integrations.responses_model import Item, ResponsesScript, acts, calls, playing, says
from tests.clients.python.test_sandbox import handoff

pytest.importorskip("agents", reason="tests/image/test_integrations.py runs these with the framework")
PIXEL = base64.b64encode(b"a picture").decode()
CHECK = {"id": "check-1", "code": "malicious_instructions", "message": "a page told it so"}


def run(server: Server, *turns: Item) -> ResponsesScript:
    """Run the loop until the model has said all, and give what it was told."""
    from agents import Agent, ComputerTool, OpenAIResponsesModel, RunConfig, Runner
    from openai import AsyncOpenAI
    from tandem.integrations.openai_agents import ScreenComputer, asking_on_safety_checks, tools

    async def go(script: ResponsesScript) -> None:
        sandbox = boxed(server)
        screen = ComputerTool(ScreenComputer(sandbox, display=(1024, 768)), on_safety_check=asking_on_safety_checks(sandbox, timeout=5))
        async with AsyncOpenAI(base_url=script.url, api_key="none", max_retries=0) as client:
            model = OpenAIResponsesModel("gpt-5.4", client)
            agent: Any = Agent(name="a", model=model, tools=[*tools(sandbox, person_timeout=5), screen])
            await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))

    with playing(*turns, says("done")) as script:
        asyncio.run(go(script))
    return script


def picture(server: Server, count: int = 1) -> None:
    image = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PIXEL}"}
    server.answers += [httpx.Response(200, json={"type": "computer_call_output", "output": image}) for _ in range(count)]


def test_the_model_is_offered_the_screen_and_the_functions(server: Server) -> None:
    offered = [tool.get("name", tool["type"]) for tool in run(server).asked[0]["tools"]]
    assert offered == ["run_command", "read_file", "write_file", "open_page", "read_page", "ask_person", "computer"]


ACTIONS: list[tuple[str, dict[str, Any]]] = [
    ("click", {"x": 10, "y": 20, "button": "right", "keys": ["SHIFT"]}),
    ("double_click", {"x": 1, "y": 2, "keys": None}),
    ("scroll", {"x": 1, "y": 2, "scroll_x": 0, "scroll_y": 300}),
    ("type", {"text": "Ada"}),
    ("keypress", {"keys": ["CTRL", "A"]}),
    ("move", {"x": 5, "y": 6}),
    ("drag", {"path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}),
    ("wait", {}),
]


@pytest.mark.parametrize(("kind", "given"), ACTIONS, ids=[kind for kind, _ in ACTIONS])
def test_an_action_is_sent_as_it_is_with_the_size_of_the_models_picture(server: Server, kind: str, given: dict[str, Any]) -> None:
    picture(server, 2)
    script = run(server, acts(kind, **given))
    sent, shown = server.body(0), server.body(1)
    expected = {name: value for name, value in given.items() if value is not None}
    assert sent["display"] == {"width": 1024, "height": 768}
    assert {"type": kind, **expected}.items() <= sent["action"].items()
    assert shown["action"]["type"] == "screenshot"
    assert script.outputs()[0]["image_url"].endswith(PIXEL)


def test_a_person_who_drives_ends_the_run_in_place_of_an_action_that_was_not_done(server: Server) -> None:
    from tandem.integrations.openai_agents import ScreenComputer

    server.then(423, HELD)
    with pytest.raises(HeldByPerson):
        asyncio.run(ScreenComputer(boxed(server)).click(1, 2, "left"))


def test_a_function_answers_with_what_was_done_and_what_a_person_said(server: Server) -> None:
    server.then(200, DONE).then(200, handoff()).then(200, handoff(status="closed", outcome="done", confirmed=True))
    script = run(
        server, calls("run_command", command="c"), calls("ask_person", kind="confirm", question="Shall I?", choices=None, url=None)
    )
    assert script.outputs() == ["out\nerr\n\n[completed, exit code 3]", "The person said yes."]


def test_a_safety_check_needs_a_persons_yes(server: Server) -> None:
    from agents.exceptions import UserError

    server.then(200, handoff()).then(200, handoff(status="closed", outcome="done", confirmed=True))
    picture(server, 2)
    run(server, acts("click", x=1, y=2, button="left", checks=(CHECK,)))
    assert "a page told it so" in server.body(0)["reason"]

    for refused in (Server().then(200, handoff()).then(200, handoff(status="closed", outcome="timeout")), Server().then(429)):
        with pytest.raises(UserError):
            run(refused, acts("click", x=1, y=2, button="left", checks=(CHECK,)))
        assert not any(request.url.path.startswith("/v1/computer") for request in refused.asked)
