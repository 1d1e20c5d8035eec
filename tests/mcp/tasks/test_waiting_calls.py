"""How long a call may wait, and which calls become tasks by themselves."""

import pytest

from sandbox_server.mcp.tasks.waiting_calls import seconds_of, waits_long


@pytest.mark.parametrize(
    ("name", "arguments", "seconds"),
    [
        ("request_human", {}, 3600.0),
        ("request_human", {"deadline": 90}, 90.0),
        ("request_human", {"deadline": 90, "wait": 30}, 30.0),
        ("sandbox_execute_bash", {}, 30.0),
        ("sandbox_execute_bash", {"timeout": 0}, 0.0),
        ("sandbox_execute_bash", {"timeout": 600}, 600.0),
        ("sandbox_execute_bash", {"timeout": "soon"}, 0.0),
        ("sandbox_execute_bash", {"timeout": float("inf")}, 0.0),
        ("sandbox_execute_bash", {"timeout": 10**400}, 0.0),
    ],
)
def test_a_call_waits_as_long_as_its_arguments_say(name: str, arguments: dict[str, object], seconds: float) -> None:
    assert seconds_of(name, arguments) == seconds


@pytest.mark.parametrize(
    ("name", "arguments", "long"),
    [
        ("request_human", {}, False),
        ("request_human", {"wait": 600}, True),
        ("sandbox_execute_bash", {}, False),
        ("sandbox_execute_bash", {"timeout": 600}, True),
        ("sandbox_execute_bash", {"timeout": 600, "run_in_background": True}, False),
    ],
)
def test_only_a_call_that_waits_long_becomes_a_task_by_itself(name: str, arguments: dict[str, object], *, long: bool) -> None:
    assert waits_long(name, arguments) is long
