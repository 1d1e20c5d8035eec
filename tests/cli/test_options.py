from pathlib import Path
from typing import Any

import pytest

from sandbox_server.cli.document import DocumentedOperation
from sandbox_server.cli.options import operation_parser, parse, top_parser
from tests.tables import table_test

ANSWERS: dict[str, Any] = {"200": {"content": {"application/json": {}}}}


def operation(**properties: Any) -> DocumentedOperation:
    schema = {"type": "object", "properties": properties}
    body = {"content": {"application/json": {"schema": schema}}}
    entry = {"summary": "Do it.", "description": "100 % of it.", "requestBody": body, "responses": ANSWERS}
    return DocumentedOperation("things", "do", "POST", "/v1/do", entry, {})


def fields(what: DocumentedOperation, *words: str) -> dict[str, Any]:
    return {name: value for name, value in parse(what, words).items() if not name.endswith("_")}


@table_test(
    [
        ({"type": "integer"}, ["--x", "-3"], -3),
        ({"type": "number"}, ["--x", "0.5"], 0.5),
        ({"type": "string"}, ["--x", "a b"], "a b"),
        ({"type": "string"}, ["--x="], ""),
        ({"type": "string", "enum": ["a", "b"]}, ["--x", "b"], "b"),
        ({"type": "boolean"}, ["--x"], True),
        ({"type": "boolean"}, ["--no-x"], False),
        ({"type": "array", "items": {"type": "integer"}}, ["--x", "1", "--x", "2"], [1, 2]),
        ({"type": "array", "items": {"type": "object"}}, ["--x", '[{"a": 1}]'], [{"a": 1}]),
        ({"type": "object"}, ["--x", '{"a": null}'], {"a": None}),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, ["--x", "2"], 2.0),
        ({}, ["--x", "true"], True),
        ({"type": "string", "format": "binary"}, ["--x", "/a/b"], Path("/a/b")),
    ]
)
def test_a_word_becomes_a_value_of_its_fields_type(schema: dict[str, Any], words: list[str], value: object) -> None:
    assert fields(operation(x=schema), *words) == {"x": value}


def test_a_field_that_is_not_given_is_not_sent() -> None:
    assert fields(operation(x={"type": "string", "default": "a"}, y={"type": "boolean", "default": True})) == {}


@pytest.mark.parametrize("word", ["--exec_dir", "--exec-dir"])
def test_a_name_may_be_written_either_way(word: str) -> None:
    assert fields(operation(exec_dir={"type": "string"}), word, "/a_b") == {"exec_dir": "/a_b"}
    assert fields(operation(exec_dir={"type": "string"}), f"{word}=/a_b") == {"exec_dir": "/a_b"}


def test_a_field_named_like_an_option_of_the_answer_wins_over_it() -> None:
    assert fields(operation(output={"type": "string"}), "--output", "x") == {"output": "x"}


def test_the_help_has_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        operation_parser(operation(x={"type": "string", "description": "Half, 50 %.", "default": "y"})).parse_args(["--help"])

    text = capsys.readouterr().out
    assert "Do it." in text
    assert "100 % of it." in text
    assert 'Half, 50 %. default: "y"' in text


def test_what_follows_the_operation_is_its_own() -> None:
    options = top_parser().parse_args(["--json", "shell", "exec", "--json", "--wait", "3"])

    assert (options.json, options.wait, options.tag, options.operation) == (True, None, "shell", "exec")
    assert options.fields == ["--json", "--wait", "3"]


def test_the_port_of_the_gateway_is_known_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SANDBOX_API_URL", raising=False)
    monkeypatch.setenv("PUBLIC_PORT", "9000")

    assert top_parser().parse_args([]).api_url == "http://127.0.0.1:9000"
