"""The adapters with the frameworks that they are for, and a real sandbox with a person. A model is a script."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.client_wheel import unpacked_wheel
from tests.clients.python.integrations.messages_model import Script, playing, says, uses
from tests.examples.people import answering
from tests.image.test_control import Person, person
from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

__all__ = ["person"]
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PYTHON = "/opt/agents/bin/python"
"""An environment of the tests' image that has the frameworks (requirements/agents.in)."""
PAGE = "data:text/html,<title>page</title><body style='margin:0'><input id=i style='position:fixed;inset:0;width:100vw;height:100vh'>"


@pytest.fixture(scope="module")
def client() -> Iterator[dict[str, str]]:
    """The variables with which Python finds the client, from its wheel."""
    with unpacked_wheel() as folder:
        yield {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


BROWSER_USE = "tests/clients/python/integrations/test_browser_use.py"


@pytest.mark.parametrize(
    ("python", "tests"),
    [(PYTHON, ["tests/clients/python/integrations", f"--ignore={BROWSER_USE}"]), ("/opt/browser-use/bin/python", [BROWSER_USE])],
    ids=["agents", "browser-use"],
)
def test_the_tests_of_the_adapters_pass_with_the_frameworks(client: dict[str, str], python: str, tests: list[str]) -> None:
    words = ["-m", "pytest", "-q", "--confcutdir=tests/clients/python", "-p", "no:cacheprovider", *tests]
    done = subprocess.run([python, *words], cwd=ROOT, env=os.environ | client, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-5000:]
    assert "skipped" not in done.stdout


def shown(client: dict[str, str], sandbox: "Sandbox", script: Script, patience: float = 60) -> list[str]:
    """What the example with Anthropic's SDK writes, by line."""
    ours = {"SANDBOX_URL": sandbox.base_url, "SANDBOX_API_KEY": sandbox.for_agent().api_key, "PATIENCE": str(patience)}
    model = {"ANTHROPIC_BASE_URL": script.url, "ANTHROPIC_API_KEY": "none"}
    words = [PYTHON, str(ROOT / "examples/anthropic_computer.py")]
    env = {**os.environ, **client, **ours, **model}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def evaluate(sandbox: "Sandbox", expression: str) -> Any:
    return sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": expression}).json()["data"]


def test_an_agent_asks_for_a_confirmation_a_login_a_captcha_a_choice_and_a_code(client: dict[str, str], sandbox: "Sandbox") -> None:
    turns = [
        uses("ask_person", kind="confirm", question="Shall I order it?"),
        uses("ask_person", kind="login", question="Please sign in to the shop"),
        uses("ask_person", kind="captcha", question="Please solve the puzzle on the screen"),
        uses("ask_person", kind="choice", question="Which size?", choices=["small", "large"]),
        uses("ask_person", kind="otp", question="Which code did you get?"),
        uses("ask_person", kind="confirm", question="Shall I pay at once?"),
        says("It is ordered."),
    ]
    done = {"outcome": "done"}
    answers = [done, done, done, {**done, "choice": "large"}, {**done, "note": "123456"}, {"outcome": "cannot", "note": "later"}]
    with playing(*turns) as script, answering(sandbox, *answers):
        lines = shown(client, sandbox, script)
    assert [line for line in lines if not line.startswith("call:")] == [
        "result: The person said yes.",
        "result: The person did it. Look at the screen before you go on.",
        "result: The person did it. Look at the screen before you go on.",
        "result: The person chose: large",
        "result: The person answered: 123456",
        "result: The person said no. Do not do it. They wrote: later",
        "model: It is ordered.",
    ]


def test_an_agent_acts_on_the_screen_in_a_shell_and_on_files_and_types_after_a_yes(client: dict[str, str], sandbox: "Sandbox") -> None:
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": PAGE}).raise_for_status()
    turns = [
        uses("left_click", "computer", coordinate=[640, 600]),
        uses("type", "computer", text="Ada"),
        uses("screenshot", "computer"),
        uses("cursor_position", "computer"),
        uses("bash", command="cd /tmp && export GREETING=hello"),
        uses("bash", command='echo "$GREETING from $PWD"'),
        uses("str_replace_based_edit_tool", command="create", path="/home/gem/integration.txt", file_text="one\n"),
        uses("str_replace_based_edit_tool", command="insert", path="/home/gem/integration.txt", insert_line=1, insert_text="two\n"),
        uses("bash", command="cat ~/integration.txt"),
        says("done"),
    ]
    with playing(*turns) as script, answering(sandbox, {"outcome": "done"}):
        text = "\n".join(shown(client, sandbox, script))
    until(lambda: evaluate(sandbox, "document.querySelector('#i').value") == "Ada")
    picture = script.results()[2]["content"][-1]
    assert picture["type"] == "image"
    assert "X=640,Y=600" in text
    assert "hello from /tmp" in text
    assert "one\ntwo" in script.results()[8]["content"]


def test_a_person_who_drives_is_waited_for_or_told(client: dict[str, str], sandbox: "Sandbox", person: Person) -> None:
    person.control("take")
    with playing(uses("left_click", "computer", coordinate=[5, 5]), says("I wait")) as script:
        shown(client, sandbox, script, patience=1)
    [result] = script.results()
    assert result["is_error"]
    assert "A person has control of the computer now, so nothing was done." in str(result["content"])


BROWSING = """
from anthropic import Anthropic
from tandem import Sandbox
from tandem.integrations.anthropic_browser import BrowserToolset

with Sandbox() as sandbox:
    messages = [{"role": "user", "content": "go"}]
    Anthropic().beta.messages.tool_runner(
        model="scripted", max_tokens=100, tools=[BrowserToolset(sandbox)], messages=messages
    ).until_done()
"""
FORM = (
    "data:text/html,<title>form</title><input aria-label=Mail><button onclick=\"document.title=document.querySelector('input').value\">Go"
)


def test_the_browser_toolset_acts_in_a_real_page(client: dict[str, str], sandbox: "Sandbox") -> None:
    def member(name: str, **given: object) -> dict[str, Any]:
        return uses(name, "browser", **given)

    turns = [
        member("navigate", url=FORM),
        member("read_page"),
        member("form_input", target={"type": "ref", "ref": "ref_0"}, value="ann"),
        member("left_click", target={"type": "ref", "ref": "ref_1"}),
        member("screenshot"),
    ]
    with playing(*turns, says("done")) as script:
        ours = {"SANDBOX_URL": sandbox.base_url, "SANDBOX_API_KEY": sandbox.for_agent().api_key}
        env = {**os.environ, **client, **ours, "ANTHROPIC_BASE_URL": script.url, "ANTHROPIC_API_KEY": "none"}
        done = subprocess.run([PYTHON, "-c", BROWSING], env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    landed, read, filled, clicked, picture = script.results()
    assert "form" in str(landed)
    [line, *_] = read["content"][0]["text"].splitlines()
    assert (line.startswith("[ref_0] "), "'Mail'" in line) == (True, True), read
    assert not filled.get("is_error")
    assert "'title': 'ann'" in str(clicked)
    assert "image/png" in str(picture)[:2000]
