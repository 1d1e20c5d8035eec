"""The command line, as the agent uses it inside the running container."""

import json
import re
from collections.abc import Callable

import pytest

from tests.image.container import Sandbox
from tests.patience import until


@pytest.mark.parametrize("name", ["sandbox", "aio"])
def test_the_agent_calls_operations_with_its_own_token(sandbox: Sandbox, name: str) -> None:
    done = sandbox.exec(name, "bash", "exec", "--command", "id -un", user="gem")

    assert done.code == 0, done.stderr
    assert json.loads(done.stdout)["stdout"] == "gem\n"


def test_the_computer_is_described(sandbox: Sandbox) -> None:
    done = sandbox.exec("sandbox", "sandbox", "info", user="gem")

    assert "Home directory: /home/gem" in json.loads(done.stdout)


def test_a_person_at_a_terminal_gets_a_table_and_a_program_json(sandbox: Sandbox) -> None:
    seen = sandbox.exec("script", "-qec", "sandbox skills list; aio mcp tools --server-name chrome_devtools", "/dev/null", user="gem")
    told = sandbox.exec("aio", "mcp", "list", user="gem")

    assert re.search(r"^NAME +DESCRIPTION", seen.stdout, re.MULTILINE), seen.stdout
    assert re.search(r"^take_snapshot ", seen.stdout, re.MULTILINE)
    assert "chrome_devtools" in json.loads(told.stdout)


def test_short_names_are_known(sandbox: Sandbox) -> None:
    called = ("mcp", "call", "--server-name", "sandbox", "--tool-name", "execute_bash", "--arguments", '{"cmd": "echo 42"}')
    done = sandbox.exec("sandbox", *called, user="gem")

    assert json.loads(done.stdout)["structuredContent"]["output"] == "42\n"
    assert sandbox.exec("aio", "gui", "screenshot", "-o", "/tmp/screen.png", user="gem").code == 0
    assert "cdp_url" in json.loads(sandbox.exec("aio", "browser", "info", user="gem").stdout)


def test_what_people_do_most_is_one_word(sandbox: Sandbox) -> None:
    ran = sandbox.exec("sandbox", "exec", "echo one; echo two >&2; exit 5", user="gem")
    checked = sandbox.exec("sandbox", "doctor", user="gem")
    listed = sandbox.exec("sandbox", user="gem").stdout

    assert (ran.code, ran.stdout, ran.stderr) == (5, "one\n", "two\n")
    assert "checks" in json.loads(checked.stdout)
    assert re.search(r"^  checkpoints +Keep the state of the files", listed, re.MULTILINE)
    assert {"sign-in", "plugins"} <= set(listed.split())


def test_the_owner_undoes_what_the_agent_did_from_outside(sandbox_with: Callable[..., Sandbox]) -> None:
    sandbox = sandbox_with()
    sandbox.exec("sandbox", "exec", "echo work >~/notes.txt")
    kept = json.loads(sandbox.exec("sandbox", "checkpoint", "before", "the", "loss").stdout)
    sandbox.exec("sandbox", "exec", "rm ~/notes.txt")
    back = json.loads(sandbox.exec("sandbox", "undo").stdout)

    assert kept["checkpoint"]["label"] == "before the loss"
    assert back["head"] == kept["checkpoint"]["id"]
    assert sandbox.exec("sandbox", "exec", "cat ~/notes.txt").stdout == "work\n"


def test_the_log_says_that_it_was_the_command_line(sandbox: Sandbox) -> None:
    sandbox.exec("sandbox", "shell", "get-session-stats", user="gem")

    def surfaces() -> list[str]:
        lines = [line for line in sandbox.logs().splitlines() if '"operation": "shell.get_session_stats"' in line]
        return [json.loads(line)["surface"] for line in lines]

    until(lambda: "cli" in surfaces()[-1:], told=lambda: str(surfaces()))  # the engine has a line a little later


def test_files_go_up_and_down_whole(sandbox: Sandbox) -> None:
    script = (
        "set -e; cd $(mktemp -d); head -c 3000000 /dev/urandom >here; "
        "sandbox file upload-file --file here --path $PWD/there >answer; "
        "sandbox file download-file --path $PWD/there -o back; cmp here back; cmp here there; cat answer"
    )
    done = sandbox.run("bash", "-c", script)

    assert done.code == 0, done.stderr
    assert json.loads(done.stdout)["file_size"] == 3_000_000


def test_content_is_piped_in(sandbox: Sandbox) -> None:
    script = "printf 'one\\ntwo' | sandbox file write-file --file /tmp/piped.txt --content - >/dev/null && cat /tmp/piped.txt"
    done = sandbox.run("bash", "-c", script)

    assert done.stdout == "one\ntwo"


def test_output_is_followed_while_it_is_written(sandbox: Sandbox) -> None:
    done = sandbox.exec("sandbox", "bash", "exec", "--command", "echo one; echo two >&2; exit 5", "--follow", user="gem")

    events = [json.loads(line) for line in done.stdout.splitlines()]
    written = {event["data"]["stream"]: event["data"]["data"] for event in events if event["event"] == "output"}
    assert written == {"stdout": "one\n", "stderr": "two\n"}
    assert (events[-1]["event"], events[-1]["data"]["exit_code"]) == ("exit", 5)


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["file", "read-file", "--file", "/nowhere/at/all"], 1, "No such file or directory"),
        (["bash", "exec"], 2, "--command"),
        (["shell", "view", "--id", "never-seen"], 1, "Session not found"),
        (["file", "grep-files", "--path", "/tmp", "--pattern", "x", "--context-before", "99"], 2, "--context_before"),
        (["--api-url", "http://127.0.0.1:1", "sandbox", "info"], 3, "did not answer"),
        (["--token", "wrong", "sandbox", "info"], 1, ""),
    ],
)
def test_a_command_line_that_fails_says_why(sandbox: Sandbox, words: list[str], code: int, reason: str) -> None:
    done = sandbox.exec("sandbox", *words, user="gem")

    assert done.code == code, done.stderr
    assert reason in done.stderr
    assert done.stdout == ""


def test_a_terminal_gets_words(sandbox: Sandbox) -> None:
    typed = "sandbox bash exec --command 'printf \"a\\nb\\n\"'"
    done = sandbox.exec("script", "-qec", typed, "/dev/null", user="gem")

    assert "status: completed" in done.stdout
    assert "stdout:\r\na\r\nb" in done.stdout


def test_another_port_is_known_without_being_told(configured: Sandbox) -> None:
    script = "sandbox bash exec --command 'sandbox sandbox info >/dev/null && echo fine'"

    assert "fine" in configured.exec("bash", "-lc", script, user="gem").stdout
