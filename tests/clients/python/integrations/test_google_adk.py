"""The adapter in the loop of the framework, with a scripted model and a server that answers as a test says."""

import asyncio
import base64
from typing import Any

import httpx
import pytest

from tests.clients.python.conftest import Server
from tests.clients.python.integrations.boxes import DONE, HELD, boxed
from tests.clients.python.integrations.gemini_model import GeminiScript, Part, calls, playing, says
from tests.clients.python.test_sandbox import handoff

pytest.importorskip("google.adk", reason="tests/image/test_integrations.py runs these with the framework")
pytestmark = [
    pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning"),
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),  # google-genai's, where aiohttp is
]
PIXEL = base64.b64encode(b"a picture").decode()
OLD, NEW = "gemini-2.5-computer-use-preview-10-2025", "gemini-3-flash-preview"


def run(server: Server, *turns: Part, name: str = OLD) -> GeminiScript:
    """Run the loop until the model has said all, and give what it was told."""
    from google.adk.agents import LlmAgent
    from google.adk.models.google_llm import Gemini
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.computer_use.computer_use_toolset import ComputerUseToolset
    from tandem.integrations.google_adk import ScreenOfSandbox, tools

    async def go(script: GeminiScript) -> None:
        sandbox = boxed(server)
        screen = ComputerUseToolset(computer=ScreenOfSandbox(sandbox), allow_private_network_access=True)
        model = Gemini(model=name, base_url=script.url, client_kwargs={"api_key": "none"})
        agent = LlmAgent(name="a", model=model, tools=[*tools(sandbox, person_timeout=5), screen])
        await InMemoryRunner(agent=agent, app_name="a").run_debug("go", quiet=True)

    with playing(*turns, says("done")) as script:
        asyncio.run(go(script))
    return script


def picture(server: Server, count: int = 1) -> None:
    part = {"inline_data": {"mime_type": "image/png", "data": PIXEL}}
    answer = {"function_response": {"name": "n", "response": {"url": "http://page"}, "parts": [part]}}
    server.answers += [httpx.Response(200, json=answer) for _ in range(count)]


ACTIONS: list[tuple[str, dict[str, Any]]] = [
    ("click_at", {"x": 10, "y": 999}),
    ("hover_at", {"x": 1, "y": 2}),
    ("type_text_at", {"x": 1, "y": 2, "text": "Ada", "press_enter": False, "clear_before_typing": False}),
    ("scroll_document", {"direction": "down"}),
    ("scroll_at", {"x": 1, "y": 2, "direction": "up", "magnitude": 300}),
    ("drag_and_drop", {"x": 1, "y": 2, "destination_x": 3, "destination_y": 4}),
    ("navigate", {"url": "http://127.0.0.1/a"}),
    ("go_back", {}),
    ("go_forward", {}),
    ("search", {}),
    ("open_web_browser", {}),
]


@pytest.mark.parametrize(("name", "given"), ACTIONS, ids=[name for name, _ in ACTIONS])
def test_an_action_is_sent_as_it_is_on_the_models_grid(server: Server, name: str, given: dict[str, Any]) -> None:
    picture(server)
    script = run(server, calls(name, **given))
    sent = server.body(0)
    assert sent["name"] == name
    assert given.items() <= sent["args"].items()
    assert script.responses()[0]["response"]["url"] == "http://page"


PRESSED: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
    ("hotkey", {"keys": ["control", "a"]}, [{"type": "keypress", "keys": ["control", "a"]}]),
    ("type", {"text": "Ada", "press_enter": True}, [{"type": "type", "text": "Ada"}, {"type": "keypress", "keys": ["ENTER"]}]),
    ("double_click", {"x": 500, "y": 400}, [{"type": "double_click", "x": 500, "y": 400}]),
    ("right_click", {"x": 500, "y": 400}, [{"type": "click", "button": "right", "x": 500, "y": 400}]),
    ("middle_click", {"x": 500, "y": 400}, [{"type": "click", "button": "wheel", "x": 500, "y": 400}]),
]


@pytest.mark.parametrize(("name", "given", "actions"), PRESSED, ids=[name for name, *_ in PRESSED])
def test_an_action_of_newer_models_is_made_of_others(
    server: Server, name: str, given: dict[str, Any], actions: list[dict[str, Any]]
) -> None:
    server.answers.append(httpx.Response(200, json={"type": "computer_call_output", "output": {}}))
    picture(server)
    script = run(server, calls(name, **given), name=NEW)
    sent = server.body(0)
    assert sent["display"] == {"width": 1000, "height": 1000}
    assert [wanted.items() <= action.items() for wanted, action in zip(actions, sent["actions"], strict=True)] == [True] * len(actions)
    assert script.responses()[0]["response"]["url"] == "http://page"


def test_a_person_who_drives_is_told_of_with_an_address(server: Server) -> None:
    picture(server)
    server.then(423, HELD).then(423, {**HELD, "outcome": "unknown"})
    script = run(server, calls("open_web_browser"), calls("click_at", x=1, y=2), calls("key_combination", keys=["a"]))
    _, nothing, unknown = [answer["response"] for answer in script.responses()]
    assert "A person has control of the computer now, so nothing was done." in nothing["error"]
    assert "It may have been done" in unknown["error"]
    assert nothing["url"] == unknown["url"] == "http://page"


def test_a_wrong_argument_is_told(server: Server) -> None:
    script = run(server, calls("type_text_at", x=1, y=2, text=[]))
    assert "text" in str(script.responses()[0]["response"])
    assert server.asked == []


WRONG: list[tuple[str, list[Any]]] = [
    ("click_at", ["far", 2]),
    ("key_combination", [["a", {}]]),
    ("double_click", ["far", 2]),
    ("right_click", ["far", 2]),
    ("middle_click", ["far", 2]),
    ("type_text", [["a"]]),
]


@pytest.mark.parametrize(("name", "given"), WRONG, ids=[name for name, _ in WRONG])
def test_every_action_answers_that_an_argument_is_wrong(server: Server, name: str, given: list[Any]) -> None:
    from tandem.integrations.google_adk import ScreenOfSandbox

    answer = asyncio.run(getattr(ScreenOfSandbox(boxed(server)), name)(*given))
    assert answer["error"].startswith("a wrong argument: ")
    assert answer["url"] == "about:blank"
    assert server.asked == []


def test_a_function_answers_with_what_was_done_and_what_a_person_said(server: Server) -> None:
    server.then(200, DONE).then(200, handoff()).then(200, handoff(status="closed", outcome="cannot", confirmed=False))
    script = run(server, calls("run_command", command="c"), calls("ask_person", kind="confirm", question="Shall I?"))
    assert [answer["response"]["result"] for answer in script.responses()] == [
        "out\nerr\n\n[completed, exit code 3]",
        "The person said no. Do not do it.",
    ]
