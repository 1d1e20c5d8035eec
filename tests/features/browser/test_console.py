"""Messages are listed, written into a file, and dropped when asked."""

import json
from pathlib import Path

import pytest

from sandbox_server.core.errors import FileError
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.browser.console import ConsoleLog, ConsoleQuery, ExportConsoleRequest
from tests.features.browser.browsers import FakeDevtools

pytestmark = pytest.mark.anyio


@pytest.fixture
def devtools() -> FakeDevtools:
    made = FakeDevtools()
    made.say("hi")
    return made


@pytest.fixture
def console(devtools: FakeDevtools, files: Files) -> ConsoleLog:
    return ConsoleLog(devtools, files)  # type: ignore[arg-type] # all that is used


async def test_messages_are_listed_until_they_are_cleared(console: ConsoleLog) -> None:
    [message] = await console.get_console(ConsoleQuery())
    assert (message.type, message.text, message.source, message.timestamp) == ("log", "hi", "console", "1970-01-01T00:00:01.000Z")
    assert len(await console.get_console(ConsoleQuery(clear=True))) == 1
    assert await console.get_console(ConsoleQuery()) == []


async def test_messages_are_written_as_a_list(console: ConsoleLog, home: Path) -> None:
    done = await console.export_console(ExportConsoleRequest(save_path="~/log.json", clear=True))
    assert done.messages == 1
    assert [message["text"] for message in json.loads((home / "log.json").read_text())] == ["hi"]
    assert await console.get_console(ConsoleQuery()) == []


async def test_messages_that_could_not_be_written_are_not_dropped(console: ConsoleLog) -> None:
    with pytest.raises(FileError):
        await console.export_console(ExportConsoleRequest(save_path="/proc/log.json", clear=True))
    assert len(await console.get_console(ConsoleQuery())) == 1
