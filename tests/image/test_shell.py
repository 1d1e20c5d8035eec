"""Shell sessions through the gateway: by the published SDK, by plain HTTP, and while the server is killed."""

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from agent_sandbox import Sandbox as Client
from agent_sandbox.core.api_error import ApiError

from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox


@pytest.fixture
def name() -> str:
    """Of a session that no other test has had."""
    return secrets.token_hex(4)


@pytest.fixture
def client(sandbox: "Sandbox") -> Iterator[Client]:
    yield from _client_of(sandbox)


@pytest.fixture
def mended_client(mended: "Sandbox") -> Iterator[Client]:
    yield from _client_of(mended)


def _client_of(sandbox: "Sandbox") -> Iterator[Client]:
    made = Client(base_url=sandbox.base_url, headers=sandbox.headers, httpx_client=sandbox.http)
    yield made
    made.shell.cleanup_all_sessions()


def test_commands_run_as_the_agent_in_its_workspace_without_the_sandboxs_secrets(client: Client, sandbox: "Sandbox") -> None:
    done = client.shell.exec_command(command="id -un; pwd; env; cat /proc/$$/environ | tr '\\0' '\\n'").data

    assert done.output.splitlines()[:2] == ["gem", "/home/gem"]
    assert sandbox.api_key not in done.output
    assert "TANDEM_" not in done.output.partition("SHELL=")[0]


def test_every_way_to_fail_has_its_status(client: Client, sandbox: "Sandbox", name: str) -> None:
    client.shell.exec_command(id=name, command="sleep 60", async_mode=True)
    requests = {
        409: {"id": name, "command": "true"},
        400: {"command": "true", "exec_dir": "relative"},
        413: {"command": "x" * (5 << 20)},
        422: {"id": name},
    }
    answers = {status: sandbox.request("POST", "/v1/shell/exec", json=body) for status, body in requests.items()}
    gone = client.shell.create_session().data.session_id
    client.shell.cleanup_session(session_id=gone)
    missing = sandbox.request("POST", "/v1/shell/exec", json={"id": gone, "command": "true"})

    assert {status: answer.status_code for status, answer in answers.items()} == {status: status for status in requests}
    assert "sleep 60" in answers[409].json()["message"]
    assert (missing.status_code, missing.json()) == (404, {"success": False, "message": "Session not found", "data": None, "hint": None})


def test_the_limit_of_sessions_is_said_with_when_to_come_back(client: Client, sandbox: "Sandbox") -> None:
    kept = [client.shell.create_session().data.session_id for _ in range(10)]
    refused = sandbox.request("POST", "/v1/shell/sessions/create", json={})

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    assert sorted(client.shell.list_sessions().data.sessions) == sorted(kept)


def test_output_streams_and_resumes_without_running_the_command_again(client: Client, sandbox: "Sandbox", name: str) -> None:
    body = {"id": name, "command": "echo ran >>/tmp/ran; for i in 1 2 3; do echo $i; sleep 0.2; done; sh -c 'exit 7'"}
    first = []
    for event in sandbox.events("/v1/shell/exec", body):
        first.append(event)
        if event[1] == "output":
            break
    rest = list(sandbox.events("/v1/shell/exec", body, first[-1][0]))
    output = "".join(data["output"] for _, name, data in [*first, *rest] if name == "output")

    assert output == "1\n2\n3\n"
    assert (rest[-1][1], rest[-1][2]["exit_code"]) == ("exit", 7)
    assert client.shell.exec_command(id=name, command="cat /tmp/ran").data.output == "ran\n"


def test_the_sdk_reads_a_refusal(client: Client, name: str) -> None:
    client.shell.exec_command(id=name, command="sleep 60", async_mode=True)
    with pytest.raises(ApiError) as raised:
        client.shell.exec_command(id=name, command="true")

    assert raised.value.status_code == 409


def test_a_root_process_can_be_killed(client: Client, name: str) -> None:
    client.shell.exec_command(id=name, command="sudo -n sleep 60", timeout=1)
    killed = client.shell.kill_process(id=name).data
    after = client.shell.exec_command(id=name, command="echo after").data

    assert (killed.status, after.output) == ("terminated", "after\n")


@pytest.mark.parametrize("component", ["serve", "spawn"])
def test_sessions_and_what_runs_in_them_outlive_a_killed_component(
    mended_client: Client, mended: "Sandbox", component: str, name: str
) -> None:
    mended_client.shell.exec_command(id=f"{name}-idle", command="cd /usr; x=kept")
    mended_client.shell.exec_command(id=name, command="read line; echo got $line; sh -c 'exit 6'", async_mode=True)
    for pid in _pids(mended, component):
        mended.exec("kill", "-9", pid)
    until(lambda: _lists(mended, {name, f"{name}-idle"}))
    until(lambda: _runs(mended, f"{name}-idle"))
    idle = mended_client.shell.exec_command(id=f"{name}-idle", command="echo $x $PWD").data
    mended_client.shell.write_to_process(id=name, input="it", press_enter=True)
    mended_client.shell.wait_for_process(id=name, seconds=30)
    busy = mended_client.shell.view(id=name).data

    assert idle.output == "kept /usr\n"
    assert (busy.status, busy.exit_code) == ("completed", 6)
    assert "got it" in busy.output


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_a_hundred_megabytes_of_output_leave_the_server_as_small_as_it_was(sandbox: "Sandbox") -> None:
    before = _memory(sandbox)
    asked = {"command": "seq 1 13000000", "no_change_timeout": 60}
    done = sandbox.request("POST", "/v1/shell/exec", json=asked, timeout=600).json()["data"]

    assert (done["status"], done["exit_code"]) == ("completed", 0)
    assert done["output"].endswith("13000000\n")
    assert _memory(sandbox) - before < 40 << 20


def _lists(sandbox: "Sandbox", names: set[str]) -> bool:
    answer = sandbox.request("GET", "/v1/shell/sessions")
    return answer.is_success and set(answer.json()["data"]["sessions"]) >= names


def _runs(sandbox: "Sandbox", name: str) -> bool:
    return sandbox.request("POST", "/v1/shell/exec", json={"id": name, "command": "true"}).is_success


def _pids(sandbox: "Sandbox", component: str) -> list[str]:
    lines = sandbox.exec("ps", "axo", "pid,args").stdout.splitlines()
    return [line.split()[0] for line in lines if line.endswith(f"-m sandbox_server {component}")]


def _memory(sandbox: "Sandbox") -> int:
    """Bytes that the API holds."""
    status = sandbox.exec("cat", f"/proc/{_pids(sandbox, 'serve')[0]}/status").stdout
    return int(status.partition("VmRSS:")[2].split()[0]) << 10
