"""A model's actions on a real display."""

import base64
import io
from typing import Any

import pytest
from PIL import Image
from pydantic import ValidationError

from sandbox_server.core import Unavailable
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.input_turns import InputTurns
from sandbox_server.features.browser.computer_use.operations import AnthropicCall, ComputerUse, GeminiCall, OpenAICall
from tests.drivers.x11.conftest import Program
from tests.patience import until

pytestmark = pytest.mark.anyio
SMALL = {"display": {"width": 640, "height": 400}}


async def nowhere(url: str) -> None:
    raise AssertionError(f"{url} was opened")


@pytest.fixture
def computer(desktop: Desktop) -> ComputerUse:
    async def url() -> str:
        return "https://in.front/"

    return ComputerUse(desktop, InputTurns(desktop), url, nowhere)


def size_of(data: str) -> tuple[int, int]:
    picture = Image.open(io.BytesIO(base64.b64decode(data)))
    assert picture.format == "PNG"
    return picture.size


async def anthropic(computer: ComputerUse, given: dict[str, Any], **more: Any) -> Any:
    [block] = (await computer.anthropic_action(AnthropicCall.model_validate({"input": given, **SMALL, **more})))["content"]
    return block


async def test_a_picture_has_the_size_that_the_model_was_told(computer: ComputerUse) -> None:
    shown = await anthropic(computer, {"action": "screenshot"})
    assert size_of(shown["source"]["data"]) == (640, 400)


async def test_what_is_typed_arrives_whichever_model_says_it(computer: ComputerUse, program: Program) -> None:
    await anthropic(computer, {"action": "type", "text": "a"})
    await anthropic(computer, {"text": "b"}, name="type")
    await computer.openai_action(OpenAICall.model_validate({"action": {"type": "type", "text": "c"}}))
    await computer.openai_action(OpenAICall.model_validate({"actions": [{"type": "type", "text": "d"}, {"type": "type", "text": "e"}]}))
    until(lambda: program.text == "abcde")


async def test_a_point_is_where_the_model_saw_it(computer: ComputerUse, desktop: Desktop) -> None:
    width, height = await desktop.screen.size()
    await anthropic(computer, {"action": "mouse_move", "coordinate": [320, 200]})
    assert await desktop.pointer.position() == (width // 2, height // 2)
    assert (await anthropic(computer, {"action": "cursor_position"}))["text"] == "X=320,Y=200"
    factors = {"factors": {"x": 2, "y": 4}}
    await computer.openai_action(OpenAICall.model_validate({"action": {"type": "move", "x": 10, "y": 10}, **factors}))
    assert await desktop.pointer.position() == (20, 40)
    answer = await computer.gemini_action(GeminiCall.model_validate({"name": "hover_at", "args": {"x": 500, "y": 500}, **SMALL}))
    assert await desktop.pointer.position() == (width // 2, height // 2)
    part = answer["function_response"]
    assert part["response"]["url"] == "https://in.front/"
    assert size_of(part["parts"][0]["inline_data"]["data"]) == (640, 400)


async def test_zoom_shows_the_region_at_the_screens_own_resolution(computer: ComputerUse, desktop: Desktop) -> None:
    width, height = await desktop.screen.size()
    shown = await anthropic(computer, {"action": "zoom", "region": [0, 0, 320, 200]})
    assert size_of(shown["source"]["data"]) == (width // 2, height // 2)
    for wrong in ([10, 10, 10, 20], [20, 0, 10, 10], [0, 0, 641, 10]):
        with pytest.raises(InvalidFields, match=r"input\.region"):
            await anthropic(computer, {"action": "zoom", "region": wrong})


async def test_a_button_stays_down_until_it_is_let_go_and_nothing_else_does(computer: ComputerUse, desktop: Desktop) -> None:
    await anthropic(computer, {"action": "left_mouse_down"})
    assert desktop.holds
    await anthropic(computer, {"action": "left_mouse_up"})
    await anthropic(computer, {"action": "left_click", "text": "shift", "coordinate": [5, 5]})
    assert not desktop.holds


async def test_a_drag_of_three_calls_holds_the_button_on_the_way(computer: ComputerUse, desktop: Desktop) -> None:
    for given in ({"action": "left_mouse_down"}, {"action": "mouse_move", "coordinate": [100, 100]}, {"action": "screenshot"}):
        await anthropic(computer, given)
        assert desktop.holds
    await anthropic(computer, {"action": "left_mouse_up"})
    assert not desktop.holds


async def test_what_is_wrong_is_named_where_it_is_in_the_request(computer: ComputerUse) -> None:
    wrong = {"type": "keypress", "keys": ["nonsense"]}
    with pytest.raises(InvalidFields, match=r"actions\.1\.keys\.0: there is no key 'nonsense'"):
        await computer.openai_action(OpenAICall.model_validate({"actions": [{"type": "screenshot"}, wrong]}))
    with pytest.raises(InvalidFields, match=r"args\.keys\.1: there is no key 'nonsense'"):
        await computer.gemini_action(GeminiCall.model_validate({"name": "key_combination", "args": {"keys": "ctrl+nonsense"}}))


async def test_no_picture_is_larger_than_a_screen_may_be(computer: ComputerUse) -> None:
    with pytest.raises(InvalidFields, match=r"factors: make a picture of \d+x\d+ pixels; 3840 is the most"):
        await anthropic(computer, {"action": "screenshot"}, display=None, factors={"x": 0.1, "y": 0.1})
    with pytest.raises(ValidationError):
        AnthropicCall.model_validate({"input": {"action": "screenshot"}, "display": {"width": 3841, "height": 100}})


async def test_an_address_is_loaded_and_not_typed(desktop: Desktop, program: Program) -> None:
    opened: list[str] = []

    async def url() -> str:
        return opened[-1]

    async def navigate(url: str) -> None:
        opened.append(url)

    computer = ComputerUse(desktop, InputTurns(desktop), url, navigate)
    answer = await computer.gemini_action(GeminiCall.model_validate({"name": "navigate", "args": {"url": "https://a.example/"}}))
    assert answer["function_response"]["response"]["url"] == "https://a.example/"
    assert (opened, program.text) == (["https://a.example/"], "")


async def test_an_address_is_no_book(desktop: Desktop) -> None:
    async def url() -> str:
        return "data:" + "x" * 1_000_000

    answer = await ComputerUse(desktop, InputTurns(desktop), url, nowhere).gemini_action(GeminiCall(name="open_web_browser"))
    assert len(answer["function_response"]["response"]["url"]) < 1000


async def test_an_unknown_key_ends_it_and_leaves_nothing_pressed(computer: ComputerUse, desktop: Desktop) -> None:
    with pytest.raises(InvalidFields, match="nonsense"):
        await anthropic(computer, {"action": "left_click", "text": "shift+nonsense"})
    assert not desktop.holds


async def test_a_call_without_an_action_is_refused_and_a_browser_that_is_away_is_none(desktop: Desktop) -> None:
    async def away() -> str:
        raise Unavailable("it starts")

    computer = ComputerUse(desktop, InputTurns(desktop), away, nowhere)
    with pytest.raises(InvalidFields, match="`actions` is needed"):
        await computer.openai_action(OpenAICall())
    answer = await computer.gemini_action(GeminiCall(name="open_web_browser"))
    assert answer["function_response"]["response"] == {"url": ""}
