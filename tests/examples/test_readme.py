"""What README.md and docs/agents.md let a newcomer copy runs as it stands: the flags, the client's command, each block of Python."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.examples.model import calls, playing, repeats
from tests.examples.people import answering
from tests.examples.test_examples import AGENTS
from tests.image.container import Sandbox, engine
from tests.patience import until

ROOT = Path(__file__).parent.parent.parent
HERE = "http://127.0.0.1:8080"
"""Where the pages say that the sandbox is."""
LOGIN = "<!doctype html><title>Sign in</title><form><input id=password type=password></form>"


def blocks(page: str, language: str) -> list[str]:
    """The blocks of code of a page."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", (ROOT / page).read_text("utf-8"))


def run(sandbox: Sandbox, program: str, python: str = sys.executable, **variables: str) -> str:
    """Run a program of a page against the sandbox, and give what it wrote."""
    environment = os.environ | {"SANDBOX_API_KEY": sandbox.for_agent().api_key} | variables
    words = [python, "-c", program.replace(HERE, sandbox.base_url)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def site(sandbox: Sandbox) -> str:
    """A page with a field for a password, in the sandbox, where the README says."""
    sandbox.request("POST", "/v1/file/write", json={"file": "/tmp/shop/login.html", "content": LOGIN}).raise_for_status()
    serve = {"command": "python3 -m http.server 8790 --bind 127.0.0.1 --directory /tmp/shop", "async_mode": True}
    sandbox.request("POST", "/v1/bash/exec", json=serve).raise_for_status()
    url = "http://127.0.0.1:8790/login.html"
    until(lambda: sandbox.run("curl", "-fs", url).code == 0)
    return url


def test_the_loop_lets_a_model_use_the_computer(sandbox: Sandbox) -> None:
    loop = blocks("README.md", "python")[0]
    with playing(calls("sandbox_execute_bash", cmd="uname -s"), repeats("it says: ")) as model:
        assert "Linux" in run(sandbox, loop, AGENTS, **model)


def test_asking_handing_over_and_undoing_work_as_they_stand(sandbox: Sandbox, site: str) -> None:
    program = "\n".join(blocks("README.md", "python")[1:])
    assert site in program
    sandbox.run("sh", "-c", "echo work >~/notes.txt")
    typed = {"field": "password", "secret": "correct horse"}

    with answering(sandbox, {"outcome": "done", "choice": "yearly"}, {"outcome": "done", "secret": typed}):
        shown = run(sandbox, program)

    assert shown.splitlines() == ["done yearly", "done ['password'] {}"]
    assert sandbox.run("sh", "-c", "cat ~/notes.txt; ls -d /usr/share/doc").stdout == "work\n/usr/share/doc\n"


def test_the_clients_of_other_projects_work_as_they_stand(sandbox: Sandbox) -> None:
    sdk, devtools = blocks("docs/agents.md", "python")

    assert run(sandbox, sdk).splitlines() == ["42", "[0, 1, 4, 9, 16]"]
    assert run(sandbox, devtools) == "Hello\n"


@pytest.mark.parametrize("page", ["README.md", "docs/agents.md"])
def test_the_address_and_the_header_for_claude_code_open_mcp(sandbox: Sandbox, page: str) -> None:
    found = re.search(r"claude mcp add --transport http (.+?\")(?:`|\n)", (ROOT / page).read_text("utf-8"))
    assert found
    _, url, option, header = shlex.split(found[1].replace("$SANDBOX_API_KEY", sandbox.for_agent().api_key))
    name, _, value = header.partition(": ")
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = httpx.post(url.replace(HERE, sandbox.base_url), json=listing, headers={name: value}, timeout=30, trust_env=False)

    assert option == "--header"
    assert {"request_human", "checkpoint_create"} <= {tool["name"] for tool in answer.json()["result"]["tools"]}


def test_the_call_by_curl_works_as_it_stands(sandbox: Sandbox) -> None:
    called = next(block for block in blocks("docs/agents.md", "sh") if block.startswith("curl"))
    environment = os.environ | {"SANDBOX_API_KEY": sandbox.for_agent().api_key}
    words = ["bash", "-euc", called.replace(HERE, sandbox.base_url)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=True)

    assert "hello from the sandbox" in done.stdout


@contextmanager
def started(page: str) -> Iterator[str]:
    """A container that the page's `docker run` starts, by its name; in the network of these tests, and with nothing published."""
    run_name = os.environ["TANDEM_RUN"]
    block = next(block for block in blocks(page, "sh") if "docker run" in block)
    words = shlex.split(next(line for line in block.replace("\\\n", " ").splitlines() if line.startswith("docker run")), comments=True)[2:]
    name = f"{run_name}-readme"
    for option in ("--name", "--publish", "--volume"):
        at = words.index(option)
        del words[at : at + 2]
    placed = ["--name", name, "--label", f"tandem.test={run_name}", "--network", run_name, "--volume", "/sandbox"]
    try:
        created = engine("run", *placed, *words[:-1], os.environ["TANDEM_IMAGE"])
        assert created.code == 0, created.stderr
        yield name
    finally:
        engine("rm", "--force", "--volumes", name)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/start.md"])
def test_the_container_of_docker_run_signs_in_and_gives_the_agent_a_box(page: str) -> None:
    with started(page) as name:
        until(lambda: engine("exec", name, "curl", "-fs", "http://127.0.0.1:8080/readyz").code == 0)
        link = engine("exec", name, "sandbox", "sign-in").stdout.strip()
        key = engine("exec", name, "cat", "/run/sandbox/api-key").stdout.strip()
        told = httpx.get(f"http://{name}:8080/v1/capabilities", headers={"Authorization": f"Bearer {key}"}, timeout=30, trust_env=False)

    assert re.fullmatch(r"http://localhost:8080/\?ticket=\S+", link)
    assert told.json()["data"]["rung"] == "box", told.text
