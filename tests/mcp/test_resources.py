import base64
from typing import Any

import httpx2
import pytest

from sandbox_server.core import Failure, NotFound
from sandbox_server.mcp.resources import ApiResources
from sandbox_server.mcp.tool_filter import ToolFilter

pytestmark = pytest.mark.anyio

EVERYTHING = ToolFilter(frozenset({"browser", "shell", "files"}))


class Answers:
    """In place of the API: what it answers to a path."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.answers: dict[str, Any] = {
            "/v1/shell/sessions": {"sessions": {"main one": {}}},
            "/v1/shell/view": {"output": "$ ls\n"},
            "/v1/browser/downloads": [{"path": "/home/gem/Downloads/a b.pdf"}, {"path": None}],
        }

    async def send(self, verb: str, path: str, headers: Any, **more: Any) -> httpx2.Response:
        self.asked.append((verb, path, more))
        if path in ("/v1/screen/screenshot", "/v1/file/download"):
            media_type = "image/png" if "screen" in path else "application/pdf"
            return httpx2.Response(200, content=b"bytes", headers={"content-type": media_type})
        if path not in self.answers:
            return httpx2.Response(503, json={"message": "it is starting", "hint": None})
        return httpx2.Response(200, json={"data": self.answers[path]})


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def resources(answers: Answers) -> ApiResources:
    return ApiResources(answers)  # type: ignore[arg-type]


async def test_the_screen_the_terminals_and_the_downloads_are_listed(resources: ApiResources) -> None:
    found = [str(resource.uri) for resource in await resources.listed(EVERYTHING, {})]

    assert found == ["sandbox://screen", "sandbox://terminal/main%20one", "sandbox://downloads/a%20b.pdf"]


async def test_a_caller_is_not_told_of_what_it_may_not_read(resources: ApiResources) -> None:
    assert await resources.listed(ToolFilter(frozenset({"view"})), {}) == []
    assert resources.templates(ToolFilter(frozenset({"shell"})))[0].name == "terminal"
    assert resources.templates(ToolFilter(frozenset())) == []


async def test_a_part_that_does_not_work_does_not_break_the_list(resources: ApiResources, answers: Answers) -> None:
    answers.answers = {}

    assert [str(resource.uri) for resource in await resources.listed(EVERYTHING, {})] == ["sandbox://screen"]


async def test_a_picture_a_text_and_a_file_are_read(resources: ApiResources, answers: Answers) -> None:
    screen = await resources.read("sandbox://screen", {})
    terminal = await resources.read("sandbox://terminal/main%20one", {})
    download = await resources.read("sandbox://downloads/a%20b.pdf", {})

    assert screen
    assert screen.contents[0].mime_type == "image/png"
    assert base64.b64decode(screen.contents[0].blob) == b"bytes"  # type: ignore[union-attr]
    assert terminal
    assert terminal.contents[0].text == "$ ls\n"  # type: ignore[union-attr]
    assert ("POST", "/v1/shell/view", {"body": {"id": "main one"}}) in answers.asked
    assert download
    assert download.contents[0].mime_type == "application/pdf"
    assert answers.asked[-1] == ("GET", "/v1/file/download", {"query": {"path": "/home/gem/Downloads/a b.pdf"}})


async def test_what_is_not_there_is_said(resources: ApiResources, answers: Answers) -> None:
    del answers.answers["/v1/shell/view"]

    assert await resources.read("other://thing", {}) is None
    with pytest.raises(NotFound):
        await resources.read("sandbox://downloads/..%2F..%2Fetc%2Fpasswd", {})
    with pytest.raises(Failure, match="it is starting"):
        await resources.read("sandbox://terminal/x", {})
