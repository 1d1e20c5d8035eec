"""Bash through the gateway, by the published SDK and by plain HTTP."""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from agent_sandbox import Sandbox as Client
from agent_sandbox.core.api_error import ApiError
from agent_sandbox.errors import UnprocessableEntityError

from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox


@pytest.fixture
def client(sandbox: "Sandbox") -> Client:
    return connected(sandbox)


def connected(sandbox: "Sandbox") -> Client:
    return Client(base_url=sandbox.base_url, headers=sandbox.headers, httpx_client=sandbox.http)


def follow(client: Client, started: Any) -> Any:
    """Poll as the contract recommends, and give the last answer with all output of both streams."""
    stdout, stderr, offset, stderr_offset = "", "", started.offset, started.stderr_offset
    while True:
        got = client.bash.output(
            session_id=started.session_id,
            command_id=started.command_id,
            offset=offset,
            stderr_offset=stderr_offset,
            wait=True,
            wait_timeout=20,
        ).data
        stdout, stderr, offset, stderr_offset = stdout + got.stdout, stderr + got.stderr, got.offset, got.stderr_offset
        if got.command.status != "running":
            return got.model_copy(update={"stdout": stdout, "stderr": stderr})


def test_a_command_runs_as_the_agent_in_its_workspace(client: Client) -> None:
    answer = client.bash.exec(command="id -un; pwd; echo error >&2; exit 3")
    assert answer.success
    done = answer.data
    assert (done.status, done.exit_code, done.stdout, done.stderr) == ("completed", 3, "gem\n/home/gem\n", "error\n")


def test_a_command_sees_no_secret_of_the_sandbox(client: Client, sandbox: "Sandbox") -> None:
    seen = client.bash.exec(command="env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'").data.stdout
    assert sandbox.api_key not in seen
    assert "SANDBOX_API_KEY" not in seen
    assert "WORKSPACE=/home/gem" in seen


def test_the_streams_of_a_command_can_be_opened_by_name(client: Client) -> None:
    done = client.bash.exec(command="echo out > /dev/stdout; echo error > /dev/stderr").data
    assert (done.stdout, done.stderr) == ("out\n", "error\n")


def test_a_command_can_become_root(client: Client) -> None:
    assert client.bash.exec(command="sudo id -u").data.stdout == "0\n"


def test_without_sudo_the_agent_stays_who_it_is(configured: "Sandbox") -> None:
    client = connected(configured)
    done = client.bash.exec(command="sudo -n id -u; id -u").data
    assert done.stdout == "1000\n"


def test_a_session_keeps_its_directory_and_nothing_else(client: Client) -> None:
    session = client.bash.create_session(session_id="", exec_dir="/usr").data
    assert (session.status, session.working_dir, session.command_count) == ("ready", "/usr", 0)
    client.bash.exec(session_id=session.session_id, command="cd /; export LEFT=behind", env={"GIVEN": "once"})
    done = client.bash.exec(session_id=session.session_id, command='pwd; echo "$LEFT$GIVEN"').data
    assert done.stdout == "/usr\n\n"
    listed = {each.session_id: each for each in client.bash.sessions().data}
    assert listed[session.session_id].command_count == 2
    client.bash.close_session(session.session_id)
    assert session.session_id not in {each.session_id for each in client.bash.sessions().data}


def test_an_asynchronous_command_is_polled_to_its_end(client: Client) -> None:
    begun = client.bash.exec(command="for i in 1 2 3; do echo out $i; echo error $i >&2; sleep 0.1; done; exit 4", async_mode=True).data
    assert begun.status == "running"
    last = follow(client, begun)
    assert (last.stdout, last.stderr) == ("out 1\nout 2\nout 3\n", "error 1\nerror 2\nerror 3\n")
    assert (last.command.status, last.command.exit_code) == ("completed", 4)


def test_a_soft_timeout_leaves_the_command_running_and_a_hard_one_ends_it(client: Client) -> None:
    begun = client.bash.exec(command="echo one; read line; echo two", timeout=2).data
    assert (begun.status, begun.exit_code) == ("running", None)
    client.bash.write(session_id=begun.session_id, input="go\n")
    assert begun.stdout + follow(client, begun).stdout == "one\ntwo\n"
    ended = client.bash.exec(command="echo one; sleep 60; echo two", hard_timeout=5).data
    assert (ended.status, ended.stdout, ended.exit_code) == ("timed_out", "one\n", None)


def test_input_goes_to_the_command_and_a_signal_ends_it(client: Client) -> None:
    begun = client.bash.exec(command="read line; echo got $line; sleep 60", async_mode=True).data
    assert client.bash.write(session_id=begun.session_id, input="some text\n").success
    got = client.bash.output(session_id=begun.session_id, wait=True).data
    assert got.stdout == "got some text\n"
    assert client.bash.kill(session_id=begun.session_id, signal="SIGKILL").success
    last = follow(client, begun)
    assert (last.command.status, last.command.exit_code) == ("killed", None)


def test_a_busy_session_refuses_a_second_command(client: Client) -> None:
    begun = client.bash.exec(command="sleep 60", async_mode=True).data
    with pytest.raises(ApiError) as caught:
        client.bash.exec(session_id=begun.session_id, command="true")
    assert caught.value.status_code == 409
    assert begun.command_id in caught.value.body["message"]
    client.bash.close_session(begun.session_id)


