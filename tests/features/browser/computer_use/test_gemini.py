from typing import Any

import pytest

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.features.browser.computer_use.gemini import KNOWN, SEARCH, GeminiArguments, address_of, gui_actions_of, result
from sandbox_server.features.browser.computer_use.model_space import ModelSpace
from tests.features.browser.computer_use.conftest import written

SPACE = ModelSpace((1000, 1000), (1280, 1024))


def done(name: str, **given: Any) -> list[str]:
    return written(gui_actions_of(name, GeminiArguments(**given), SPACE, ("args",)))


CLEARED = ["HOTKEY ['ctrl', 'a']", "PRESS backspace"]


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("open_web_browser", {}, []),
        ("click_at", {"x": 500, "y": 500}, ["MOVE_TO 640 512", "CLICK None None left 1"]),
        ("hover_at", {"x": 0, "y": 1000}, ["MOVE_TO 0 1023"]),
        (
            "type_text_at",
            {"x": 0, "y": 0, "text": "hi"},
            ["MOVE_TO 0 0", "CLICK None None left 1", *CLEARED, "TYPING hi True", "PRESS enter"],
        ),
        (
            "type_text_at",
            {"x": 0, "y": 0, "text": "hi", "press_enter": False, "clear_before_typing": False},
            ["MOVE_TO 0 0", "CLICK None None left 1", "TYPING hi True"],
        ),
        ("scroll_document", {"direction": "down"}, ["SCROLL 0 819"]),
        ("scroll_at", {"x": 0, "y": 0, "direction": "left", "magnitude": 100}, ["MOVE_TO 0 0", "SCROLL -128 0"]),
        ("drag_and_drop", {"x": 0, "y": 0, "destination_x": 500, "destination_y": 500}, ["MOVE_TO 0 0", "DRAG_TO 640 512"]),
        ("key_combination", {"keys": "control+c"}, ["HOTKEY ['control', 'c']"]),
        ("go_back", {}, ["HOTKEY ['alt', 'left']"]),
        ("wait_5_seconds", {}, ["WAIT 5"]),
    ],
)
def test_each_function_is_done_on_the_screen(name: str, given: dict[str, Any], expected: list[str]) -> None:
    assert done(name, **given) == expected


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("fly", {}, "name: there is no action 'fly'"),
        ("click_at", {"x": 1}, "args.y: this action needs it"),
        ("drag_and_drop", {"x": 1, "y": 1}, "args.destination_x"),
        ("key_combination", {"keys": ""}, "args.keys"),
        ("scroll_document", {}, "args.direction"),
    ],
)
def test_what_makes_no_sense_names_its_field(name: str, given: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidFields) as refused:
        done(name, **given)
    assert why in str(refused.value)


def test_two_functions_open_a_url_and_the_others_none() -> None:
    given = GeminiArguments(url="https://a.example")
    opened = {name: address_of(name, given, ("args",)) for name in KNOWN}
    assert {name: url for name, url in opened.items() if url} == {"navigate": "https://a.example", "search": SEARCH}
    with pytest.raises(InvalidFields, match=r"args\.url: this action needs it"):
        address_of("navigate", GeminiArguments(), ("args",))


def test_every_known_function_is_known() -> None:
    for name in set(KNOWN) - {"navigate", "search"}:
        done(name, x=1, y=1, destination_x=1, destination_y=1, text="a", keys="a", direction="up", url="a")


def test_the_part_names_its_function() -> None:
    part = result("click_at", "x", "https://a", "i")["function_response"]
    assert (part["name"], part["id"], part["response"]) == ("click_at", "i", {"url": "https://a"})
    assert part["parts"] == [{"inline_data": {"mime_type": "image/png", "data": "x"}}]
