"""A task as both generations of the protocol show it."""

import pytest
from mcp_types import INTERNAL_ERROR, CallToolResult, ErrorData, GetTaskResult, TextContent

from sandbox_server.core.quota import Quota
from sandbox_server.mcp.tasks.task import ToolTask, timestamp

pytestmark = pytest.mark.anyio


def task(**fields: object) -> ToolTask:
    place = Quota("tasks", 2, programs=1, each=1).take("agent", person=False)
    made = ToolTask("id", "agent", "tool", 60.0, 1000.0, 1001.5, place)
    for name, value in fields.items():
        setattr(made, name, value)
    if fields:
        made.ended.set()
    return made


def result(*, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(text="text")], is_error=is_error)


async def test_a_task_that_runs_is_working_and_has_its_times() -> None:
    shown = GetTaskResult.model_validate(task().described().model_dump())

    assert (shown.status, shown.ttl, shown.poll_interval) == ("working", 60000, 1000)
    assert (shown.created_at, shown.last_updated_at) == ("1970-01-01T00:16:40.000Z", "1970-01-01T00:16:41.500Z")


async def test_a_result_that_is_an_error_fails_the_task_but_not_in_the_extension() -> None:
    failed = task(result=result(is_error=True))

    assert failed.status(modern=False) == "failed"
    assert failed.extension_fields()["status"] == "completed"
    assert failed.extension_fields()["result"]["isError"] is True


async def test_an_error_of_the_protocol_fails_both() -> None:
    failed = task(error=ErrorData(code=INTERNAL_ERROR, message="no"))

    assert failed.status(modern=False) == "failed"
    assert (failed.extension_fields()["status"], failed.extension_fields()["error"]["message"]) == ("failed", "no")
    assert failed.outcome() == failed.error


async def test_an_outcome_names_its_task_and_a_cancelled_one_has_none() -> None:
    assert task(result=result()).outcome()["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": "id"}  # type: ignore[index]
    assert isinstance(task(cancelled=True, result=result()).outcome(), ErrorData)
    assert "result" not in task(cancelled=True, result=result()).extension_fields()


def test_a_timestamp_is_in_utc() -> None:
    assert timestamp(0) == "1970-01-01T00:00:00.000Z"