def test_a_missing_session_is_answered_as_clients_expect(sandbox: "Sandbox") -> None:
    for path, body in (("exec", {"command": "true"}), ("output", {}), ("write", {"input": "x"}), ("kill", {})):
        answer = sandbox.request("POST", f"/v1/bash/{path}", json={"session_id": "missing", **body})
        assert answer.status_code == 404
        assert (answer.json()["success"], answer.json()["message"]) == (False, "Session not found")
    assert sandbox.request("POST", "/v1/bash/sessions/missing/close").status_code == 404


def test_fields_that_make_no_sense_are_named(client: Client) -> None:
    with pytest.raises(UnprocessableEntityError) as caught:
        client.bash.kill(session_id="any", signal="SIGNAL")
    assert caught.value.body.detail[0].loc == ["body", "signal"]
    with pytest.raises(UnprocessableEntityError):
        client.bash.exec(command="true", timeout=-1)
    with pytest.raises(ApiError) as refused:
        client.bash.exec(command="true", exec_dir="/no/such/directory")
    assert refused.value.status_code == 400
    assert "/no/such/directory" in refused.value.body["message"]


def test_long_output_is_cut_in_the_middle_and_read_whole_by_offset(client: Client) -> None:
    done = client.bash.exec(command="echo begin; seq 1000000; echo end").data
    assert (done.status, done.exit_code) == ("completed", 0)
    assert len(done.stdout) <= 50000
    assert done.stdout.startswith("begin\n1\n")
    assert done.stdout.endswith("1000000\nend\n")
    assert f"{done.offset} bytes in all" in done.stdout
    whole = client.bash.output(session_id=done.session_id, command_id=done.command_id).data
    assert whole.stdout == "begin\n" + "".join(f"{number}\n" for number in range(1, 1000001)) + "end\n"


def test_many_commands_at_once_do_not_mix(client: Client) -> None:
    with ThreadPoolExecutor(16) as pool:
        done = list(pool.map(lambda number: client.bash.exec(command=f"echo {number}; sleep 0.2; exit {number}").data, range(48)))
    assert [(each.stdout, each.exit_code) for each in done] == [(f"{number}\n", number) for number in range(48)]


def test_output_is_streamed_and_resumed_after_any_event(sandbox: "Sandbox") -> None:
    body = {"command": "for i in 1 2 3; do echo out $i; echo error $i >&2; sleep 0.1; done; exit 5"}
    seen = list(sandbox.events("/v1/bash/exec", body))
    assert (seen[0][1], seen[-1][1], seen[-1][2]["exit_code"]) == ("status", "exit", 5)
    text = [each["data"] for _, name, each in seen if name == "output" and each["stream"] == "stdout"]
    assert "".join(text) == "out 1\nout 2\nout 3\n"
    resumed = list(sandbox.events("/v1/bash/exec", body, last_event_id=seen[1][0]))
    both = [*seen[:2], *resumed]
    for stream, lines in (("stdout", "out {}\n"), ("stderr", "error {}\n")):
        text = [each["data"] for _, name, each in both if name == "output" and each["stream"] == stream]
        assert "".join(text) == "".join(lines.format(number) for number in (1, 2, 3))


def test_output_arrives_while_the_command_runs(sandbox: "Sandbox", client: Client) -> None:
    begun = client.bash.exec(command="echo early; read line; echo late", async_mode=True).data
    stream = sandbox.events("/v1/bash/output", {"session_id": begun.session_id, "command_id": begun.command_id})
    assert next(stream)[1] == "status"
    assert next(stream)[2]["data"] == "early\n"
    client.bash.write(session_id=begun.session_id, input="go\n")
    assert [name for _, name, _ in stream] == ["output", "exit"]


def test_a_stream_that_cannot_begin_is_an_error_and_not_a_stream(sandbox: "Sandbox") -> None:
    answer = sandbox.request(
        "POST", "/v1/bash/exec", headers={"Accept": "text/event-stream"}, json={"command": "true", "session_id": "missing"}
    )
    assert (answer.status_code, answer.json()["message"]) == (404, "Session not found")


def test_after_the_death_of_the_spawner_commands_run_again_and_a_lost_one_says_so(mended: "Sandbox") -> None:
    client = connected(mended)
    begun = client.bash.exec(command="sleep 60", async_mode=True).data
    killed = mended.exec("pkill", "-KILL", "-f", "sandbox_server spawn")
    assert killed.code == 0, killed.stderr
    last = mended.request("POST", "/v1/bash/output", json={"session_id": begun.session_id, "wait": True}).json()
    assert (last["data"]["command"]["status"], last["data"]["command"]["exit_code"]) == ("killed", None)
    assert "not observed" in last["hint"]
    until(lambda: mended.request("POST", "/v1/bash/exec", json={"command": "true"}).status_code == 200)


def test_after_the_death_of_the_server_its_commands_are_gone_and_new_ones_run(mended: "Sandbox") -> None:
    client = connected(mended)
    client.bash.exec(command="echo $$ > pid; exec sleep 3600", async_mode=True)
    until(lambda: mended.run("cat", "pid").stdout.strip())
    pid = mended.run("cat", "pid").stdout.strip()
    assert mended.exec("pkill", "-KILL", "-f", "sandbox_server serve").code == 0
    mended.wait_ready()
    until(lambda: mended.request("POST", "/v1/bash/exec", json={"command": "true"}).status_code == 200)
    until(lambda: mended.run("test", "-e", f"/proc/{pid}").code == 1)
