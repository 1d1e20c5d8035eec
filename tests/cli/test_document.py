from typing import Any

from sandbox_server.cli.document import DocumentedOperation, read_operations


def found(described: Any, name: str) -> DocumentedOperation:
    [operation] = [operation for operation in read_operations(described) if operation.name == name]
    return operation


def test_every_operation_is_read_with_its_place(described: Any) -> None:
    add = found(described, "add")

    assert (add.tag, add.verb, add.path) == ("sample", "POST", "/v1/sample/add")
    assert add.media_types == ["application/json"]


def test_the_fields_of_path_query_and_body_have_their_schemas(described: Any) -> None:
    shelf = [(place, name, required) for place, name, _, required in found(described, "shelf").fields()]
    add = [(place, name, schema["type"], required) for place, name, schema, required in found(described, "add").fields()]

    assert shelf == [("path", "shelf", True), ("query", "colours", False), ("query", "shiny", False)]
    assert add == [("body", "left", "integer", True), ("body", "right", "integer", False)]


def test_null_as_an_alternative_is_passed_over(described: Any) -> None:
    [colours] = [schema for _, name, schema, _ in found(described, "shelf").fields() if name == "colours"]

    assert (colours["type"], colours["items"], colours["description"]) == ("array", {"type": "string"}, "Only these.")


def test_a_body_says_how_it_is_sent(described: Any) -> None:
    assert found(described, "add").body()[0] == "application/json"
    assert found(described, "upload").body()[0] == "multipart/form-data"
    assert found(described, "raw").body()[0] == "application/octet-stream"
    assert found(described, "prose").body() == ("", {})
