from typing import Any

import pytest

from sandbox_server.core import Blob, Model, operation
from sandbox_server.core.openapi_responses import RESPONSES, SCHEMAS, failures, is_bytes, success
from sandbox_server.core.operation import Operation, operations


class Ask(Model):
    name: str


class Feature:
    tag = "things"

    @operation("GET /v1/open", scope="public")
    async def enter(self) -> None:
        """Come in."""

    @operation("GET /v1/things", scope="view")
    async def names(self) -> list[str]:
        """List them."""
        return []

    @operation("POST /v1/things/{name}/move", scope="shell", acts="shell")
    async def move(self, request: Ask) -> None:
        """Move one."""

    @operation("GET /v1/picture", scope="browser", media_type="image/png")
    async def picture(self) -> Blob:
        """Show it."""
        raise NotImplementedError

    @operation("GET /v1/words", scope="view", media_type="text/plain")
    async def words(self) -> Blob:
        """Say it."""
        raise NotImplementedError

    @operation("GET /v1/files/content", scope="files")
    async def content(self) -> Blob:
        """Read one."""
        raise NotImplementedError


def named(name: str) -> Operation:
    return next(found for found in operations(Feature()) if found.spec.name == name)


@pytest.mark.parametrize(
    ("name", "statuses"),
    [
        ("enter", {"default"}),
        ("names", {"401", "403", "default"}),
        ("move", {"400", "401", "403", "404", "409", "413", "422", "423", "default"}),
        ("picture", {"401", "403", "423", "default"}),
        ("content", {"401", "403", "404", "409", "413", "default"}),
    ],
)
def test_an_operation_names_the_statuses_with_which_it_may_fail(name: str, statuses: set[str]) -> None:
    assert set(failures(named(name).spec)) == statuses


def test_every_failure_is_described_once_and_refers_to_a_schema() -> None:
    told: dict[str, Any] = failures(named("move").spec)

    assert {reference["$ref"].removeprefix("#/components/responses/") for reference in told.values()} <= set(RESPONSES)
    for answer in RESPONSES.values():
        assert answer["content"]["application/json"]["schema"]["$ref"].removeprefix("#/components/schemas/") in SCHEMAS


def test_the_schema_of_an_answer_is_asked_for_only_where_it_is_json() -> None:
    assert is_bytes(named("content").spec)
    assert list(success(named("content"), lambda: pytest.fail("not JSON"))["content"]) == ["application/octet-stream"]
    assert success(named("names"), lambda: {"type": "array"})["content"]["application/json"]["schema"]["properties"]["data"] == {
        "type": "array"
    }


def test_text_is_a_string_and_other_bytes_are_binary() -> None:
    described = {name: success(named(name), lambda: pytest.fail("not JSON"))["content"] for name in ("words", "picture")}

    assert described["words"] == {"text/plain": {"schema": {"type": "string"}}}
    assert described["picture"] == {"image/png": {"schema": {"type": "string", "format": "binary"}}}
