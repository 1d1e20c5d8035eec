"""The consoles of all tabs."""

from typing import Literal

from sandbox_server.core import Model, operation
from sandbox_server.drivers.devtools.console import ConsoleEntry
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.har import moment
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.browser.agent_files import save_json


class ConsoleQuery(Model):
    clear: bool = False
    """Drop the messages once they are returned."""


class ConsoleMessage(Model):
    type: str
    """log, debug, info, warning, error or another of the browser's levels."""
    text: str
    source: Literal["console", "exception", "browser"]
    """What a script logged, an uncaught exception, or a message of the browser."""
    url: str | None
    """The script or document that it refers to."""
    line: int | None
    """From 1."""
    column: int | None
    """From 1."""
    timestamp: str
    """ISO 8601."""
    page: str
    """Target id of the page."""


class ExportConsoleRequest(Model):
    save_path: str
    """Path of the JSON list in the agent's files. An existing file is replaced."""
    clear: bool = False
    """Drop the messages once they are written."""


class ConsoleExported(Model):
    save_path: str
    messages: int
    """How many messages the file has."""


class ConsoleLog:
    """Returns the messages of all tabs."""

    tag = "browser-page"

    def __init__(self, devtools: Devtools, files: Files) -> None:
        self._devtools = devtools
        self._files = files

    @operation("GET /v1/browser/page/console", scope="browser", operation_id="get_console", read_only=False)
    async def get_console(self, request: ConsoleQuery) -> list[ConsoleMessage]:
        """List the latest console messages of all tabs, oldest first. They survive navigations and crashes."""
        messages = await self._messages()
        if request.clear:
            self._devtools.console.clear()
        return messages

    @operation("POST /v1/browser/page/console/export", scope="browser", operation_id="export_console")
    async def export_console(self, request: ExportConsoleRequest) -> ConsoleExported:
        """Write the console messages into a file."""
        messages = await self._messages()
        await save_json(self._files, request.save_path, [message.model_dump() for message in messages])
        if request.clear:
            self._devtools.console.clear()
        return ConsoleExported(save_path=request.save_path, messages=len(messages))

    async def _messages(self) -> list[ConsoleMessage]:
        await self._devtools.connection()
        return [_shown(message) for message in self._devtools.console]


def _shown(message: ConsoleEntry) -> ConsoleMessage:
    return ConsoleMessage(
        type=message.level,
        text=message.text,
        source=message.source,
        url=message.url,
        line=message.line,
        column=message.column,
        timestamp=moment(message.time),
        page=message.page,
    )
