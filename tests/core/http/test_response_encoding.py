import json
from typing import Any

import pytest
from starlette.responses import Response

from sandbox_server.core import Blob, Conflict, FileError, Model, Reply, TooLarge, Unavailable, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.http.response_encoding import envelope, error_response, json_bytes, result_response
from sandbox_server.core.operation import Spec, operations


class Thing(Model):
    size: float


class FileRead(Model):
    content: str
    file: str
    size: int
    etag: str | None = None


class Feature:
    tag = "feature"

    @operation("POST /v1/make", scope="view", message="Made")
    async def make(self) -> Thing:
        """Make."""
        return Thing(size=1)

    @operation("GET /v1/bare", scope="view", envelope=False)
    async def bare(self) -> Thing:
        """Read."""
        return Thing(size=1)

    @operation("POST /v1/file/read", scope="view", failures="file")
    async def read(self) -> FileRead:
        """Read a file."""
        raise FileError.from_errno(2, path="/x", operation="read")

    @operation("POST /v1/file", scope="view", failures="file")
    async def file(self) -> None:
        """Touch."""


SPECS: dict[str, Spec] = {op.spec.name: op.spec for op in operations(Feature())}


def body(response: Response) -> Any:
    return json.loads(bytes(response.body))


def test_the_operation_names_its_own_success() -> None:
    assert body(result_response(Thing(size=2), SPECS["make"])) == {"success": True, "message": "Made", "data": {"size": 2.0}, "hint": None}


def test_a_reply_sets_the_rest_of_the_envelope() -> None:
    reply = Reply(Thing(size=2), message="done", hint="look", status=201, headers={"X-A": "b"}, extra={"status": "success"})
    response = result_response(reply, SPECS["make"])

    assert response.status_code == 201
    assert response.headers["x-a"] == "b"
    assert body(response) == {"success": True, "message": "done", "data": {"size": 2.0}, "hint": "look", "status": "success"}


def test_without_an_envelope_the_data_is_the_body() -> None:
    assert body(result_response([Thing(size=2)], SPECS["bare"])) == [{"size": 2.0}]


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_has_none(status: int) -> None:
    assert result_response(Reply(None, status=status), SPECS["make"]).body == b""


def test_bytes_keep_their_type() -> None:
    response = result_response(Blob(b"x", "image/png", {"X-Width": "1"}), SPECS["make"])

    assert (response.body, response.media_type, response.headers["x-width"]) == (b"x", "image/png", "1")


def test_a_number_that_json_lacks_is_null() -> None:
    assert json_bytes({"a": float("nan"), "b": Thing(size=float("inf"))}) == b'{"a":null,"b":{"size":null}}'


def test_text_that_is_no_unicode_is_escaped_and_the_rest_is_the_same() -> None:
    assert json.loads(json_bytes({"name": "ü\udcff", "size": Thing(size=float("nan"))})) == {"name": "ü\udcff", "size": {"size": None}}


def test_a_failure_is_the_envelope_with_its_details() -> None:
    response = error_response(Conflict("busy", hint="wait", session_id="s"))

    assert response.status_code == 409
    assert body(response) == {"success": False, "message": "busy", "data": {"session_id": "s"}, "hint": "wait"}


@pytest.mark.parametrize(("seconds", "header"), [(0.2, "1"), (3.0, "3"), (None, None)])
def test_when_to_come_back_is_whole_seconds_and_at_least_one(seconds: float | None, header: str | None) -> None:
    assert error_response(Unavailable("starting", retry_after=seconds)).headers.get("retry-after") == header


def test_a_file_failure_is_an_answer_only_where_it_is_declared() -> None:
    failure = FileError.from_errno(28, path="/x", operation="write")

    assert error_response(failure, SPECS["file"]).status_code == 200
    assert error_response(failure, SPECS["make"]).status_code == 413
    assert body(error_response(failure, SPECS["file"]))["data"]["error_type"] == "no_space_left"


def test_a_file_failure_can_be_read_as_the_result_that_a_client_expects() -> None:
    data = body(error_response(FileError.from_errno(2, path="/x", operation="read"), SPECS["read"]))["data"]

    assert FileRead.model_validate(data) == FileRead(content="", file="/x", size=0)
    assert (data["path"], data["errno_name"]) == ("/x", "ENOENT")
    assert "etag" not in data


def test_a_failure_of_another_kind_keeps_its_status_there() -> None:
    assert error_response(TooLarge("big"), SPECS["file"]).status_code == 413


def test_fields_that_do_not_fit_are_422() -> None:
    response = error_response(InvalidFields([{"loc": ("a",), "msg": "m", "type": "t"}]), SPECS["make"])

    assert response.status_code == 422
    assert body(response) == {"detail": [{"loc": ["body", "a"], "msg": "m", "type": "t"}]}


def test_a_hint_about_the_request_stands_behind_the_operations_own() -> None:
    missing = FileError.from_errno(2, path="/x", operation="read")

    assert body(result_response(Reply(None, hint="go on"), SPECS["make"], "look"))["hint"] == "go on. look"
    assert body(result_response(Reply(None, hint="Go on."), SPECS["make"], "look"))["hint"] == "Go on. look"
    assert body(result_response(None, SPECS["make"], "look"))["hint"] == "look"
    assert body(error_response(Conflict("busy", hint="wait"), None, "look"))["hint"] == "wait. look"
    assert body(error_response(missing, SPECS["read"], "look"))["hint"].endswith("look")
    assert body(error_response(InvalidFields([]), SPECS["make"], "look")) == {"detail": [], "hint": "look"}


def test_the_envelope_says_that_it_worked_when_nobody_says_more() -> None:
    assert envelope(Reply(None)) == {"success": True, "message": "Operation successful", "data": None, "hint": None}
