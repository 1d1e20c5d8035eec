from typing import Any

import pytest

from sandbox_server.mcp.tool_filter import ToolFilter
from sandbox_server.mcp.tools.catalog import read_catalog

EVERYTHING = ToolFilter(frozenset({"code"}))


def document(**entry: Any) -> dict[str, Any]:
    given = {
        "summary": "Do it.",
        "x-tool": "do_it",
        "x-scope": "code",
        "x-read-only": False,
        "x-destructive": False,
        "responses": {"200": {"content": {"application/json": {"schema": {}}}}},
    }
    return {"paths": {"/v1/do": {"post": given | entry}}, "components": {"schemas": {}}}


def test_a_tool_without_arguments_takes_an_empty_object() -> None:
    [tool] = read_catalog(document()).listed(EVERYTHING)

    assert tool.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert tool.output_schema is None


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"requestBody": {"content": {"application/json": {"schema": {"oneOf": []}}}}}, "not an object"),
        ({"requestBody": {"content": {"multipart/form-data": {"schema": {}}}}}, "multipart/form-data"),
        ({"responses": {"200": {"content": {"text/event-stream": {}}}}}, "streams events"),
    ],
)
def test_an_operation_that_no_agent_could_call_is_left_out_and_named(
    entry: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_catalog(document(**entry)).listed(EVERYTHING) == []
    assert "do_it" in caplog.text
    assert reason in caplog.text


def test_a_file_error_is_a_failure_and_no_part_of_the_result() -> None:
    failure = {"$ref": "#/components/schemas/FileOperationError"}
    properties = {"success": {}, "message": {}, "data": {"anyOf": [{"type": "object"}, failure]}, "hint": {}}
    [tool] = read_catalog(document(responses={"200": {"content": {"application/json": {"schema": {"properties": properties}}}}})).listed(
        EVERYTHING
    )

    assert tool.output_schema == {"type": "object"}
    assert not tool.wrapped


def test_a_tool_belongs_to_the_server_that_its_name_begins_with() -> None:
    servers = {name: read_catalog(document(**{"x-tool": name})).listed(EVERYTHING)[0].server for name in ("browser_go", "sandbox_go", "go")}

    assert servers == {"browser_go": "browser", "sandbox_go": "sandbox", "go": "sandbox"}


def test_the_converter_is_a_tool_of_its_own_server_too() -> None:
    names = {"x-tool": "sandbox_convert", "x-aliases": ["markitdown_convert", "markitdown_extract", "convert"]}
    [theirs, ours] = read_catalog(document(**names)).listed(EVERYTHING)

    assert (theirs.name, theirs.aliases, theirs.server) == ("markitdown_convert", ("markitdown_extract",), "markitdown")
    assert (ours.name, ours.aliases, ours.server) == ("sandbox_convert", ("convert",), "sandbox")
