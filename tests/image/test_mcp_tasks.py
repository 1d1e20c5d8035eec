"""MCP tasks in the running container: commands that go on without their client, and whose they are."""

from typing import Any

import httpx
import pytest

from tests.image.container import Sandbox
from tests.patience import until


def rpc(sandbox: Sandbox, method: str, headers: dict[str, str] | None = None, **params: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = sandbox.http.post(f"{sandbox.base_url}/mcp", json=body, headers=headers or sandbox.headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def start(sandbox: Sandbox, command: str) -> str:
    """Run a command as a task; the task's id."""
    arguments = {"cmd": command, "timeout": 600, "new_session": True}
    task: str = rpc(sandbox, "tools/call", name="sandbox_execute_bash", arguments=arguments, task={})["result"]["task"]["taskId"]
    return task


def runs(sandbox: Sandbox, program: str) -> bool:
    return sandbox.exec("pgrep", "-f", "-x", program).code == 0


def test_a_command_goes_on_as_a_task_and_its_result_is_fetched_later(sandbox: Sandbox) -> None:
    task = start(sandbox, "sleep 2; echo $((6*7)); (exit 3)")

    assert rpc(sandbox, "tasks/get", taskId=task)["result"]["status"] == "working"
    result = rpc(sandbox, "tasks/result", taskId=task)["result"]

    assert (result["structuredContent"]["output"], result["structuredContent"]["exit_code"]) == ("42\n", 3)
    assert rpc(sandbox, "tasks/get", taskId=task)["result"]["status"] == "completed"


def test_to_cancel_a_task_stops_its_command_and_no_other(sandbox: Sandbox) -> None:
    stopped, other = start(sandbox, "sleep 4321"), start(sandbox, "sleep 4322")
    until(lambda: runs(sandbox, "sleep 4321") and runs(sandbox, "sleep 4322"), told=sandbox.logs)

    assert rpc(sandbox, "tasks/cancel", taskId=stopped)["result"]["status"] == "cancelled"

    until(lambda: not runs(sandbox, "sleep 4321"), told=sandbox.logs)
    assert runs(sandbox, "sleep 4322")
    rpc(sandbox, "tasks/cancel", taskId=other)
    until(lambda: not runs(sandbox, "sleep 4322"), told=sandbox.logs)


def test_another_token_finds_neither_the_task_nor_its_result(sandbox: Sandbox) -> None:
    task = start(sandbox, "sleep 4323")
    token = sandbox.exec("cat", "/run/sandbox-agent/token", user="gem").stdout.strip()
    agent = {"Authorization": f"Bearer {token}"}

    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert rpc(sandbox, method, agent, taskId=task)["error"]["code"] == -32602
    assert rpc(sandbox, "tasks/list", agent)["result"]["tasks"] == []
    assert rpc(sandbox, "tasks/get", taskId=task)["result"]["status"] == "working"
    rpc(sandbox, "tasks/cancel", taskId=task)


def test_a_command_goes_on_when_a_client_hangs_up_who_did_not_ask_for_its_end(sandbox: Sandbox) -> None:
    hang_up(sandbox, "sleep 4324", {})
    hang_up(sandbox, "sleep 4325", {"X-Sandbox-Ends-With-Caller": "1"})

    until(lambda: not runs(sandbox, "sleep 4325"), told=sandbox.logs)
    assert runs(sandbox, "sleep 4324")
    sandbox.exec("pkill", "-f", "-x", "sleep 4324")


def hang_up(sandbox: Sandbox, command: str, headers: dict[str, str]) -> None:
    """Run a command, and leave while it runs."""
    body = {"cmd": command, "timeout": 600, "new_session": True}
    with pytest.raises(httpx.ReadTimeout):
        sandbox.http.post(f"{sandbox.base_url}/v1/shell/run", json=body, headers=sandbox.headers | headers, timeout=5)
    assert runs(sandbox, command) or headers
