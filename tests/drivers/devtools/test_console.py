"""Messages are written as a console writes them, and only the latest are kept."""

from typing import Any

import pytest

from sandbox_server.drivers.devtools.console import MAX_MESSAGES, MAX_TEXT, MAX_URL, Console, arguments_text
from sandbox_server.drivers.devtools.targets import DevtoolsTarget

PAGE = DevtoolsTarget("session", "page", "page", "page")


def said(text: str, at: float = 1000.0) -> dict[str, Any]:
    return {"type": "log", "args": [{"type": "string", "value": text}], "timestamp": at}


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ({"type": "string", "value": "a"}, "a"),
        ({"type": "number", "value": 1.5, "description": "1.5"}, "1.5"),
        ({"type": "number", "unserializableValue": "NaN"}, "NaN"),
        ({"type": "boolean", "value": False}, "false"),
        ({"type": "undefined"}, "undefined"),
        ({"type": "object", "subtype": "null", "value": None}, "null"),
        ({"type": "object", "value": {"a": 1}}, "{'a': 1}"),
        ({"type": "function", "description": "() => 1"}, "() => 1"),
        ({"preview": {"subtype": "array", "properties": [{"name": "0", "value": "1"}], "overflow": True}}, "[1, ...]"),
        ({"preview": {"properties": [{"name": "a", "value": "1"}]}}, "{a: 1}"),
        ({"preview": {"subtype": "error", "description": "Error: x"}}, "Error: x"),
    ],
)
def test_values_are_shown_as_a_console_shows_them(argument: dict[str, Any], shown: str) -> None:
    assert arguments_text([argument]) == shown


def test_messages_of_all_kinds_have_time_and_place() -> None:
    console = Console()
    console.take(
        PAGE, "Runtime.consoleAPICalled", said("hi") | {"stackTrace": {"callFrames": [{"url": "u", "lineNumber": 0, "columnNumber": 4}]}}
    )
    console.take(PAGE, "Runtime.exceptionThrown", {"timestamp": 2000, "exceptionDetails": {"text": "Uncaught", "lineNumber": 1, "url": ""}})
    console.take(PAGE, "Log.entryAdded", {"entry": {"level": "warning", "text": "slow", "timestamp": 3000, "url": "v"}})
    console.take(PAGE, "Network.dataReceived", {})
    seen = [(each.source, each.level, each.text, each.time, each.url, each.line, each.column) for each in console]
    assert seen == [
        ("console", "log", "hi", 1.0, "u", 1, 5),
        ("exception", "error", "Uncaught", 2.0, None, 2, None),
        ("browser", "warning", "slow", 3.0, "v", None, None),
    ]


def test_what_the_browser_tells_again_is_not_kept_again() -> None:
    console = Console()
    for at in (1000.0, 2000.0, 1000.0, 2000.5):
        console.take(PAGE, "Runtime.consoleAPICalled", said(str(at), at))
    assert [message.text for message in console] == ["1000.0", "2000.0", "2000.5"]


def test_only_the_latest_are_kept_and_long_ones_are_cut() -> None:
    console = Console()
    for number in range(MAX_MESSAGES + 1):
        console.take(PAGE, "Runtime.consoleAPICalled", said("x" * (MAX_TEXT + 1), number))
    assert (len(list(console)), len(next(iter(console)).text)) == (MAX_MESSAGES, MAX_TEXT + 3)
    console.forget("page")
    assert list(console) == []


def test_messages_are_dropped_when_asked() -> None:
    console = Console()
    console.take(PAGE, "Runtime.consoleAPICalled", said("hi"))
    console.clear()
    assert list(console) == []


def test_a_script_that_gives_itself_a_long_address_is_kept_by_its_beginning() -> None:
    console = Console()
    frame = {"url": "x" * (MAX_URL + 1), "lineNumber": 0, "columnNumber": 0}
    console.take(PAGE, "Runtime.consoleAPICalled", said("hi") | {"stackTrace": {"callFrames": [frame]}})
    [message] = console
    assert message.url == "x" * MAX_URL + "..."
