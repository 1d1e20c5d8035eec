import importlib
import inspect
import json
import pkgutil
from pathlib import Path
from typing import Any

import pytest

from clients.python.generate import Description, annotation, docstring, generate, python_name, synchronous
from tests.clients.python.conftest import ROOT

REFERENCE = {"$ref": "#/components/schemas/Thing"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "str"),
        ({"type": "string", "format": "binary"}, "bytes"),
        ({"type": "array", "items": {"type": "integer"}}, "list[int]"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "dict[str, float]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"anyOf": [REFERENCE, {"type": "null"}]}, "Thing | None"),
        ({"enum": ["a", "b"]}, "Literal['a', 'b'] | str"),
        ({"enum": ["a", None]}, "Literal['a'] | str | None"),
        ({"const": "x"}, "Literal['x']"),
        ({"anyOf": [REFERENCE, {"$ref": "#/components/schemas/FileOperationError"}]}, "Thing"),
        ({}, "Any"),
    ],
)
def test_a_schema_has_a_type(schema: Any, expected: str) -> None:
    assert annotation(schema) == expected


@pytest.mark.parametrize(("name", "expected"), [("from", "from_"), ("browser-page", "browser_page"), ("model_name", "model_name_")])
def test_a_name_is_one_of_python(name: str, expected: str) -> None:
    assert python_name(name) == expected


def test_a_text_with_quotes_stays_a_text() -> None:
    text = 'a """quoted""" \\d "word"'
    assert eval(docstring(text, "").strip()).strip() == text.replace('"""', "'''")


def document(operation: Any) -> Any:
    operation = {"operationId": "x", "tags": ["tag"], "summary": "Do it.", "x-name": "do_it", "parameters": [], **operation}
    schemas = {"Thing": {"type": "object", "properties": {"a": {"type": "string"}, "class": {"type": "integer"}}, "required": ["a"]}}
    return {"paths": {"/x/{id}": {"post": operation}}, "components": {"schemas": schemas}}


def test_an_operation_takes_what_it_needs_first_and_answers_its_model() -> None:
    body = {"required": True, "content": {"application/json": {"schema": REFERENCE}}}
    enveloped = {"type": "object", "properties": {"success": {"type": "boolean"}, "data": REFERENCE}}
    parameters = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    answers = {"200": {"content": {"application/json": {"schema": enveloped}}}}
    source = Description(document({"parameters": parameters, "requestBody": body, "responses": answers})).module("tag")
    assert "def do_it(self, id: str, *, a: str, class_: int | Unset = UNSET) -> Thing:" in source
    assert "f\"/x/{quote(str(id), safe='')}\"" in source
    assert "body={'a': a, 'class': class_}" in source
    assert "class_: int | None = Field(default=None, alias='class')" in source
    assert "    async def do_it(" in source


def test_streams_bytes_and_texts_are_what_they_are() -> None:
    for content, expected in (("text/event-stream", "Iterator[Event]"), ("image/png", "bytes"), ("text/plain", "str")):
        answers = {"200": {"content": {content: {"schema": {"type": "string", "format": "binary"}}}}}
        assert f"def do_it(self) -> {expected}:" in Description(document({"responses": answers})).module("tag")


def test_where_nothing_waits_the_source_says_so() -> None:
    source = "import asyncio\nimport time\n\nasync with a as b:\n    await asyncio.sleep(1)\n    await asyncio.to_thread(run, 1)\n"
    source += "AsyncPage.aclose()\n"
    assert synchronous(source) == "import time\n\nwith a as b:\n    time.sleep(1)\n    run(1)\nPage.close()\n"


def test_every_operation_of_the_description_is_there_and_all_sources_compile() -> None:
    described = json.loads((ROOT / "sandbox_server/openapi.json").read_bytes())
    files = dict(generate(described, ROOT / "clients/python/tandem/_async"))
    for name, source in files.items():
        compile(source, name, "exec")
    written = "".join(source for name, source in files.items() if name.startswith("api/"))
    operations = [operation for verbs in described["paths"].values() for verb, operation in verbs.items() if verb != "options"]
    for operation in operations:
        assert f"def {python_name(operation['x-name'])}(self" in written
    assert "async " not in "".join(source for name, source in files.items() if name.startswith("_sync/"))
    assert {Path(name).parts[0] for name in files} == {"api", "_sync"}


def test_every_model_can_be_made() -> None:
    import tandem.api
    from tandem.model import Model

    made = 0
    for module in pkgutil.iter_modules(tandem.api.__path__):
        for found in vars(importlib.import_module(f"tandem.api.{module.name}")).values():
            if inspect.isclass(found) and issubclass(found, Model):
                found.model_rebuild(raise_errors=True)
                made += 1
    assert made > 400
