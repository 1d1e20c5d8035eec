"""Every example runs as its README says, against a running container."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client_wheel import unpacked_wheel
from tests.examples.model import Conversation, calls, playing, repeats, text_of
from tests.examples.people import answering
from tests.image.clouds import VaultLogin
from tests.image.container import Sandbox, engine
from tests.patience import until

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

SHOWN = {
    "ask_a_person.py": ["opened ", "asked: open ", "outcome: done the text", "saved the text: Welcome to the site"],
    "agent.py": ["run_command: 42", "open_page: ", "ask_person: yes please do", "it failed: NotFound", "all done"],
    "undo.py": ["No such file or directory", "deleted meanwhile: /home/gem/project", "after going back: three weeks of work"],
    "sdk_shell_and_files.py": [
        "hello world from /tmp/project - exit code 1",
        "hello sandbox from /tmp/project",
        "hello world from /tmp/project",
        "256 bytes came back",
        "False not_found",
    ],
    "sdk_side_by_side.py": [f"{number} squared is {number * number} - exit code 0" for number in range(5)],
    "mcp_client.py": ["sandbox_execute_bash: ", "hello from the sandbox"],
    "follow_output.py": [*(f"line {number}" for number in range(1, 7)), "-- the connection breaks --", "exit: exit code 7"],
    "watch_files.py": ["/tmp/watched/b.txt"],
    "openai_tools.py": ["run_python: {", '"text/plain": "168"', "run_command: {", "it says 168"],
    "deepagents_backend.py": [
        "tool: The person said yes.",
        "ai: ['write_file']",
        "ai: ['execute']",
        "tool: Hello, Ada!",
        "ai: It said: Hello, Ada!",
    ],
    "browser_use_agent.py": ["watch: http", "/page.html", "The person chose: English", "result: the heading is Welcome to the site"],
    "site_to_markdown.py": [
        "'/home/gem/site/index.md: ",
        "'/home/gem/site/deep/page.md: ",
        "# Welcome to the site\n\nWith **bold** words and [a link](deep/page.html).",
    ],
    "two_agents.py": [f"{lane}: 100 of 100 clicks, pages ['for {lane}'], cookies ['{lane}']" for lane in ("ann", "bob")],
    "vault_login.py": ["signed in as sandbox with default, build for 600 s"],
    "command_line.sh": ["milk and bread", "I am gem", "exit code 1: sandbox: Failed to read file"],
}
"""What each example writes, among other things."""
ELSEWHERE = {
    "custom_image",
    "anthropic_computer.py",
    "google_adk_computer.py",
    "harbor_task",
    "openai_agents_computer.py",
    "pydantic_ai_agent.py",
}
"""What is run in tests/image: by test_custom_image.py, test_integrations.py, test_harbor.py and test_agent_frameworks.py."""


AGENTS, BROWSER_USE = "/opt/agents/bin/python", "/opt/browser-use/bin/python"
"""Where what some examples are written with is installed, in the image of the tests."""


def test_the_sandbox_signs_in_to_vault_with_its_own_identity(sandbox: Sandbox) -> None:
    """Vault is a stand-in, which verifies by the keys that the sandbox publishes."""
    issuer = sandbox.request("GET", "/v1/identity").json()["data"]["issuer"]
    with VaultLogin(issuer) as vault:
        vault.jwks_url = f"{sandbox.base_url}/.well-known/jwks.json"
        shows(sandbox, "vault_login.py", VAULT_ADDR=f"http://127.0.0.1:{vault.port}")
    assert vault.seen[0]["aud"] == "vault"


@pytest.mark.parametrize(
    "name", ["sdk_shell_and_files.py", "sdk_side_by_side.py", "mcp_client.py", "follow_output.py", "watch_files.py", "two_agents.py"]
)
def test_an_example_shows_what_it_promises(sandbox: Sandbox, name: str) -> None:
    shows(sandbox, name)


@pytest.fixture(scope="module")
def client() -> Iterator[dict[str, str]]:
    """The environment in which the Python client is imported."""
    with unpacked_wheel() as folder:
        yield {"PYTHONPATH": str(folder)}


def shows(sandbox: Sandbox, name: str, python: str = sys.executable, **variables: str) -> None:
    """Run an example, and look for what it is to write."""
    environment = os.environ | {"SANDBOX_URL": sandbox.base_url, "SANDBOX_API_KEY": sandbox.for_agent().api_key} | variables
    done = subprocess.run([python, EXAMPLES / name], env=environment, capture_output=True, text=True, timeout=180, check=False)

    assert done.returncode == 0, done.stderr
    for text in SHOWN[name]:
        assert text in done.stdout, done.stdout + done.stderr


def test_a_model_runs_code_by_openais_tool_calls(sandbox: Sandbox) -> None:
    code = "sum(all(n % d for d in range(2, n)) for n in range(2, 1000))"
    steps = calls("run_python", code=code), calls("run_command", command="echo 168 | tee /tmp/primes.txt"), repeats("it says 168: ")
    with playing(*steps) as model:
        shows(sandbox, "openai_tools.py", AGENTS, **model)


def test_a_deep_agent_works_in_the_sandbox_and_asks(sandbox: Sandbox, client: dict[str, str]) -> None:
    program = "import sys\nprint(f'Hello, {sys.argv[1]}!')\n"
    steps = (
        calls("write_file", file_path="/home/gem/greet.py", content=program),
        calls("execute", command="python3 /home/gem/greet.py Ada"),
        repeats("It said: "),
    )
    asking = calls("ask_person", kind="confirm", question="Shall I write it?")
    with playing(asking, *steps) as model, answering(sandbox, {"outcome": "done"}):
        shows(sandbox, "deepagents_backend.py", AGENTS, PATIENCE="60", **model, **client)
    assert sandbox.run("cat", "/home/gem/greet.py").stdout == program


@pytest.mark.slow
def test_a_browser_use_agent_drives_the_browser_and_asks(sandbox: Sandbox, site: str, client: dict[str, str]) -> None:
    def tell(conversation: Conversation) -> dict[str, Any]:
        seen = "Welcome to the site" in text_of(conversation[-1])
        return acts({"done": {"text": f"the heading is {'Welcome to the site' if seen else 'not there'}", "success": True}})

    asked = {"ask_person": {"kind": "choice", "question": "Which language?", "choices": ["English", "Latin"]}}
    opened = {"navigate": {"url": f"{site}/page.html", "new_tab": False}}
    with (
        playing(lambda _: acts(asked), lambda _: acts(opened), tell) as model,
        answering(sandbox, {"outcome": "done", "choice": "English"}),
    ):
        shows(sandbox, "browser_use_agent.py", BROWSER_USE, ANONYMIZED_TELEMETRY="false", PATIENCE="60", **model, **client)


def acts(action: dict[str, Any]) -> dict[str, Any]:
    """What a model says to browser-use."""
    thoughts = {"thinking": "", "evaluation_previous_goal": "", "memory": "", "next_goal": ""}
    return {"role": "assistant", "content": json.dumps({**thoughts, "action": [action]})}


def test_an_agent_asks_a_person_and_goes_on_with_the_answer(sandbox: Sandbox, site: str, client: dict[str, str]) -> None:
    with answering(sandbox, {"outcome": "done", "choice": "the text"}):
        shows(sandbox, "ask_a_person.py", PAGE=f"{site}/page.html", PATIENCE="60", **client)


def test_an_agent_asks_before_it_writes_and_reads_what_went_wrong(sandbox: Sandbox, site: str, client: dict[str, str]) -> None:
    steps = (
        calls("run_command", command="echo $((6 * 7))"),
        calls("open_page", url=f"{site}/page.html"),
        calls("ask_person", question="Shall I save it?"),
        calls("click", selector="text=there is nothing like it"),
        calls("no_such_tool"),
        repeats("all done: "),
    )
    with playing(*steps) as model, answering(sandbox, {"outcome": "done", "note": "please do"}):
        shows(sandbox, "agent.py", AGENTS, PATIENCE="60", **model, **client)


def test_a_site_becomes_markdown(sandbox: Sandbox, site: str) -> None:
    shows(sandbox, "site_to_markdown.py", SITE=f"{site}/")


PAGES = {
    "index.html": "<h1>Welcome to the site</h1><nav>menu</nav><p>With <b>bold</b> words and <a href=deep/page.html>a link</a>.</p>",
    "deep/page.html": "<h1>Deep</h1><a href=/index.html#top>home</a><a href=https://elsewhere.invalid/>elsewhere</a>",
    "page.html": "<title>A page</title><h1>Welcome to the site</h1><a href=/>home</a>",
}


@pytest.fixture(scope="module")
def site(sandbox: Sandbox) -> str:
    """A site that the sandbox itself serves, so that no test needs the internet."""
    for name, content in PAGES.items():
        written = sandbox.request("POST", "/v1/file/write", json={"file": f"/tmp/www/{name}", "content": f"<!doctype html>{content}"})
        assert written.json()["success"], written.text
    serve = {"command": "python3 -m http.server 8790 --bind 127.0.0.1 --directory /tmp/www", "async_mode": True}
    sandbox.request("POST", "/v1/bash/exec", json=serve)
    until(lambda: sandbox.run("curl", "-fs", "http://127.0.0.1:8790/").code == 0)
    return "http://127.0.0.1:8790"


def test_the_output_that_is_followed_comes_once_and_in_order(sandbox: Sandbox) -> None:
    environment = os.environ | {"SANDBOX_URL": sandbox.base_url, "SANDBOX_API_KEY": sandbox.for_agent().api_key}
    done = subprocess.run(
        [sys.executable, EXAMPLES / "follow_output.py"], env=environment, capture_output=True, text=True, timeout=60, check=True
    )

    lines = [line for line in done.stdout.splitlines() if line.startswith("line")]
    assert lines == [f"line {number}" for number in range(1, 7)]


def test_the_example_of_the_command_line_runs_inside(sandbox: Sandbox) -> None:
    script = (EXAMPLES / "command_line.sh").read_bytes()
    done = engine("exec", "--interactive", "--user", "gem", sandbox.name, "bash", "-eu", stdin=script)

    assert done.code == 0, done.stderr
    for text in SHOWN["command_line.sh"]:
        assert text in done.stdout


def test_every_example_is_listed_and_run() -> None:
    files = {file.name for file in EXAMPLES.iterdir()} - {"README.md"}
    listed = {line.split("`")[1] for line in (EXAMPLES / "README.md").read_text("utf-8").splitlines() if line.startswith("| `")}

    assert files == listed == {*SHOWN, *ELSEWHERE}


def test_what_an_agent_deleted_comes_back_and_what_ran_ends(sandbox: Sandbox, client: dict[str, str]) -> None:
    shows(sandbox, "undo.py", **client)
