"""The latest console messages: what pages log, uncaught exceptions, and the browser's own warnings."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sandbox_server.drivers.devtools.connection import Object
from sandbox_server.drivers.devtools.targets import DevtoolsTarget

MAX_MESSAGES = 1000
MAX_TEXT = 8 << 10
MAX_URL = 2 << 10
"""Limit of characters of the URL that a message refers to, which a script may choose."""
MAX_LEVEL = 100

type Source = Literal["console", "exception", "browser"]


@dataclass(frozen=True, slots=True)
class ConsoleEntry:
    """One message. `time` is in seconds since the epoch; line and column count from 1."""

    source: Source
    level: str
    text: str
    page: str
    time: float
    url: str | None
    line: int | None
    column: int | None


class Console:
    """The log of console messages. Takes events of the domains Runtime and Log."""

    def __init__(self) -> None:
        self._messages: deque[ConsoleEntry] = deque(maxlen=MAX_MESSAGES)
        self._latest: dict[tuple[str, Source], float] = {}

    def __iter__(self) -> Iterator[ConsoleEntry]:
        return iter(self._messages)

    def clear(self) -> None:
        """Drop everything."""
        self._messages.clear()

    def forget(self, page: str) -> None:
        """Drop the messages of a page."""
        self._messages = deque((message for message in self._messages if message.page != page), MAX_MESSAGES)

    def take(self, target: DevtoolsTarget, method: str, params: Object) -> None:
        """Take an event of a target. Other kinds of events are ignored."""
        match method:
            case "Runtime.consoleAPICalled":
                frames = params.get("stackTrace", {}).get("callFrames", [])
                self._add(
                    target, "console", params["type"], arguments_text(params["args"]), params["timestamp"], frames[0] if frames else {}
                )
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                text = details.get("exception", {}).get("description") or details["text"]
                self._add(target, "exception", "error", text, params["timestamp"], details)
            case "Log.entryAdded":
                entry = params["entry"]
                self._add(target, "browser", entry["level"], entry["text"], entry["timestamp"], entry)

    def _add(self, target: DevtoolsTarget, source: Source, level: str, text: str, milliseconds: float, place: Object) -> None:
        """Add a message, unless the browser repeats one from before a lost connection."""
        latest = self._latest.get((target.id, source), 0.0)
        if milliseconds < latest:
            return
        if len(self._latest) > MAX_MESSAGES:
            self._latest.clear()
        self._latest[target.id, source] = milliseconds
        line, column = place.get("lineNumber"), place.get("columnNumber")
        self._messages.append(
            ConsoleEntry(
                source,
                level[:MAX_LEVEL],
                _cut(text, MAX_TEXT),
                target.page,
                milliseconds / 1000,
                _cut(place.get("url") or "", MAX_URL) or None,
                None if line is None else line + 1,
                None if column is None else column + 1,
            )
        )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}..."


def arguments_text(arguments: list[Object]) -> str:
    """Return the text that a console shows for the arguments of a call (`Runtime.RemoteObject`)."""
    return " ".join(_argument_text(argument) for argument in arguments)


def _argument_text(argument: Object) -> str:
    if argument.get("type") == "string":
        return str(argument.get("value", ""))
    if preview := argument.get("preview"):
        return _preview_text(preview)
    return _description_text(argument)


def _preview_text(preview: Object) -> str:
    if preview.get("subtype") not in (None, "array"):
        return str(preview.get("description", ""))
    more = ", ..." if preview.get("overflow") else ""
    properties = preview.get("properties", [])
    if preview.get("subtype") == "array":
        return "[" + ", ".join(str(each.get("value", "")) for each in properties) + more + "]"
    return "{" + ", ".join(f"{each['name']}: {each.get('value', '')}" for each in properties) + more + "}"


def _description_text(argument: Object) -> str:
    for key in ("description", "unserializableValue"):
        if key in argument:
            return str(argument[key])
    value = argument.get("value")
    if value is None:
        return str(argument.get("subtype") or argument.get("type", ""))
    return str(value).lower() if isinstance(value, bool) else str(value)
